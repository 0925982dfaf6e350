//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/resample.hpp
//
// RESAMPLE(DATA [PARTITION BY ...] ORDER BY time, TIMECOL => 'time', SIZE, FILL => 'locf', MAX_GAP, START, FINISH): the
// rows of every partition on a regular grid of times, one row a grid point.
//   SELECT * FROM RESAMPLE(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, SIZE => 5s, FILL => 'linear')
// Grid: START, START + SIZE, ... up to FINISH; without START multiples of SIZE since the epoch (0 for an integer time
// column), from the first at or after the partition's first row; without FINISH up to its last row. A partition with
// rows has every grid point from START to FINISH, and rows outside count: what lies before START is carried on.
// Output: the partition columns, the time column (the grid point), then every other column. Each is filled by itself,
// from its values that are not NULL; of rows with equal times the last one counts.
//   locf     the last value at or before the grid point
//   next     the first value at or after it
//   linear   numbers: on the line between the two, as DOUBLE; columns of other types as with locf
//   null     the value at exactly the grid point
// Where there is none, the column is NULL; so it is with MAX_GAP where the value is further away from the grid point
// than that (linear: where the two values are further apart). A value at the grid point itself always counts.
// Holds, for locf and null, the values of one chunk and one more; for next and linear those since the last grid point
// all columns have values for: a column that stays NULL makes the others wait for the partition's end. Numbers, times
// and text count against memory_limit. So do the rows between two rows, which come at once: a million grid points of a
// gap are a million rows.
// Errors: a NULL or infinite time; ORDER BY that another column leads or that descends; without ORDER BY, times that go
// back; FINISH before START.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct ResampleFunction : public TableFunctionDefinition {
	ResampleFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
