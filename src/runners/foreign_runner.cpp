#include "runners/foreign_runner.hpp"

#include "runners/plan_document.hpp"
#include "runners/run_report.hpp"
#include "runners/session_secrets.hpp"
#include "runners/stage_tasks.hpp"
#include "setting_checks.hpp"

#include "yyjson.hpp"

#include <mutex>

using namespace duckdb_yyjson; // NOLINT

namespace merganser {

class ForeignQuery {
public:
	ForeignQuery(const ClientContext &session, unique_ptr<StageTasks> tasks, string secrets,
	             std::function<void()> on_end)
	    : secrets(std::move(secrets)), session(session), tasks(std::move(tasks)), on_end(std::move(on_end)) {
	}

	const string secrets;

	//! The session does not look at the time while it waits; its runner does, whenever it asks.
	bool IsCancelled() {
		std::lock_guard<std::mutex> guard(lock);
		if (session && StageRunner::MustEnd(*session)) {
			TellEnd();
			Forget();
		}
		return !session;
	}
	void Cancel() {
		std::lock_guard<std::mutex> guard(lock);
		Forget();
	}
	string TasksOf(idx_t stage) {
		std::lock_guard<std::mutex> guard(lock);
		return tasks ? tasks->ToJson(stage) : string();
	}
	void StageEnds(idx_t stage, vector<idx_t> partition_bytes) {
		std::lock_guard<std::mutex> guard(lock);
		if (tasks) {
			tasks->StageEnds(stage, std::move(partition_bytes));
		}
	}
	void End(string outcome_p) {
		std::lock_guard<std::mutex> guard(lock);
		outcome = std::move(outcome_p);
		TellEnd();
	}
	string Outcome() {
		std::lock_guard<std::mutex> guard(lock);
		return outcome;
	}

private:
	std::mutex lock;
	//! None once nobody waits any more.
	optional_ptr<const ClientContext> session;
	unique_ptr<StageTasks> tasks;
	std::function<void()> on_end;
	string outcome;

	void TellEnd() {
		if (on_end) {
			on_end();
		}
		on_end = nullptr;
	}
	void Forget() {
		session = nullptr;
		on_end = nullptr;
		tasks.reset();
	}
};

namespace {

//! The runners and the queries of this process.
class Providers {
public:
	static Providers &Get() {
		static Providers providers;
		return providers;
	}

	void Register(const string &name, merganser_submit_t submit) {
		std::lock_guard<std::mutex> guard(lock);
		runners[name] = submit;
	}
	merganser_submit_t Find(const string &name) {
		std::lock_guard<std::mutex> guard(lock);
		auto entry = runners.find(name);
		return entry == runners.end() ? nullptr : entry->second;
	}
	uint64_t Add(shared_ptr<ForeignQuery> query) {
		std::lock_guard<std::mutex> guard(lock);
		queries[++last_query] = std::move(query);
		return last_query;
	}
	shared_ptr<ForeignQuery> FindQuery(uint64_t number) {
		std::lock_guard<std::mutex> guard(lock);
		auto entry = queries.find(number);
		return entry == queries.end() ? nullptr : entry->second;
	}
	void Remove(uint64_t number) {
		std::lock_guard<std::mutex> guard(lock);
		queries.erase(number);
	}

private:
	std::mutex lock;
	unordered_map<string, merganser_submit_t> runners;
	unordered_map<uint64_t, shared_ptr<ForeignQuery>> queries;
	uint64_t last_query = 0;
};

string Text(yyjson_val *object, const char *name) {
	auto value = yyjson_obj_get(object, name);
	return yyjson_is_str(value) ? string(yyjson_get_str(value), yyjson_get_len(value)) : string();
}

//! An error that would end this database is one of another database, and ends only the query.
[[noreturn]] void ThrowError(yyjson_val *error) {
	auto type = Exception::StringToExceptionType(Text(error, "type"));
	if (type == ExceptionType::INVALID || type == ExceptionType::INTERNAL || Exception::InvalidatesDatabase(type)) {
		type = ExceptionType::IO;
	}
	ErrorData(type, Text(error, "message")).Throw();
}

vector<ExchangeFileName> ReadFiles(yyjson_val *list) {
	vector<ExchangeFileName> result;
	size_t index, count;
	yyjson_val *file;
	yyjson_arr_foreach(list, index, count, file) {
		result.push_back({Text(file, "path"), yyjson_get_uint(yyjson_obj_get(file, "identity"))});
	}
	return result;
}

} // namespace

ForeignRunner::ForeignRunner(string name, QueryRun run) : name(std::move(name)), run(std::move(run)) {
}

ForeignRunner::~ForeignRunner() {
	if (query) {
		query->Cancel();
	}
}

void ForeignRunner::Start(std::function<void()> on_end) {
	auto submit = Providers::Get().Find(name);
	auto tasks = make_uniq<StageTasks>(run.stages, Settings::TaskBytes(run.context));
	tasks->RowsAreSent(FileSystem::GetFileSystem(run.context), run.sent_files);
	auto plan = PlanDocument::Write(name, run, *tasks);
	auto secrets = SessionSecrets::Needed(run.context, *run.stages);
	query = make_shared_ptr<ForeignQuery>(run.context, std::move(tasks), std::move(secrets), std::move(on_end));
	submit(plan.c_str(), Providers::Get().Add(query));
}

vector<ExchangeFileName> ForeignRunner::Finish() {
	run.context.BlockingInterruptCheck();
	auto text = query->Outcome();
	unique_ptr<yyjson_doc, void (*)(yyjson_doc *)> document(yyjson_read(text.c_str(), text.size(), 0), yyjson_doc_free);
	auto root = yyjson_doc_get_root(document.get());
	auto report = yyjson_obj_get(root, "report");
	if (report) {
		size_t length;
		unique_ptr<char, void (*)(void *)> written(yyjson_val_write(report, YYJSON_WRITE_NOFLAG, &length), free);
		LastReport::Set(string(written.get(), length));
	}
	auto error = yyjson_obj_get(root, "error");
	if (error) {
		ThrowError(error);
	}
	auto files = yyjson_obj_get(root, "files");
	if (!yyjson_is_arr(files)) {
		throw InvalidInputException("The runner \"%s\" ended a query without files and without an error", name);
	}
	return ReadFiles(files);
}

double ForeignRunner::Progress() const {
	return -1;
}

} // namespace merganser

extern "C" {

void merganser_register_runner(const char *name, merganser_submit_t submit) {
	merganser::Providers::Get().Register(name, submit);
	merganser::SettingChecks::AllowRunner(name);
}

const char *merganser_query_secrets(uint64_t query) {
	static thread_local std::string text;
	auto found = merganser::Providers::Get().FindQuery(query);
	text = found ? found->secrets : "[]";
	return text.c_str();
}

bool merganser_query_is_cancelled(uint64_t query) {
	auto found = merganser::Providers::Get().FindQuery(query);
	return !found || found->IsCancelled();
}

const char *merganser_stage_tasks(uint64_t query, uint64_t stage) {
	static thread_local std::string text;
	auto found = merganser::Providers::Get().FindQuery(query);
	text = found ? found->TasksOf(stage) : std::string();
	return text.c_str();
}

void merganser_stage_ended(uint64_t query, uint64_t stage, const uint64_t *bytes, uint64_t partitions) {
	auto found = merganser::Providers::Get().FindQuery(query);
	if (found) {
		found->StageEnds(stage, {bytes, bytes + partitions});
	}
}

void merganser_query_ended(uint64_t query, const char *outcome) {
	auto found = merganser::Providers::Get().FindQuery(query);
	if (found) {
		merganser::Providers::Get().Remove(query);
		found->End(outcome);
	}
}
}
