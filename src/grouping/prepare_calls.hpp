//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/prepare_calls.hpp
//
// Problem: to DuckDB's optimizer a table function is a wall: everything below it is computed in full.
//   SELECT window_start, device FROM SESSION(DATA => TABLE(sensor) PARTITION BY device ORDER BY time, GAP => 1m)
//   WHERE device = 'd7'
// Before DuckDB's own passes,
// * filters on partition columns move below the call: they keep or drop whole partitions, so no partition that stays
//   changes. Below a call with row semantics any filter on input columns moves. Other filters stay: the function sees
//   every row of a partition.
// * columns that nothing above uses are no longer carried.
// Both then pass through projections and scans by DuckDB's own means. After DuckDB's passes, in which order the rows of
// every call arrive is noted (arrival_of_input.hpp).
// Limits: a filter moves from right above the call, or from above projections of it; volatile expressions stay, and so
// do filters on partition columns whose equal values can differ (0.0 and -0.0).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct PrepareCalls {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
