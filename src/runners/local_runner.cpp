#include "runners/local_runner.hpp"

#include "open_file_limit.hpp"

#include "duckdb/parallel/task_scheduler.hpp"
#include "duckdb/storage/buffer_manager.hpp"

#include <condition_variable>
#include <filesystem>
#include <mutex>

namespace merganser {

namespace {

const std::chrono::milliseconds INTERRUPT_CHECK_INTERVAL(5);

const idx_t MEMORY_OF_TASK = idx_t(256) << 20;

const char *const METADATA_CACHE = "parquet_metadata_cache";

void Run(Connection &connection, const string &sql) {
	auto result = connection.Query(sql);
	if (result->HasError()) {
		result->ThrowError();
	}
}

//! File lists that the SQL of a task refers to.
void SetLists(Connection &connection, vector<FileList> lists) {
	auto &config = ClientConfig::GetConfig(*connection.context);
	for (auto &list : lists) {
		config.SetUserVariable(list.variable, Value::LIST(std::move(list.files)));
	}
}

//! Every task of every stage over the same files reads their footers; DuckDB checks that a file is unchanged. But what
//! it keeps of a file with geometries is for the setting of that time.
bool MayKeepFooters(ClientContext &context) {
	Value cache;
	Value geometries;
	return context.TryGetCurrentSetting(METADATA_CACHE, cache) &&
	       context.TryGetCurrentSetting("enable_geoparquet_conversion", geometries) && geometries.GetValue<bool>();
}

unique_ptr<Connection> Connect(const SessionConnection &session) {
	auto result = session.Open();
	if (MayKeepFooters(*result->context)) {
		Run(*result, StringUtil::Format("SET %s = true", METADATA_CACHE));
	}
	return result;
}

//! Each task holds what it reads and sorts; where memory is short, fewer run at a time.
idx_t SlotsWithMemory(ClientContext &context) {
	auto memory = BufferManager::GetBufferManager(context).GetMaxMemory();
	return MaxValue<idx_t>(MinValue(Settings::Slots(context), memory / MEMORY_OF_TASK), 1);
}

//! Of the COPY that a task is, where it writes a folder for each value of some columns.
idx_t FilesOfPartitionedCopy(ClientContext &context) {
	Value files;
	return context.TryGetCurrentSetting("partitioned_write_max_open_files", files) ? files.GetValue<uint64_t>() : 1;
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

string PathList(const vector<ExchangeFileName> &files) {
	vector<Value> paths;
	for (auto &file : files) {
		paths.emplace_back(file.path);
	}
	return Value::LIST(LogicalType::VARCHAR, paths).ToSQLString();
}

string IdentityList(const vector<ExchangeFileName> &files) {
	vector<Value> identities;
	for (auto &file : files) {
		identities.push_back(Value::UBIGINT(file.identity));
	}
	return Value::LIST(LogicalType::UBIGINT, identities).ToSQLString();
}

//! What the threads of one stage share.
class StageRun {
public:
	StageRun(idx_t threads, StageReport &report) : report(report), running(threads) {
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
			connection.get().Interrupt();
		}
	}
	//! From now on the connection is interrupted with the stage.
	void Uses(Connection &connection) {
		std::lock_guard<std::mutex> guard(lock);
		connections.push_back(connection);
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
	vector<reference<Connection>> connections;
	idx_t running;
	ErrorData error;
};

bool ReadsSentRows(const Stage &stage) {
	return std::any_of(stage.inputs.begin(), stage.inputs.end(),
	                   [](const StageInput &input) { return input.sent.IsValid(); });
}

std::thread StartThread(std::function<void()> work) {
	try {
		return std::thread(std::move(work));
	} catch (const std::system_error &error) {
		throw IOException("Cannot start a thread for a stage: %s. Raise the limit of processes (ulimit -u), or SET "
		                  "merganser_slots to fewer tasks at a time",
		                  error.what());
	}
}

} // namespace

LocalRunner::LocalRunner(QueryRun run_p)
    : run(std::move(run_p)), context(run.context), slots(SlotsWithMemory(run.context)), session(run.context),
      tasks(run.stages, Settings::TaskBytes(run.context)),
      threads(NumericCast<idx_t>(TaskScheduler::GetScheduler(run.context).NumberOfThreads())),
      files_of_partitioned_copy(FilesOfPartitionedCopy(run.context)) {
}

LocalRunner::~LocalRunner() {
	stopped = true;
	if (thread.joinable()) {
		thread.join();
	}
}

void LocalRunner::Start(std::function<void()> on_end) {
	thread = StartThread([this, on_end = std::move(on_end)]() {
		try {
			RunStages();
		} catch (std::exception &exception) {
			error = ErrorData(exception);
		}
		on_end();
	});
}

vector<ExchangeFileName> LocalRunner::Finish() {
	thread.join();
	context.BlockingInterruptCheck();
	if (error.HasError()) {
		error.Throw();
	}
	LastReport::Set(report.ToJson(NAME, *run.stages));
	return files.back();
}

double LocalRunner::Progress() const {
	idx_t shares = 0;
	for (auto &stage : run.stages->stages) {
		shares += stage->shares;
	}
	return 100.0 * static_cast<double>(ended_shares) / static_cast<double>(shares);
}

void LocalRunner::RunStages() {
	begun = std::chrono::steady_clock::now();
	sent_files = tasks.RowsAreSent(FileSystem::GetFileSystem(*context.db), run.sent_files);
	for (auto &stage : run.stages->stages) {
		RunStage(*stage);
	}
	report.wall_seconds = SecondsSince(begun);
}

vector<ExchangeFileName> LocalRunner::FilesOf(const StageInput &input) const {
	return input.sent.IsValid() ? vector<ExchangeFileName> {sent_files[input.sent.GetIndex()]}
	                            : files[input.stage.GetIndex() - 1];
}

string LocalRunner::Sql(const Stage &stage, const StageDecision &decision, idx_t task, const string &target) const {
	string result;
	for (auto &part : tasks.Sql(stage.number, task)) {
		switch (part.kind) {
		case SqlPart::Kind::TEXT:
			result += part.text;
			break;
		case SqlPart::Kind::FILES:
			result += PathList(FilesOf(decision.InputOf(part.text)));
			break;
		case SqlPart::Kind::IDENTITIES:
			result += IdentityList(FilesOf(decision.InputOf(part.text)));
			break;
		case SqlPart::Kind::TARGET:
			result += Value(target).ToSQLString();
			break;
		}
	}
	return result;
}

void LocalRunner::RunStage(const Stage &stage) {
	auto start = std::chrono::steady_clock::now();
	auto &decision = tasks.Decide(stage.number);
	StageReport stage_report;
	stage_report.decision = decision;
	if (!run.why_here.empty() && ReadsSentRows(stage)) {
		stage_report.decision.reasons.push_back("the tasks ran in this process: " + run.why_here);
	}
	ExchangeFiles written;
	if (!decision.inside.IsValid()) {
		auto paths = RunTasks(stage, decision, stage_report);
		written = ExchangeFiles::Of(FileSystem::GetFileSystem(*context.db), paths);
		tasks.StageEnds(stage.number, written.PartitionBytes());
	} else {
		ended_shares += stage.shares;
	}
	files.push_back(std::move(written.names));
	stage_report.wall_seconds = SecondsSince(start);
	report.stages.push_back(std::move(stage_report));
	if (OnStageEnd()) {
		OnStageEnd()(run.folder.Path(), stage.number);
	}
}

std::function<void(const string &folder, idx_t stage)> &LocalRunner::OnStageEnd() {
	static std::function<void(const string &folder, idx_t stage)> call;
	return call;
}

idx_t LocalRunner::OpenFiles(const Stage &stage) const {
	if (stage.files.empty()) {
		return threads + 1;
	}
	return threads + (stage.files_are_partitioned ? files_of_partitioned_copy : threads);
}

vector<string> LocalRunner::RunTasks(const Stage &stage, const StageDecision &decision, StageReport &stage_report) {
	auto count = decision.tasks.size();
	vector<string> targets;
	for (idx_t task = 0; task < count; task++) {
		targets.push_back(run.folder.TaskFile(stage.number, task, 0));
	}
	stage_report.tasks.resize(count);
	auto thread_count = MinValue<idx_t>(MinValue(slots, OpenFileLimit::Tasks(OpenFiles(stage))), count);
	connections.resize(MaxValue<idx_t>(connections.size(), thread_count));
	StageRun stage_run(thread_count, stage_report);
	auto work = [&](idx_t of_thread) {
		try {
			auto &connection = connections[of_thread];
			if (!connection) {
				connection = Connect(session);
			}
			stage_run.Uses(*connection);
			for (auto task = stage_run.NextTask(); task < count && !stage_run.Stopped(); task = stage_run.NextTask()) {
				auto sql = Sql(stage, decision, task, targets[task]);
				SetLists(*connection, tasks.Lists(stage.number, task));
				auto started = SecondsSince(begun);
				auto task_report = RunTask(*connection, sql, targets[task]);
				task_report.started = started;
				task_report.worker = of_thread;
				stage_run.TaskEnds(task, task_report);
				ended_shares += decision.tasks[task].Count();
			}
		} catch (std::exception &exception) {
			stage_run.Fail(ErrorData(exception));
		}
		stage_run.ThreadEnds();
	};
	vector<std::thread> threads;
	for (idx_t of_thread = 0; of_thread < thread_count; of_thread++) {
		try {
			threads.push_back(StartThread([&work, of_thread]() { work(of_thread); }));
		} catch (std::exception &exception) {
			// those that have started still use the stage: it fails when they have ended
			stage_run.Fail(ErrorData(exception));
			stage_run.ThreadEnds();
		}
	}
	while (!stage_run.WaitForEnd()) {
		if (stopped || MustEnd(context)) {
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
	return targets;
}

} // namespace merganser
