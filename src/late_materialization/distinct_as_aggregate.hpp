//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/distinct_as_aggregate.hpp
//
// Problem: SELECT DISTINCT over a key and what it determines compares and keeps all the columns of every row.
//   SELECT DISTINCT c_custkey, c_name, c_comment FROM customer JOIN orders ON c_custkey = o_custkey
// It is the aggregate without functions that groups by all its columns, and as that aggregate the rule takes it:
//   Distinct <- Projection    becomes    Aggregate (groups: every column) <- Projection
//
// Sound because: DuckDB runs both by the same operator, with the same groups (PhysicalPlanGenerator's plan of
// LogicalDistinct). Where the rule declines, the Distinct is put back as it was.
// Limits: not DISTINCT ON, nor what UNION makes, and only where each column of the input is compared as it is, so
// without a collation.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/operator/logical_distinct.hpp"

namespace merganser {

class DistinctAsAggregate {
public:
	static bool IsCandidate(LogicalOperator &op);
	//! Replaces the candidate owned by `owner`, and repoints what reads it, up to `root`.
	DistinctAsAggregate(Optimizer &optimizer, unique_ptr<LogicalOperator> &root, unique_ptr<LogicalOperator> &owner);

	//! Puts the Distinct back in place of the aggregate.
	void Restore();

private:
	//! Above `owner`.
	void Repoint(const vector<ColumnBinding> &from, const vector<ColumnBinding> &to);

	unique_ptr<LogicalOperator> &root;
	unique_ptr<LogicalOperator> &owner;
	unique_ptr<LogicalOperator> distinct;
};

} // namespace merganser
