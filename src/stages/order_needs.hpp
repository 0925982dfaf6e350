//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/order_needs.hpp
//
//   SELECT i FROM (FROM 'a.parquet' UNION ALL FROM 'b.parquet') LIMIT 3 OFFSET 100
//
// Problem: tasks exchange rows most cheaply in whatever order they come; but LIMIT, OFFSET, windows without ORDER BY,
// list(), first() and the result itself see an order that DuckDB fixes with preserve_insertion_order = true. Which
// pieces of the plan are seen so is decided here, in two walks before the plan is cut:
//   from the scans up, whether DuckDB itself fixes the order of each operator's rows. This is
//     PhysicalPlanGenerator::OrderPreservationRecursive, told of logical operators: hash joins, DISTINCT and GROUP BY
//     fix none; ORDER BY and top N always fix one; every other passes on what is below it. UNION ALL fixes the order of
//     its branches here also where they have none of their own.
//   from the result down, who sees it: LIMIT sees the order of its child whatever stands above, filters, projections
//     and UNNEST hand on what is seen of them, aggregates see it where a function depends on it
//     (AggregateOrderDependent), a shared query what any of its references is seen to have.
//
// Sound because whatever is not named below is taken to see the order of all its children, as a stream. More is kept
// than DuckDB promises where that costs nothing: the branches of UNION ALL follow each other whatever they are, a group
// sees its rows in order, ties of ORDER BY meet their sort in order.
// With preserve_insertion_order = false nobody sees the order of rows, except that of an ORDER BY.
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/row_order.hpp"

#include "duckdb/common/enums/order_preservation_type.hpp"
#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

//! How what reads the rows sees their order.
enum class OrderNeed : uint8_t {
	//! Not at all.
	NONE,
	//! By DuckDB's batch indexes, or on one thread: LIMIT, the result.
	ROWS,
	//! By the order in which they arrive, whatever their batch index: an aggregate, a window.
	STREAM
};

class OrderNeeds {
public:
	//! Of a plan whose rows are seen in their order.
	OrderNeeds(ClientContext &context, LogicalOperator &plan);

	OrderNeed Of(const LogicalOperator &op) const;
	//! What the rows of `op` must come in, over all tasks that compute them.
	RowOrder Required(const LogicalOperator &op) const;
	//! `op` takes the place of one that was seen so.
	void Set(const LogicalOperator &op, OrderNeed need);

private:
	const bool preserve_insertion_order;
	unordered_map<const LogicalOperator *, OrderPreservationType> fixed;
	unordered_map<idx_t, OrderPreservationType> fixed_of_shared;
	unordered_map<const LogicalOperator *, OrderNeed> needs;
	unordered_map<idx_t, OrderNeed> needs_of_shared;

	OrderPreservationType FindFixed(LogicalOperator &op);
	OrderPreservationType FixedAbove(LogicalOperator &op, const vector<OrderPreservationType> &children);
	void FindNeeds(LogicalOperator &op, OrderNeed seen);
	OrderNeed NeedOfChild(LogicalOperator &op, OrderNeed need) const;
};

} // namespace merganser
