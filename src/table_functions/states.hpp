//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/states.hpp
//
// STATES(DATA [PARTITION BY ...] ORDER BY time, TIMECOL => 'time', COL, MAX_GAP, IGNORE_NULL => true): how long a
// column kept each of its values, one row a stretch of rows with the same value.
//   SELECT state, sum(epoch(state_end - state_start)) AS seconds
//   FROM STATES(DATA => TABLE(machine) PARTITION BY device ORDER BY time, COL => 'state') GROUP BY state
// Output: the partition columns; COL, the value; state_start, the time of the stretch's first row; state_end, the time
// of the row that has another value, so that stretches adjoin, or of the stretch's own last row where none follows;
// row_count BIGINT, its rows.
// * MAX_GAP: a stretch ends at its last row where the next row comes later than that, whatever its value.
// * IGNORE_NULL true: rows with NULL belong to the stretch they stand in; at the beginning, to the first value's.
// * IGNORE_NULL false: NULL is a value.
// COL is of any type; -0.0 equals 0.0, and NaN equals NaN. Holds: nothing but the open stretch.
// Errors: a NULL or infinite time; ORDER BY that another column leads or that descends; without ORDER BY, times that go
// back; a COL with a collation.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct StatesFunction : public TableFunctionDefinition {
	StatesFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
