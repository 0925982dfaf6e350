//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/ordered_windows.hpp
//
// Problem: a window function hashes and sorts all rows, also where they already lie as it needs them:
//   SELECT device, time, v - lag(v) OVER (PARTITION BY device ORDER BY time) FROM sensor
//     WINDOW <- read_parquet                     every row hashed into bins, every bin sorted
//     ORDERED_WINDOW <- REGION_SCAN              files written by COPY ... (FORMAT merganser_regions), say: one pass
// Runs on DuckDB's optimised plan, after everything that changes it and after what runs in stages: each LogicalWindow
// whose functions all have PARTITION BY is marked (logical_ordered_window.hpp), and where the physical plan is made it
// is decided whether the rows below lie whole and in order (choose_window.hpp).
// Sound because nothing but the way its rows are brought together changes: DuckDB's own window executors compute the
// values (window_functions.hpp), and how rows lie is only ever taken from a declaration, from what COPY recorded in the
// files, from folders and statistics (grouping/found_layout.hpp), or from what an operator of ours delivers; all of it
// is verified while the rows stream by. Which of two rows
// that agree in PARTITION BY and ORDER BY comes first SQL leaves open, and so does DuckDB; here it is the one that
// lies first in its region, unless the region is sorted.
// Limits: functions of one LogicalWindow must agree in their partition set, and their ORDER BY lists must be prefixes
// of the longest of them; columns only, no expressions. Everything else is left to DuckDB, with a recorded reason.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct OrderedWindows {
	static constexpr const char *NAME = "ordered_windows";

	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
