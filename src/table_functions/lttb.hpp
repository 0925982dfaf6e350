//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/lttb.hpp
//
// LTTB(DATA [PARTITION BY ...] ORDER BY time, TIMECOL, N | SIZE, SLIDE => SIZE, ORIGIN => epoch): largest triangle
// three buckets (Steinarsson 2013), the points of a line that keep its shape.
//   SELECT * FROM LTTB(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, TIMECOL => 'time', N => 1000)
//   SELECT * FROM LTTB(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, TIMECOL => 'time', SIZE => 10m)
// Output: window_index (0 with N), or window_start, window_end, see sliding_windows.hpp; the partition columns; then
// for every other column c of the input c_time and c. Columns are thinned out independently and laid side by side, the
// shorter ones padded with NULL. NULL, infinite and NaN values are no points. With N: all points where there are at
// most N; else the first, the last, and one of each of N - 2 buckets of equal count, the one that spans the largest
// triangle with the point picked before and the average of the next bucket. A partition without points gives one row of
// NULLs. With SIZE: one point of every window that has rows, NULL where the window has no point. The triangle's third
// corner is the average of the next window with points, or the window's own last point. Of equally large triangles the
// earliest is taken. Differences are taken before rounding to floating point, so times and BIGINTs far from zero lose
// nothing. Holds: the partition's times and points, 8 bytes a row and 16 bytes a point, within memory_limit. Errors:
// both or none of N and SIZE; N below 3; ORDER BY other than TIMECOL ascending; columns that are not numeric; a NULL
// time. Differs from IoTDB: all numeric types take part, no fixed bound of 4 M points, and partitions run in parallel.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct LttbFunction : public TableFunctionDefinition {
	LttbFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
