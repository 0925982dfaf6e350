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
// Joins fix no order of their rows, or only that of their left side; in fact one chunk of rows comes out of them in the
// same order whenever they run, and what shows it, be it a result of ten rows, differs where several tasks join them:
//   SELECT * FROM a FULL JOIN b USING (i)       rows of a in their order, then those of b that match nothing
//   SELECT * FROM a JOIN b ON a.x = 1 AND b.y = 2 OR a.x = 2 AND b.y = 1       by the rows of b, then by those of a
// So joins of such kinds whose order is shown and whose sides both fit in one vector, by DuckDB's estimates, are left
// to one task, which reads the rows as DuckDB alone would. Nothing is lost by that: a vector is joined at once. With
// more rows their order depends on how they are cut into chunks and on threads, in DuckDB as well.
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
	//! Of a plan whose rows are seen in their order; unless `sees_insertion_order`, only in that of an ORDER BY.
	OrderNeeds(ClientContext &context, LogicalOperator &plan, bool sees_insertion_order = true);

	//! Whether DuckDB would warn that an OFFSET skips rows in no fixed order.
	static bool SkipsUnorderedRows(ClientContext &context, LogicalOperator &plan);

	OrderNeed Of(const LogicalOperator &op) const;
	//! What the rows of `op` must come in, over all tasks that compute them.
	RowOrder Required(const LogicalOperator &op) const;
	//! Whether one task must join all rows of `op`, a join, as they come.
	bool JoinsOneChunk(const LogicalOperator &op) const;
	//! `op` takes the place of one that was seen so.
	void Set(const LogicalOperator &op, OrderNeed need);

private:
	explicit OrderNeeds(ClientContext &context);

	ClientContext &context;
	const bool preserve_insertion_order;
	unordered_map<const LogicalOperator *, OrderPreservationType> fixed;
	unordered_map<idx_t, OrderPreservationType> fixed_of_shared;
	unordered_map<const LogicalOperator *, OrderNeed> needs;
	unordered_map<idx_t, OrderNeed> needs_of_shared;
	unordered_set<const LogicalOperator *> joins_of_one_chunk;

	//! Whether UNION ALL keeps its branches in order though they have none of their own.
	bool keeps_branches = true;

	OrderPreservationType FindFixed(LogicalOperator &op);
	bool IsFixed(OrderPreservationType type) const;
	bool SkipsUnordered(LogicalOperator &op) const;
	OrderPreservationType FixedAbove(LogicalOperator &op, const vector<OrderPreservationType> &children);
	//! `shown` is whether the order is seen that rows in fact come in, be it fixed or not.
	void FindNeeds(LogicalOperator &op, OrderNeed seen, bool shown);
	OrderNeed NeedOfChild(LogicalOperator &op, OrderNeed need) const;
	bool IsShown(const LogicalOperator &op, bool shown) const;
	bool FitsInOneChunk(LogicalOperator &join) const;
};

} // namespace merganser
