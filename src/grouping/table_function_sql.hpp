//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/table_function_sql.hpp
//
// Writes a bound call of a table function as SQL again, in its plain spelling, so that it runs inside a stage:
//   SELECT f.c2, f.c0 FROM session((SELECT r0.c1 AS "time", r0.c0 AS "device" FROM <input> AS r0),
//     partition_by := ['device'], order_by := ['time ASC NULLS LAST'], "GAP" := '00:01:00'::INTERVAL) AS f(c0, c1, c2)
// The input has the columns the call still uses, under the names the call knew; so the call binds to the same columns.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/logical_table_function.hpp"

namespace merganser {

struct TableFunctionSql {
	static LogicalPlanSQLExportResult Export(LogicalTableFunction &function, LogicalPlanSQLExportContext &context,
	                                         const LogicalPlanVerificationPath &path);
};

} // namespace merganser
