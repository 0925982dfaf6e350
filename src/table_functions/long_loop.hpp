//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/long_loop.hpp
//
// Problem: DuckDB asks between two chunks whether a query must end, because it was interrupted or max_execution_time is
// over. A processor may compute for much longer between two chunks: XCORR compares every row of a partition with every
// other. So what may take long asks by itself:
//   LongLoop loop(context);
//   for (idx_t shift = 0; shift < count; shift++) {
//       loop.Step(count - shift);
// Asks whenever about so much has been done as takes a tenth of a millisecond: the time is read seldom enough to cost
// nothing. Errors: InterruptException.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class LongLoop {
public:
	explicit LongLoop(const ClientContext &context) : context(context) {
	}

	//! `work` is a number of values that are read or compared.
	void Step(idx_t work = 1) {
		done += work;
		if (done >= WORK_BETWEEN) {
			done = 0;
			context.BlockingInterruptCheck();
		}
	}

private:
	static constexpr idx_t WORK_BETWEEN = 65536;

	const ClientContext &context;
	idx_t done = 0;
};

} // namespace merganser
