//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/process_bound.hpp
//
//   connection.create_function("half", half, ["INTEGER"], "INTEGER")
//   SELECT half(i) FROM 't/*.parquet'            with merganser_runner = 'ray'
//
// Problem: some of what a query uses exists in this process only: functions a client registered, file systems it
// registered (fsspec), secrets that cannot be written. A worker elsewhere would fail, though DuckDB alone can run the
// query. Such a query is not cut where tasks run in other processes.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

namespace merganser {

struct ProcessBound {
	//! Throws NotImplementedException with the reason where tasks in other processes cannot run these stages.
	static void Check(ClientContext &context, const QueryStages &stages);
};

} // namespace merganser
