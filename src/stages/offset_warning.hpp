//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/offset_warning.hpp
//
//   SELECT g, count(*) FROM t GROUP BY g OFFSET 1
//
// Problem: DuckDB warns of an OFFSET over rows whose order is not guaranteed when it plans the LIMIT. In stages that
// happens in a task, over rows that come from an exchange, in a connection nobody reads the warnings of.
//
// So the session gives the warning when it plans the stages, by the orders that DuckDB fixes (order_needs.hpp). With
// warnings_as_errors it is DuckDB's error. Limit: IEJoin, which DuckDB chooses late, fixes no order either; an OFFSET
// over one gives no warning in stages.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct OffsetWarning {
	static bool IsDue(ClientContext &context, LogicalOperator &plan);
	static void Give(ClientContext &context);
};

} // namespace merganser
