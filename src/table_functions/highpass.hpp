//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/highpass.hpp
//
// HIGHPASS(DATA [PARTITION BY ...] ORDER BY time, TIMECOL, WPASS): keeps the frequencies above WPASS, which is a share,
// between 0 and 1, of the highest frequency that the rows can carry.
//   SELECT * FROM HIGHPASS(DATA => TABLE(vibration) PARTITION BY device ORDER BY time, TIMECOL => 'time', WPASS => 0.2)
// Of the n bins of a column's transform, bins 0 to floor(WPASS * n / 2) and their mirrors are cleared, so the mean
// goes. Output, NULLs, limits and errors: frequency_filter.hpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct HighpassFunction : public TableFunctionDefinition {
	HighpassFunction();

	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
