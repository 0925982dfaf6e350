//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/window_decline.hpp
//
// Why a window is left to DuckDB: a stable code for programs, and a sentence for people.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

enum class WindowDecline : uint8_t {
	SWITCHED_OFF,
	DIFFERENT_PARTITIONS,
	DIFFERENT_ORDERS,
	FEW_ROWS,
	UNORDERED_INPUT,
	UNEVEN_REGIONS
};

struct WindowDeclines {
	static const char *Code(WindowDecline reason);
	static const char *Sentence(WindowDecline reason);
};

} // namespace merganser
