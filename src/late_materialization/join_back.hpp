//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/join_back.hpp
//
// Builds the two halves of a late materialisation in place of the aggregate (and its HAVING):
//
//   Projection: exactly the aggregate's old output columns
//     JoinBackGuard: nation (n_nationkey)
//       Inner Join: c_nationkey = n_nationkey
//         JoinBackGuard: customer (c_custkey)
//           Inner Join: narrow.c_custkey = customer.c_custkey
//             NarrowRows
//               Limit <- Order <- Projection <- [Filter] <- Aggregate: groups = retained columns
//             Scan customer                     (c_custkey and what is fetched; no filters)
//         Scan nation
//
// Under a declared key the whole stands in a UNION ALL with that key's check (key_check.hpp), which adds no row.
// Filters of a relation are not repeated: a surviving row already passed them. The scans share the bind data of the
// scans below, so both see the same files and the same snapshot.
// The Projection is the one that DuckDB's binder always puts below a report's ORDER BY, and its passes count on it: the
// search for a join order walks down from a join through operators of one child, Limit and ours among them, and takes
// the relations of a join it meets for relations of the join above. A join does stand there when DuckDB has rewritten
// a DISTINCT aggregate; then the walk has to end at a projection, or Limit, Order and NarrowRows are lost.
// The joins are inner: each survivor came from a row that had joined, so none can be lost; the guard checks it.
// A column that left the group key because of a declared key has that key's table in the chain even if nothing of it is
// shown: the join is there for its guard. The chain is empty where dropped columns equal retained ones, or are not
// shown and follow by keys that DuckDB enforces: then only the group key shrinks, without inner Order, Limit and join.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"
#include "late_materialization/join_back_guard.hpp"

#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

class JoinBack {
public:
	JoinBack(Optimizer &optimizer, const AggregateInput &input, const Deferral &deferral, BoundedAggregate &query);

	//! Replaces the query's aggregate and repoints the bindings above it, up to `root`.
	void Apply(LogicalOperator &root);
	//! The narrow plan's aggregate, for rules that go on below.
	LogicalAggregate &NarrowAggregate();
	//! The guard of a link of the chain.
	LogicalJoinBackGuard &Guard(idx_t link);

private:
	unique_ptr<LogicalOperator> BuildNarrowAggregate();
	//! The plan under a projection of all its columns, to which retained columns then refer.
	unique_ptr<LogicalOperator> ProjectRetained(unique_ptr<LogicalOperator> narrow);
	unique_ptr<LogicalOperator> LimitRows(unique_ptr<LogicalOperator> narrow);
	unique_ptr<LogicalOperator> AddLink(unique_ptr<LogicalOperator> plan, idx_t link);
	unique_ptr<LogicalOperator> RestoreOutput(unique_ptr<LogicalOperator> plan);
	//! The plan under a UNION ALL with the check of each declared key.
	unique_ptr<LogicalOperator> CheckKeys(unique_ptr<LogicalOperator> plan);
	unique_ptr<Expression> Materialize(const ColumnBinding &column, const LogicalType &type, idx_t links) const;
	unique_ptr<Expression> OverNarrowOutput(const Expression &expression) const;
	unique_ptr<Expression> ShownValue(const OutputColumn &column) const;
	LogicalType TypeOf(const ColumnBinding &column) const;

	Optimizer &optimizer;
	const AggregateInput &input;
	const Deferral &deferral;
	BoundedAggregate &query;
	shared_ptr<JoinBackIdentity> identity;
	optional_ptr<LogicalAggregate> narrow_aggregate;
	//! Parallel to the chain.
	vector<reference<LogicalJoinBackGuard>> guards;
	//! Old output column of the aggregate -> retained column of the narrow one.
	column_binding_map_t<ColumnBinding> retained_output;
	//! Base column -> where the plan built so far delivers it.
	column_binding_map_t<ColumnBinding> materialized;
	column_binding_map_t<LogicalType> materialized_type;
	ColumnBinding row_number;
};

} // namespace merganser
