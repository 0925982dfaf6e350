#include "runners/local_runner.hpp"

#include "exchange/exchange_scan.hpp"

#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/connection.hpp"

#include <condition_variable>
#include <filesystem>
#include <mutex>

namespace merganser {

namespace {

const std::chrono::milliseconds INTERRUPT_CHECK_INTERVAL(5);

void Run(Connection &connection, const string &sql) {
	auto result = connection.Query(sql);
	if (result->HasError()) {
		result->ThrowError();
	}
}

//! File lists that the SQL of the tasks refers to.
void SetLists(ClientConfig &config, const QueryStages &query) {
	for (auto &stage : query.stages) {
		for (auto &scan : stage->scans) {
			for (auto &list : scan.lists) {
				vector<Value> paths(list.paths.begin(), list.paths.end());
				config.SetUserVariable(list.variable, Value::LIST(LogicalType::VARCHAR, std::move(paths)));
			}
		}
	}
}

unique_ptr<Connection> Connect(ClientContext &session, const QueryStages &query,
                               const vector<unique_ptr<const BaseSecret>> &secrets) {
	auto result = make_uniq<Connection>(*session.db);
	auto &config = ClientConfig::GetConfig(*result->context);
	config = ClientConfig::GetConfig(session);
	config.enable_profiler = false;
	config.enable_progress_bar = false;
	config.get_result_collector = nullptr;
	SetLists(config, query);
	Run(*result, "SET merganser_runner = ''");
	auto &search_path = ClientData::Get(session).catalog_search_path->GetSetPaths();
	if (!search_path.empty()) {
		Run(*result, "SET search_path = " + Value(CatalogSearchEntry::ListToString(search_path)).ToSQLString());
	}
	if (!secrets.empty()) {
		result->context->RunFunctionInTransaction([&]() {
			for (auto &secret : secrets) {
				SessionSecrets::Give(*result->context, *secret);
			}
		});
	}
	return result;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TaskReport RunTask(Connection &connection, const string &sql, const string &target) {
	auto start = std::chrono::steady_clock::now();
	auto result = connection.Query(sql);
	if (result->HasError()) {
		result->ThrowError();
	}
	TaskReport report;
	report.seconds = SecondsSince(start);
	for (auto &row : *result) {
		report.rows_out += NumericCast<idx_t>(row.GetValue<int64_t>(0));
	}
	report.bytes_out = NumericCast<idx_t>(std::filesystem::file_size(target));
	return report;
}

//! What the threads of one stage share.
class StageRun {
public:
	StageRun(idx_t threads, StageReport &report) : report(report), connections(threads), running(threads) {
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
	void TaskEnds(idx_t task, TaskReport task_report) {
		std::lock_guard<std::mutex> guard(lock);
		report.tasks[task] = task_report;
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
	StageReport &report;
	vector<unique_ptr<Connection>> connections;
	idx_t running;
	ErrorData error;
};

} // namespace

LocalRunner::LocalRunner(QueryRun run_p)
    : run(std::move(run_p)), context(run.context), slots(Settings::Slots(run.context)),
      secrets(SessionSecrets::OfConnection(run.context)) {
}

LocalRunner::~LocalRunner() {
	stopped = true;
	if (thread.joinable()) {
		thread.join();
	}
}

void LocalRunner::Start(std::function<void()> on_end) {
	thread = std::thread([this, on_end = std::move(on_end)]() {
		try {
			RunStages();
		} catch (std::exception &exception) {
			error = ErrorData(exception);
		}
		on_end();
	});
}

vector<string> LocalRunner::Finish() {
	thread.join();
	context.InterruptCheck();
	if (error.HasError()) {
		error.Throw();
	}
	LastReport::Set(report.ToJson(NAME, run.stages));
	return files.back();
}

double LocalRunner::Progress() const {
	idx_t tasks = 0;
	for (auto &stage : run.stages.stages) {
		tasks += stage->tasks;
	}
	return 100.0 * static_cast<double>(ended_tasks) / static_cast<double>(tasks);
}

void LocalRunner::RunStages() {
	auto start = std::chrono::steady_clock::now();
	for (auto &stage : run.stages.stages) {
		files.push_back(RunStage(*stage));
	}
	report.wall_seconds = SecondsSince(start);
}

string LocalRunner::InputSql(const StageInput &input, idx_t task) const {
	vector<Value> paths;
	if (input.sent.IsValid()) {
		paths.emplace_back(run.sent_files[input.sent.GetIndex()]);
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
	auto start = std::chrono::steady_clock::now();
	vector<string> targets;
	vector<string> statements;
	for (idx_t task = 0; task < stage.tasks; task++) {
		targets.push_back(run.folder.TaskFile(stage.number, task, 0));
		auto input_sql = [&](const StageInput &input, idx_t of_task) {
			return InputSql(input, of_task);
		};
		statements.push_back(stage.TaskSql(task, input_sql, targets.back()));
	}
	StageReport stage_report;
	stage_report.tasks.resize(stage.tasks);
	auto thread_count = MinValue(slots, stage.tasks);
	StageRun stage_run(thread_count, stage_report);
	auto work = [&](idx_t of_thread) {
		try {
			auto &connection = stage_run.Add(of_thread, Connect(context, run.stages, secrets));
			for (auto task = stage_run.NextTask(); task < stage.tasks && !stage_run.Stopped();
			     task = stage_run.NextTask()) {
				stage_run.TaskEnds(task, RunTask(connection, statements[task], targets[task]));
				ended_tasks++;
			}
		} catch (std::exception &exception) {
			stage_run.Fail(ErrorData(exception));
		}
		stage_run.ThreadEnds();
	};
	vector<std::thread> threads;
	for (idx_t of_thread = 0; of_thread < thread_count; of_thread++) {
		threads.emplace_back(work, of_thread);
	}
	while (!stage_run.WaitForEnd()) {
		if (stopped || context.IsInterrupted()) {
			stage_run.Stop();
		}
	}
	for (auto &task_thread : threads) {
		task_thread.join();
	}
	if (stage_run.Error().HasError()) {
		stage_run.Error().Throw();
	}
	if (stage_run.Stopped()) {
		throw InterruptException();
	}
	stage_report.wall_seconds = SecondsSince(start);
	report.stages.push_back(std::move(stage_report));
	return targets;
}

} // namespace merganser
