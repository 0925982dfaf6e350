//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/fft.hpp
//
// FFT(DATA [PARTITION BY ...] ORDER BY time, SAMPLE_INTERVAL => inferred, N => rows, NORM => 'backward', TIMECOL =>
// 'time'): the discrete Fourier transform of every numeric column.
//   SELECT * FROM FFT(DATA => TABLE(vibration) PARTITION BY device ORDER BY time, SAMPLE_INTERVAL => 1ms)
// Output: the partition columns, frequency_index BIGINT from 0 to N - 1, frequency DOUBLE, then for every numeric
// column c c_real and c_imag DOUBLE. Columns that are not numeric are left out. frequency: in hertz; over an integer
// time column in cycles per unit of that column. Bins from (N + 1) / 2 on are negative. N: the first N rows, or the
// rows followed by zeros, are transformed. At most 65536. NORM: 'backward' does not scale, 'forward' divides by N,
// 'ortho' by the square root of N. SAMPLE_INTERVAL: by default (last time - first time) / (rows - 1). Gaps between rows
// are not looked at. Holds: N values per numeric column, 16 bytes each, within memory_limit. Not splittable. Errors:
// ORDER BY other than TIMECOL ascending; times that do not ascend strictly; a NULL, infinite or NaN value, which would
// leave no bin of its column usable; one row without SAMPLE_INTERVAL; more than 65536 rows without N.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct FftFunction : public TableFunctionDefinition {
	FftFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
