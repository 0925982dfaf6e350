//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/lowpass.hpp
//
// LOWPASS(DATA [PARTITION BY ...] ORDER BY time, TIMECOL, WPASS): keeps the frequencies below WPASS, which is a share,
// between 0 and 1, of the highest frequency that the rows can carry.
//   SELECT * FROM LOWPASS(DATA => TABLE(vibration) PARTITION BY device ORDER BY time, TIMECOL => 'time', WPASS => 0.2)
// Of the n bins of a column's transform, bins ceil(WPASS * n / 2) to n - ceil(WPASS * n / 2) are cleared, so the mean
// stays. Output, NULLs, limits and errors: frequency_filter.hpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct LowpassFunction : public TableFunctionDefinition {
	LowpassFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
