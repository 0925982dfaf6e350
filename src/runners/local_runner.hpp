//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/local_runner.hpp
//
// Runs the stages of a query in this process: each stage's tasks on `slots` threads, each thread with a connection to
// the same database (session_connection.hpp) that serves all stages. A stage starts
// when the one before it is complete. The first error ends the query and is thrown as the task threw it; an interrupt
// of the session interrupts every task. Every task runs once: a file that is gone or damaged is an error that names it,
// so rows of two attempts never meet. Where memory_limit or the limit of open files has no room for as many tasks at a
// time, fewer run. Limit: a task sees committed data only; tables are therefore sent by the session,
// never read by a task.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/run_report.hpp"
#include "runners/stage_runner.hpp"
#include "runners/stage_tasks.hpp"
#include "session_connection.hpp"

#include <atomic>
#include <thread>

namespace merganser {

class LocalRunner : public StageRunner {
public:
	static constexpr const char *NAME = "local";

	explicit LocalRunner(QueryRun run);
	~LocalRunner() override;

	void Start(std::function<void()> on_end) override;
	vector<ExchangeFileName> Finish() override;
	double Progress() const override;

	//! Called whenever a stage has ended, with the folder of the query and the stage's number: for tests, which lose
	//! files there.
	static std::function<void(const string &folder, idx_t stage)> &OnStageEnd();

private:
	const QueryRun run;
	ClientContext &context;
	const idx_t slots;
	//! What the connections of the tasks have of the session.
	const SessionConnection session;
	StageTasks tasks;
	//! DuckDB's, each of which may read a file of a task and write another.
	const idx_t threads;
	const idx_t files_of_partitioned_copy;
	//! One for each slot that was needed so far.
	vector<unique_ptr<Connection>> connections;
	//! The files of each stage, once it is complete.
	vector<vector<ExchangeFileName>> files;
	//! Those the session wrote.
	vector<ExchangeFileName> sent_files;
	RunReport report;
	//! When the first stage began.
	std::chrono::steady_clock::time_point begun;
	ErrorData error;
	std::thread thread;
	std::atomic<bool> stopped {false};
	std::atomic<idx_t> ended_shares {0};

	void RunStages();
	void RunStage(const Stage &stage);
	//! How many files a task of the stage has open at most (open_file_limit.hpp).
	idx_t OpenFiles(const Stage &stage) const;
	vector<string> RunTasks(const Stage &stage, const StageDecision &decision, StageReport &stage_report);
	//! The statement of a task that writes `target`.
	string Sql(const Stage &stage, const StageDecision &decision, idx_t task, const string &target) const;
	vector<ExchangeFileName> FilesOf(const StageInput &input) const;
};

} // namespace merganser
