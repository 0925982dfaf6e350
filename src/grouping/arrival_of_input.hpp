//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/arrival_of_input.hpp
//
// Problem: without ORDER BY a table function takes rows as they arrive, and SESSION over rows in another order is
// another result. Over one scan they arrive as stored; over a join, a GROUP BY or rows that threads exchange, in any
// order.
//   SESSION(DATA => (SELECT time FROM a UNION ALL SELECT time FROM b), GAP => 1m)     a, then b: kept
//   SESSION(DATA => (SELECT time FROM a JOIN b USING (id)), GAP => 1m)                refused: add ORDER BY
//
// On DuckDB's optimised plan, this tells for every call in which order the rows of its table argument arrive
// (properties/arrival_order.hpp), and refuses calls whose result would depend on an order that nothing fixes. Only
// CAPACITY takes rows in any order (TableFunctionDefinition::takes_any_order), as row_number() OVER () does.
//
// Sound because it names the operators that keep the order, and everything else loses it: scans (TableFunction::
// order_preservation_type), projections, filters, UNNEST, LIMIT, UNION ALL, windows without PARTITION BY and ORDER BY,
// materialised CTEs, VALUES; ORDER BY and aggregates without GROUP BY fix it. Where one of these runs on several
// threads, DuckDB numbers what each gives (batch index) or uses one thread, if a sink asks for it; ours do:
// one_stream.hpp, partitioned_sort.hpp. Limit: joins lose the order, also those that DuckDB happens to run in the order
// of one side.
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/arrival_order.hpp"

#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct ArrivalOfInput {
	//! Sets LogicalTableFunction::arrival for every call in the plan. Throws BinderException for a call that needs an
	//! order and gets none.
	static void Note(ClientContext &context, LogicalOperator &plan);
};

} // namespace merganser
