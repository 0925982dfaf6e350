//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/frequency_filter.hpp
//
// What LOWPASS and HIGHPASS share: transform every numeric column, clear some bins, transform back.
//   FrequencyFilter::Bind(arguments, clears)
// The non-NULL finite values of a column, n of them, are taken as equally spaced; the other rows stay NULL. Values are
// transformed by an FFT of length n. Output: the partition columns, the time column, and lowpass(c) or highpass(c)
// DOUBLE per numeric column c, one row per input row. Holds: a partition's times and values, at most 65536 rows, within
// memory_limit. Errors: ORDER BY other than TIMECOL ascending; no numeric column; WPASS outside (0, 1); a NULL time; a
// longer partition.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct FrequencyFilter {
	//! Longest partition of LOWPASS, HIGHPASS and XCORR.
	static constexpr idx_t MAX_ROWS = 65536;

	//! Whether a bin is cleared, for a bin and its mirror alike: `bin` <= n / 2, `edge` = WPASS * n / 2.
	using Clears = bool (*)(idx_t bin, double edge);

	static vector<ParameterDefinition> Parameters();
	static unique_ptr<BoundProcessor> Bind(const BoundArguments &arguments, Clears clears);
};

} // namespace merganser
