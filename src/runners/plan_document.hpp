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
//     "lists": {"merganser_files_3_1": ["<file>", ...]},   variables a task sets: file lists too long for SQL
//     "databases": [{"name": "merganser_1f0c...", "path": "<file>", "bytes": 100, "changed": 1796040000000000000}],
//                                                     to attach for reading, if size and time (ns) are these
//     "stages": [{ "stage": 1, "sql": "SELECT ...", "tasks": 8, "partitions": 8,
//                  "write": "FORMAT merganser_exchange, ...",          options of the COPY that writes the exchange
//                  "inputs": [{"name": "merganser_stage_3", "stage": 3, "all": false}, {..., "sent": 0, ...}],
//                  "scans": [{"name": "merganser_scan_1", "rows": 100, "slices": ["SELECT ...", ...]}],
//                  "partitioning": "...", "reads": "...", "estimated_rows": 100, "reasons": ["..."]}, ...] }
//
// Stages are numbered from 1 in the order they can run; the last returns the rows of the query. Task i is
//   COPY (WITH <scan> AS NOT MATERIALIZED (<slice i>), <input> AS NOT MATERIALIZED (FROM merganser_exchange(...))
//         FROM (<sql>)) TO '<file>' (<write>)
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/stage_runner.hpp"

namespace merganser {

struct PlanDocument {
	static string Write(const string &runner, const QueryRun &run);
};

} // namespace merganser
