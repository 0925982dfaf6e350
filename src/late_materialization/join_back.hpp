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
//               Limit <- Order <- [Filter] <- Aggregate: groups = retained columns
//             Scan customer                     (c_custkey and what is fetched; no filters)
//         Scan nation
//
// Filters of a relation are not repeated: a surviving row already passed them. The scans share the bind data of the
// scans below, so both see the same files and the same snapshot.
// The joins are inner: each survivor came from a row that had joined, so none can be lost; the guard checks it.
// With an empty chain (dropped columns are not shown, or equal retained ones) only the group key shrinks: no inner
// Order and Limit, no join.
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

private:
	unique_ptr<LogicalOperator> BuildNarrowAggregate();
	unique_ptr<LogicalOperator> LimitRows(unique_ptr<LogicalOperator> narrow);
	unique_ptr<LogicalOperator> AddLink(unique_ptr<LogicalOperator> plan, idx_t link);
	unique_ptr<LogicalOperator> RestoreOutput(unique_ptr<LogicalOperator> plan);
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
	//! Old output column of the aggregate -> retained column of the narrow one.
	column_binding_map_t<ColumnBinding> retained_output;
	//! Base column -> where the plan built so far delivers it.
	column_binding_map_t<ColumnBinding> materialized;
	column_binding_map_t<LogicalType> materialized_type;
	ColumnBinding row_number;
};

} // namespace merganser
