//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/foreign_runner.hpp
//
// A runner another program in this process provides, through C functions:
//
//   merganser_register_runner("ray", submit)      before SET merganser_runner = 'ray'
//   submit(plan, query)                           is called for each query: the plan document, and the query's number;
//                                                 it must return soon and never throw
//   merganser_query_secrets(query)                what its tasks need to read their files, a list for
//                                                 merganser_take_secret (session_secrets.hpp); keep it to yourself
//   merganser_query_is_cancelled(query)           to be asked often: nobody waits for this query any more
//   merganser_stage_tasks(query, stage)           how a stage runs; asked when the stages it comes after have ended
//   merganser_stage_ended(query, stage, bytes, partitions)
//                                                 once a stage has all its files: the bytes of each partition over them
//   merganser_query_ended(query, outcome)         once for each submitted query
//
// How a stage runs (stage_tasks.hpp), the same whenever it is asked:
//   { "tasks": [["COPY (... merganser_exchange(", {"files": "merganser_stage_3"}, ", identities := ",
//                {"identities": "merganser_stage_3"}, ...)) TO ", {"target": true}, ...]],
//     "lists": [{"merganser_scan_3_files": [{"filename": "...", "bytes": 4711, ...}, ...]}, ...],
//     "inputs": [{"name": "merganser_stage_3", "stage": 3, "all": false}, {..., "sent": 0, ...}],
//     "repeatable": true, "scanned_rows": 100, "decisions": ["..."] }
// Each task is its statement in pieces: text, the list of the exchange files of an input, the list of their identities
// (exchange/exchange_file.hpp), the file to write; and the variables it has to set first, lists of files too long for
// SQL. A stage another one computes has no tasks. Nothing is returned for a query that has ended, {"error": "..."} for
// a stage whose time has not come.
//
// A task that runs again writes a file of another name, since an attempt that was given up may still end. Where its
// stage is not "repeatable" (properties/repeatability.hpp), every task of every stage that has read this one runs again
// too, and of every stage that has read those: a reader must never have rows of two attempts.
//
// The outcome is {"files": [{"path": "<exchange file>", "identity": 1234}, ...], "report": {...}}, files of the last
// stage in the order of its tasks, or {"error": {"type": "Conversion", "message": "..."}, "report": {...}} with
// DuckDB's name of the error. The provider removes what it made elsewhere; the query's own folder is removed here.
//
// After a cancel nobody waits for the provider: the thread that cancels may hold a lock the provider needs.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/stage_runner.hpp"

namespace merganser {

//! What the operator and the provider share about one query.
class ForeignQuery;

class ForeignRunner : public StageRunner {
public:
	ForeignRunner(string name, QueryRun run);
	~ForeignRunner() override;

	void Start(std::function<void()> on_end) override;
	vector<ExchangeFileName> Finish() override;
	//! Negative: the provider shows the progress itself.
	double Progress() const override;

private:
	const string name;
	const QueryRun run;
	shared_ptr<ForeignQuery> query;
};

} // namespace merganser

extern "C" {

typedef void (*merganser_submit_t)(const char *plan, uint64_t query);

//! A second registration of a name replaces the first.
void merganser_register_runner(const char *name, merganser_submit_t submit);
//! Valid until the thread asks again.
const char *merganser_query_secrets(uint64_t query);
bool merganser_query_is_cancelled(uint64_t query);
//! Valid until the same thread calls it again.
const char *merganser_stage_tasks(uint64_t query, uint64_t stage);
void merganser_stage_ended(uint64_t query, uint64_t stage, const uint64_t *bytes, uint64_t partitions);
void merganser_query_ended(uint64_t query, const char *outcome);
}
