//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/time_windows.hpp
//
// TUMBLE, HOP and CUMULATE (row semantics): assign each row to windows of time.
//   SELECT * FROM TUMBLE(DATA => TABLE(bid), SIZE => 10m)
//   SELECT * FROM HOP(DATA => TABLE(bid), SIZE => 10m, SLIDE => 5m)
//   SELECT * FROM CUMULATE(DATA => TABLE(bid), SIZE => 12m, STEP => 6m)
// Parameters, in positional order: TUMBLE(DATA, TIMECOL => 'time', SIZE, ORIGIN => 0), HOP(DATA, TIMECOL, SIZE, SLIDE,
// ORIGIN), CUMULATE(DATA, TIMECOL, SIZE, STEP, ORIGIN). ORIGIN defaults to the epoch, or to 0 for an integer time
// column. Output: window_start and window_end (exclusive), of the time column's type, then every input column; a row's
// windows follow each other, the earliest first. Rows before ORIGIN belong to no window and are left out.
// * TUMBLE: one window [start, start + SIZE), start = ORIGIN + floor((t - ORIGIN) / SIZE) * SIZE.
// * HOP: every window [ORIGIN + k * SLIDE, ... + SIZE) with t inside. SLIDE > SIZE leaves gaps. Differs from IoTDB near
//   ORIGIN: there windows that start before ORIGIN come and go with t; here all that hold t come.
// * CUMULATE: the TUMBLE window's start with every end start + j * STEP after t. SIZE has to be a multiple of STEP.
// Bounds beyond the type's range are its largest value. Times with zone are windowed as instants (UTC).
// Errors: a NULL or infinite time; sizes that are not positive; more than a million windows per row.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct TumbleFunction : public TableFunctionDefinition {
	TumbleFunction();
	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

struct HopFunction : public TableFunctionDefinition {
	HopFunction();
	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

struct CumulateFunction : public TableFunctionDefinition {
	CumulateFunction();
	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
