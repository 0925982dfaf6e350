//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/stage_runner.hpp
//
//   SET merganser_runner = 'local';
//
// What runs the stages of one execution of a query. It runs them beside the thread that asked, so that DuckDB's threads
// stay free and an interrupt is seen at once. Runners: `local` (threads of this process) and those another program
// registered in this process (foreign_runner.hpp), such as `ray`. Errors: InvalidInputException for a name nobody
// registered.
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/exchange_file.hpp"
#include "runners/exchange_folder.hpp"
#include "stages/stage.hpp"

namespace merganser {

//! One execution of a query in stages. All of it outlives the runner.
struct QueryRun {
	ClientContext &context;
	shared_ptr<const QueryStages> stages;
	ExchangeFolder &folder;
	//! The files the session wrote, in the order of QueryStages::sent.
	vector<string> sent_files;
	//! Why the tasks run in this process, whatever runner is set; empty where they need not.
	string why_here {};
};

class StageRunner {
public:
	//! Ends what still runs; `on_end` is not called any more.
	virtual ~StageRunner() = default;

	//! The runner the setting merganser_runner names.
	static unique_ptr<StageRunner> Make(QueryRun run);
	//! Whether the session was interrupted, or its max_execution_time is over.
	static bool MustEnd(const ClientContext &context);

	//! Starts and returns. `on_end` is called once, from any thread, when Finish will not wait any more.
	virtual void Start(std::function<void()> on_end) = 0;
	//! The exchange files of the last stage in the order of its tasks; throws the query's error.
	virtual vector<ExchangeFileName> Finish() = 0;
	//! Percent done, or negative where DuckDB's progress bar shall not show it.
	virtual double Progress() const = 0;
};

} // namespace merganser
