//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/join_back.hpp
//
// Builds the two halves of a late materialisation in place of the aggregate (and its HAVING):
//
//   Projection: exactly the aggregate's old output columns
//     JoinBackGuard: nation (n_nationkey)
//       Left Join: c_nationkey = n_nationkey
//         JoinBackGuard: customer (c_custkey)
//           Left Join: narrow.c_custkey = customer.c_custkey
//             NarrowRows
//               UNION ALL: the checks of declared keys (key_check.hpp), which add no row, and then
//                 [Limit <- Order] <- Projection <- [Filter] <- Aggregate: groups = retained columns
//             Scan customer                     (c_custkey and what is fetched; no filters)
//         Scan nation
//
// Order and Limit stand there where the shape has a bound (aggregate_shape.hpp).
// Filters of a relation are not repeated: a surviving row already passed them. The scans share the bind data of the
// scans below, so both see the same files and the same snapshot.
// The Projection is the one that DuckDB's binder always puts below a report's ORDER BY, and its passes count on it: the
// search for a join order walks down from a join through operators of one child, Limit and ours among them, and takes
// the relations of a join it meets for relations of the join above. A join does stand there when DuckDB has rewritten
// a DISTINCT aggregate; then the walk has to end at a projection, or Limit, Order and NarrowRows are lost. A constant
// that is part of a key is one of its columns, since a LEFT join compares columns of both its sides.
// The joins are LEFT: each narrow row came from a row that had joined, so each finds its partner, and the guard sees it
// where one does not. An inner join would drop that row. Where reading may stop early they are SINGLE joins, which
// DuckDB does not turn around: a RIGHT join returns rows that found nothing after the others, and, once reading has
// stopped, rows whose partner has not come yet. A column that left the group key because of a declared key has that
// key's table in the chain even if nothing of it is shown: the join is there for its guard. The chain is empty where
// dropped columns equal retained ones, or are not shown and follow by keys that DuckDB enforces: then only the group
// key shrinks, without inner Order, Limit and join.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"
#include "late_materialization/join_back_guard.hpp"

#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

class JoinBack {
public:
	JoinBack(Optimizer &optimizer, const AggregateInput &input, const Deferral &deferral, AggregateShape &query);

	//! Replaces the query's aggregate and repoints the bindings above it, up to `root`.
	void Apply(unique_ptr<LogicalOperator> &root);
	//! The narrow plan's aggregate, for rules that go on below.
	LogicalAggregate &NarrowAggregate();
	//! The guard of a link of the chain.
	LogicalJoinBackGuard &Guard(idx_t link);

private:
	unique_ptr<LogicalOperator> BuildNarrowAggregate();
	//! The plan under a projection of all its columns, to which retained columns then refer.
	unique_ptr<LogicalOperator> ProjectRetained(unique_ptr<LogicalOperator> narrow);
	//! The first rows by the query's own order, as many as the shape's bound.
	unique_ptr<LogicalOperator> LimitRows(unique_ptr<LogicalOperator> narrow);
	unique_ptr<LogicalOperator> NumberRows(unique_ptr<LogicalOperator> narrow);
	unique_ptr<LogicalOperator> AddLink(unique_ptr<LogicalOperator> plan, idx_t link);
	unique_ptr<LogicalOperator> RestoreOutput(unique_ptr<LogicalOperator> plan);
	//! The plan in a UNION ALL behind the check of each declared key. Below NarrowRows, since DuckDB would push filters
	//! on what is shown into the checks, which deliver NULL, and so remove them.
	unique_ptr<LogicalOperator> CheckKeys(unique_ptr<LogicalOperator> plan);
	unique_ptr<Expression> Materialize(const ColumnBinding &column, const LogicalType &type, idx_t links) const;
	unique_ptr<Expression> OverNarrowOutput(const Expression &expression) const;
	unique_ptr<Expression> ShownValue(const OutputColumn &column) const;
	LogicalType TypeOf(const ColumnBinding &column) const;
	//! What the narrow plan delivers is delivered elsewhere from now on.
	void Move(const column_binding_map_t<ColumnBinding> &moved);

	Optimizer &optimizer;
	const AggregateInput &input;
	const Deferral &deferral;
	AggregateShape &query;
	optional_ptr<LogicalAggregate> narrow_aggregate;
	//! Parallel to the chain.
	vector<reference<LogicalJoinBackGuard>> guards;
	//! Old output column of the aggregate -> retained column of the narrow one.
	column_binding_map_t<ColumnBinding> retained_output;
	//! Base column -> where the plan built so far delivers it.
	column_binding_map_t<ColumnBinding> materialized;
	column_binding_map_t<LogicalType> materialized_type;
	//! Key column that equals a constant -> where the narrow plan delivers the constant.
	column_binding_map_t<ColumnBinding> constants;
	ColumnBinding row_number;
};

} // namespace merganser
