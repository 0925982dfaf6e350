//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/aggregate_shape.hpp
//
// What a late materialisation has to know of a query above its aggregate, in terms of the aggregate's own output
// columns: which rows the narrow plan keeps, what decides that, and which columns are read above. Each shape of query
// is a matcher of its own that fills it in:
//   shapes/bounded_top_n.hpp   a few rows, by the query's own ORDER BY and LIMIT
//   shapes/every_group.hpp     every group, whatever stands above
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/ancestor_path.hpp"

#include "duckdb/planner/bound_result_modifier.hpp"
#include "duckdb/planner/column_binding_map.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"

namespace merganser {

struct AggregateShape {
	//! Owner of the subtree that a rewrite replaces: the HAVING filter if there is one, else the aggregate.
	optional_ptr<unique_ptr<LogicalOperator>> slot;
	optional_ptr<LogicalAggregate> aggregate;
	//! Conditions on the groups that are kept, over the aggregate's output; empty if there is none.
	vector<unique_ptr<Expression>> having;
	//! With a bound: ORDER BY, over the aggregate's output.
	vector<BoundOrderByNode> orders;
	//! Output columns of the aggregate that the operators above it read.
	column_binding_set_t displayed;
	//! How many rows the narrow plan keeps, or invalid: all.
	optional_idx bound;
	//! Whether what stands above reads on until there is no row left.
	bool read_to_end = true;

	//! Starts a shape: the aggregate owned by `owner`, and HAVING directly above it, which `ascent` passes.
	void TakeAggregate(Ascent &ascent, unique_ptr<LogicalOperator> &owner);
	//! Columns among `expressions` that stand in the output of the aggregate.
	static void CollectColumns(const Expression &expression, column_binding_set_t &columns);
	//! The expression over what the projections read; the lowest projection first.
	static void InlineProjections(unique_ptr<Expression> &expression,
	                              const vector<reference<LogicalOperator>> &projections);
};

} // namespace merganser
