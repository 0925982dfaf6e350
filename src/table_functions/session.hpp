//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/session.hpp
//
// SESSION(DATA [PARTITION BY ...] [ORDER BY time], TIMECOL, GAP): rows whose distance from the row before them is at
// most GAP share a session; a distance of exactly GAP stays in it. TIMECOL is what ORDER BY sorts by, up or down;
// without ORDER BY it is 'time', and rows have to arrive in ascending order of it.
//   SELECT * FROM SESSION(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, GAP => 1m)
// Output: window_start and window_end, the session's earliest and latest time (both inclusive, of the time column's
// type), then every input column. Rows leave when their session closes, in input order. Holds: the rows of the open
// session. Errors: a NULL time, a time that goes back. Distances never overflow. Differs from IoTDB: a negative GAP is
// refused (there every row silently became a session).
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct SessionFunction : public TableFunctionDefinition {
	SessionFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
