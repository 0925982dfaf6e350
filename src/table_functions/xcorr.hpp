//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/xcorr.hpp
//
// XCORR(DATA [PARTITION BY ...] ORDER BY time, TIMECOL): the cross-correlation of two numeric columns at every lag.
//   SELECT * FROM XCORR(DATA => (SELECT time, inlet, outlet FROM sensor) ORDER BY time, TIMECOL => 'time')
// Output: the partition columns and xcorr(a, b) DOUBLE, 2n - 1 rows for a partition of n rows, for the lags -(n - 1),
// ..., n - 1 in this order. At lag k it is the sum of a[i + k] * b[i] over the pairs where both are neither NULL,
// infinite nor NaN, divided by their number; NULL where there is no such pair. The lag is the row's number less n.
// Holds: a partition's values, at most 65536 rows, within memory_limit. Takes time proportional to the square of the
// rows; can be interrupted. Errors: ORDER BY other than TIMECOL ascending; not exactly two numeric columns; a NULL
// time; a longer partition.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct XcorrFunction : public TableFunctionDefinition {
	XcorrFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
