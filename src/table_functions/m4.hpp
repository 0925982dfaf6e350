//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/m4.hpp
//
// M4(DATA [PARTITION BY ...] ORDER BY time, TIMECOL, SIZE, SLIDE => SIZE, ORIGIN => epoch): of every window and column
// the first, last, smallest and largest point, which is all that a line chart of that many pixels can show.
//   SELECT * FROM M4(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, TIMECOL => 'time', SIZE => 10m)
// Output: window_start, window_end (windows of time) or window_index (windows of rows), see sliding_windows.hpp; the
// partition columns; then for every other column c of the input c_time and c. The points of one column are one to four,
// in time order; columns are laid side by side, the shorter ones padded with NULL. A NULL is no point; a window without
// points gives no row. Of equal values the earliest is taken; NaN is larger than every number, as in DuckDB. Holds:
// four points per column and open window. Errors: ORDER BY other than TIMECOL ascending; BLOB, BIT, nested and collated
// columns, which have no order to compare by; a NULL time. Differs from IoTDB: two points with the same time stay two
// points (there one of them was lost, even a largest one).
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct M4Function : public TableFunctionDefinition {
	M4Function();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
