#include "stages/local_runner.hpp"

#include "exchange/exchange_scan.hpp"

#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/connection.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace merganser {

namespace {

const std::chrono::milliseconds INTERRUPT_CHECK_INTERVAL(5);

void Run(Connection &connection, const string &sql) {
	auto result = connection.Query(sql);
	if (result->HasError()) {
		result->ThrowError();
	}
}

unique_ptr<Connection> Connect(ClientContext &session) {
	auto result = make_uniq<Connection>(*session.db);
	auto &config = ClientConfig::GetConfig(*result->context);
	config = ClientConfig::GetConfig(session);
	config.enable_profiler = false;
	config.enable_progress_bar = false;
	config.get_result_collector = nullptr;
	Run(*result, "SET merganser_runner = ''");
	auto &search_path = ClientData::Get(session).catalog_search_path->GetSetPaths();
	if (!search_path.empty()) {
		Run(*result, "SET search_path = " + Value(CatalogSearchEntry::ListToString(search_path)).ToSQLString());
	}
	return result;
}

//! What the threads of one stage share.
class StageRun {
public:
	explicit StageRun(idx_t threads) : connections(threads), running(threads) {
	}

	bool Stopped() const {
		return stopped;
	}
	idx_t NextTask() {
		return next++;
	}
	void Fail(ErrorData error_p) {
		{
			std::lock_guard<std::mutex> guard(lock);
			if (!error.HasError()) {
				error = std::move(error_p);
			}
		}
		Stop();
	}
	void Stop() {
		stopped = true;
		std::lock_guard<std::mutex> guard(lock);
		for (auto &connection : connections) {
			if (connection) {
				connection->Interrupt();
			}
		}
	}
	Connection &Add(idx_t thread, unique_ptr<Connection> connection) {
		std::lock_guard<std::mutex> guard(lock);
		connections[thread] = std::move(connection);
		return *connections[thread];
	}
	void ThreadEnds() {
		std::lock_guard<std::mutex> guard(lock);
		running--;
		ended.notify_all();
	}
	//! Waits a moment; returns whether all threads have ended.
	bool WaitForEnd() {
		std::unique_lock<std::mutex> guard(lock);
		return ended.wait_for(guard, INTERRUPT_CHECK_INTERVAL, [&]() { return running == 0; });
	}
	const ErrorData &Error() const {
		return error;
	}

private:
	std::mutex lock;
	std::condition_variable ended;
	std::atomic<bool> stopped {false};
	std::atomic<idx_t> next {0};
	vector<unique_ptr<Connection>> connections;
	idx_t running;
	ErrorData error;
};

} // namespace

LocalRunner::LocalRunner(ClientContext &context, const QueryStages &stages, ExchangeFolder &folder,
                         vector<string> sent_files)
    : context(context), stages(stages), folder(folder), sent_files(std::move(sent_files)),
      slots(Settings::Slots(context)) {
}

vector<string> LocalRunner::Run() {
	for (auto &stage : stages.stages) {
		files.push_back(RunStage(*stage));
	}
	return files.back();
}

string LocalRunner::InputSql(const StageInput &input, idx_t task) const {
	vector<Value> paths;
	if (input.sent.IsValid()) {
		paths.emplace_back(sent_files[input.sent.GetIndex()]);
	} else {
		for (auto &file : files[input.stage.GetIndex() - 1]) {
			paths.emplace_back(file);
		}
	}
	auto list = Value::LIST(LogicalType::VARCHAR, paths).ToSQLString();
	auto partitions = input.mode == ReadMode::ALL ? string() : StringUtil::Format(", partitions := [%llu]", task);
	return StringUtil::Format("SELECT * FROM %s(%s%s)", ExchangeScan::NAME, list, partitions);
}

vector<string> LocalRunner::RunStage(const Stage &stage) {
	vector<string> targets;
	vector<string> statements;
	for (idx_t task = 0; task < stage.tasks; task++) {
		targets.push_back(folder.TaskFile(stage.number, 0, task));
		auto input_sql = [&](const StageInput &input, idx_t of_task) {
			return InputSql(input, of_task);
		};
		statements.push_back(stage.TaskSql(task, input_sql, targets.back()));
	}
	auto thread_count = MinValue(slots, stage.tasks);
	StageRun run(thread_count);
	auto work = [&](idx_t thread) {
		try {
			auto &connection = run.Add(thread, Connect(context));
			for (auto task = run.NextTask(); task < stage.tasks && !run.Stopped(); task = run.NextTask()) {
				auto result = connection.Query(statements[task]);
				if (result->HasError()) {
					run.Fail(result->GetErrorObject());
				}
			}
		} catch (std::exception &exception) {
			run.Fail(ErrorData(exception));
		}
		run.ThreadEnds();
	};
	vector<std::thread> threads;
	for (idx_t thread = 0; thread < thread_count; thread++) {
		threads.emplace_back(work, thread);
	}
	while (!run.WaitForEnd()) {
		if (context.IsInterrupted()) {
			run.Stop();
		}
	}
	for (auto &thread : threads) {
		thread.join();
	}
	context.InterruptCheck();
	if (run.Error().HasError()) {
		run.Error().Throw();
	}
	return targets;
}

} // namespace merganser
