//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/constant_arguments.hpp
//
//   SELECT string_agg(DISTINCT s, ', ') FROM t
//
// Problem: some aggregates want an argument to be a constant when they are bound. DuckDB's optimiser, which is done
// after binding, makes it a column where it rewrites DISTINCT:
//   string_agg(s, c1) FROM (SELECT s, ', ' AS c1 FROM t GROUP BY ALL)      cannot be bound again from SQL
//   string_agg(s, ', ') FROM (SELECT s, ', ' AS c1 FROM t GROUP BY ALL)    is what Restore leaves
// Sound because the column has that value in every row: it is computed from constants by projections, or is a group of
// an aggregate without grouping sets, and nothing between them adds rows.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct ConstantArguments {
	static void Restore(ClientContext &context, LogicalOperator &plan);
};

} // namespace merganser
