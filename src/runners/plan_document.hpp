//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/plan_document.hpp
//
// A query in stages as one JSON object, all a runner outside this extension needs:
//
//   { "runner": "ray", "folder": "<exchange folder of this query>", "slots": 0,
//     "sent": ["<file>", ...],                        files the session wrote
//     "settings": {"TimeZone": "'Asia/Tokyo'", ...},  what SET of the session changed and tasks must know, as SQL
//     "extensions": ["spatial", ...],                 loaded in the session, not part of DuckDB
//     "databases": [{"name": "merganser_1f0c...", "path": "<file>", "bytes": 100, "changed": 1796040000000000000}],
//                                                     to attach for reading, if size and time (ns) are these
//     "stages": [{ "stage": 1, "sql": "SELECT ...", "tasks": 8, "partitions": 8,
//                  "after": [3],                       the stages that must have ended before this one is decided
//                  "partitioning": "...", "reads": "...", "estimated_rows": 100, "reasons": ["..."],
//                  "repeatable": false, "repeatability": "not repeatable: random() gives ..."}, ...] }
//
// Stages are numbered from 1 in the order they can run; the last returns the rows of the query. The most tasks of a
// stage are "tasks"; how many there are, and the statement of each, is told when it is due: merganser_stage_tasks
// (foreign_runner.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/stage_runner.hpp"
#include "runners/stage_tasks.hpp"

namespace merganser {

struct PlanDocument {
	static string Write(const string &runner, const QueryRun &run, const StageTasks &tasks);
};

} // namespace merganser
