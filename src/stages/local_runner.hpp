//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/local_runner.hpp
//
// Runs the stages of a query in this process: each stage's tasks on `slots` threads, each thread with a connection of
// its own to the same database, which has the settings and the search path of the session. A stage starts when the one
// before it is complete. The first error ends the query and is thrown as the task threw it; an interrupt of the session
// interrupts every task. Limit: a task sees committed data only; tables are therefore sent by the session, never read
// by a task.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/exchange_folder.hpp"
#include "stages/stage.hpp"

namespace merganser {

class LocalRunner {
public:
	//! `sent_files` are the files the session wrote, in the order of QueryStages::sent.
	LocalRunner(ClientContext &context, const QueryStages &stages, ExchangeFolder &folder, vector<string> sent_files);

	//! Returns the exchange files of the last stage in the order of its tasks.
	vector<string> Run();

private:
	ClientContext &context;
	const QueryStages &stages;
	ExchangeFolder &folder;
	const vector<string> sent_files;
	const idx_t slots;
	//! The files of each stage, once it is complete.
	vector<vector<string>> files;

	vector<string> RunStage(const Stage &stage);
	string InputSql(const StageInput &input, idx_t task) const;
};

} // namespace merganser
