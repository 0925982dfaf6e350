//===----------------------------------------------------------------------===//
//                         Merganser
//
// window_settings.hpp
//
// The settings of ordered windows (ordered_windows/ordered_windows.hpp). They stand in the table of settings.cpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct WindowSettings {
	static constexpr const char *ENABLED = "merganser_ordered_windows";
	static constexpr const char *MIN_ROWS = "merganser_ordered_windows_min_rows";

	//! merganser_ordered_windows: false leaves every window to DuckDB.
	static bool Enabled(ClientContext &context);
	//! merganser_ordered_windows_min_rows: the least number of rows for which a scan's layout is looked at.
	static idx_t MinRows(ClientContext &context);
};

} // namespace merganser
