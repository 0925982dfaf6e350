//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/run_report.hpp
//
// What the stages of a query took: the report of the query in stages that ended last in this process, as JSON.
//
//   { "runner": "local", "wall_seconds": 1.5,
//     "stages": [{"stage": 1, "partitioning": "...", "reads": "...", "tasks": 8, "task_seconds": 4.1,
//                 "wall_seconds": 0.7, "decisions": ["8 shares of 512 bytes in 1 tasks"],
//                 "rows_in": 6001215, "rows_out": 40, "bytes_in": 0, "bytes_out": 3100, "estimated_rows": 37,
//                 "retries": 0, "skew": 1.2, "spilled_bytes": 0, "slowest_worker": "...",
//                 "timeline": [{"worker": "thread 1", "started": 0.8, "seconds": 0.5}, ...]}, ...] }
//
// A stage whose rows another one computed has no tasks and says so in its decisions (stage_tasks.hpp). `rows_in` counts
// rows of the files and rows of exchanges, `bytes_in` and `bytes_out` bytes of exchange files; `skew` is the longest
// task's time over the median's. `timeline` has the tasks in their order; `started` is since the query's start.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/stage_tasks.hpp"

namespace merganser {

struct TaskReport {
	//! Since the query's start.
	double started = 0;
	double seconds = 0;
	//! The thread that ran it, from 0.
	idx_t worker = 0;
	idx_t rows_out = 0;
	idx_t bytes_out = 0;
};

struct StageReport {
	StageDecision decision;
	double wall_seconds = 0;
	vector<TaskReport> tasks;

	idx_t RowsOut() const;
	idx_t BytesOut() const;
	double TaskSeconds() const;
	double Skew() const;
};

struct RunReport {
	//! In the order of the stages.
	vector<StageReport> stages;
	double wall_seconds = 0;

	string ToJson(const string &runner, const QueryStages &query) const;
};

//! The report of the query that ended last; empty before the first.
struct LastReport {
	static void Set(string json);
	static string Get();
};

} // namespace merganser

extern "C" {

//! Valid until the same thread calls it again.
const char *merganser_last_query();
}
