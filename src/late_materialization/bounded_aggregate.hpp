//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/bounded_aggregate.hpp
//
// Recognises the shape of a bounded top-N aggregate in a bound plan, from the aggregate upwards:
//   Limit <- Projection* <- Order <- Projection* <- [Filter = HAVING] <- Aggregate
// and expresses what is above the aggregate in terms of the aggregate's own output columns.
// Limits: the bound is a constant; nothing else stands in between.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/decline_reason.hpp"

#include "duckdb/planner/bound_result_modifier.hpp"
#include "duckdb/planner/column_binding_map.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"

namespace merganser {

//! Where an aggregate sits: the owning pointers of its ancestors, the root's first.
using AncestorPath = vector<reference<unique_ptr<LogicalOperator>>>;

struct BoundedAggregate {
	//! Owner of the subtree that a rewrite replaces: the HAVING filter if there is one, else the aggregate.
	optional_ptr<unique_ptr<LogicalOperator>> slot;
	optional_ptr<LogicalAggregate> aggregate;
	//! HAVING, over the aggregate's output; empty if there is none.
	vector<unique_ptr<Expression>> having;
	//! ORDER BY, over the aggregate's output.
	vector<BoundOrderByNode> orders;
	//! Output columns of the aggregate that the operators above it read.
	column_binding_set_t displayed;
	//! LIMIT + OFFSET, in rows.
	idx_t bound = 0;

	//! Matches the aggregate owned by `owner` under its ancestors; on failure returns false and says why.
	static bool TryMatch(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner, idx_t max_rows,
	                     BoundedAggregate &result, DeclineReason &reason);
	//! Columns among `expressions` that stand in the output of the aggregate.
	static void CollectColumns(const Expression &expression, column_binding_set_t &columns);
};

} // namespace merganser
