//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/duration.hpp
//
// Durations as IoTDB writes them: 1m, 1h30m, 500ms; and as text where an argument takes one: '1h30m', '90 minutes'.
// Errors: BinderException for months and years, whose length varies, for unknown units, for parts of a microsecond and
// for sums that no INTERVAL can hold.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

//! The duration in microseconds.
int64_t ParseDuration(const string &text);

} // namespace merganser
