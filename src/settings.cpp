#include "settings.hpp"

#include "setting_checks.hpp"

#include "duckdb/main/config.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/parallel/task_scheduler.hpp"

#include <cstdlib>

namespace merganser {

namespace {

struct Setting {
	const char *name;
	LogicalType type;
	Value default_value;
	const char *description;
	//! Called at SET; none where every value of the type will do.
	set_option_callback_t check = nullptr;
};

//! More threads, or connections of a worker, than any machine runs well.
const idx_t MOST_THREADS = 1024;
const idx_t MOST_TASKS = 65536;
const idx_t MOST_ATTEMPTS = 1000;

const char *const LATE_MATERIALIZATION = "merganser_late_materialization";
const char *const LATE_MATERIALIZATION_MAX_ROWS = "merganser_late_materialization_max_rows";
const char *const LATE_MATERIALIZATION_MAX_CHAIN = "merganser_late_materialization_max_chain";
const char *const LATE_MATERIALIZATION_COST = "merganser_late_materialization_cost";
const char *const PROVE_KEYS = "merganser_prove_keys";
const char *const ORDERED_WINDOWS = "merganser_ordered_windows";
const char *const ORDERED_WINDOWS_MIN_ROWS = "merganser_ordered_windows_min_rows";
const char *const RUNNER = "merganser_runner";
const char *const TASKS = "merganser_tasks";
const char *const TASK_BYTES = "merganser_task_bytes";
const char *const SLOTS = "merganser_slots";
const char *const DISTRIBUTE_MIN_BYTES = "merganser_distribute_min_bytes";
const char *const SEND_MAX_BYTES = "merganser_send_max_bytes";
const char *const BROADCAST_MAX_BYTES = "merganser_broadcast_max_bytes";
const char *const EXCHANGE_DIRECTORY = "merganser_exchange_directory";
const char *const EXCHANGE_COMPRESSION = "merganser_exchange_compression";
const char *const EXCHANGE_SHARED = "merganser_exchange_shared";
const char *const EXCHANGE_MAX_BYTES = "merganser_exchange_max_bytes";
const char *const WORKER_DIRECTORY = "merganser_worker_directory";
const char *const WORKER_MEMORY_LIMIT = "merganser_worker_memory_limit";
const char *const WORKER_THREADS = "merganser_worker_threads";
const char *const WORKER_MAX_SPILL_BYTES = "merganser_worker_max_spill_bytes";
const char *const TASK_ATTEMPTS = "merganser_task_attempts";
const char *const SPECULATION = "merganser_speculation";
const char *const PROGRESS = "merganser_progress";

vector<Setting> AllSettings() {
	return {
	    {LATE_MATERIALIZATION, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Rewrite aggregates to group by the key alone and fetch determined columns afterwards"},
	    {LATE_MATERIALIZATION_MAX_ROWS, LogicalType::UBIGINT, Value::UBIGINT(10000),
		 "Largest LIMIT + OFFSET whose rows a late materialization sorts and cuts itself; above it, every group is "
		 "fetched"},
	    {LATE_MATERIALIZATION_MAX_CHAIN, LogicalType::UBIGINT, Value::UBIGINT(4),
		 "Largest number of tables a late materialization may fetch columns from"},
	    {LATE_MATERIALIZATION_COST, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Decline late materialization where it is estimated not to pay; off rewrites wherever it is sound"},
	    {PROVE_KEYS, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Prove keys that nobody has declared, by reading their columns, where late materialization gains much more; "
		 "off takes declared and enforced keys only"},
	    {ORDERED_WINDOWS, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Compute windows with PARTITION BY over data that lies in order in one pass, without hashing or sorting all"},
	    {ORDERED_WINDOWS_MIN_ROWS, LogicalType::UBIGINT, Value::UBIGINT(50000),
		 "Windows over fewer rows of a scan than this, about, run in DuckDB alone"},
	    {RUNNER, LogicalType::VARCHAR, Value(""),
		 "What runs queries in stages: local (threads of this process), ray, or empty for DuckDB alone",
		 SettingChecks::Runner},
	    {TASKS, LogicalType::UBIGINT, Value::UBIGINT(8), "Number of tasks a stage is divided into",
		 SettingChecks::Number<TASKS, 1, MOST_TASKS>},
	    {TASK_BYTES, LogicalType::VARCHAR, Value("67108864"),
		 "Neighbouring shares of a stage that together read less than this are one task; 0: every share is a task. "
		 "Unless set, 0 where merganser_distribute_min_bytes is 0",
		 SettingChecks::Size<TASK_BYTES>},
	    {SLOTS, LogicalType::UBIGINT, Value::UBIGINT(0),
		 "Number of tasks that run at the same time; 0 takes the setting threads, on Ray the cluster's CPUs",
		 SettingChecks::Number<SLOTS, 0, MOST_THREADS>},
	    {DISTRIBUTE_MIN_BYTES, LogicalType::VARCHAR, Value("268435456"),
		 "Queries that read less than this, about, run in DuckDB alone; 0 always runs in stages",
		 SettingChecks::Size<DISTRIBUTE_MIN_BYTES>},
	    {SEND_MAX_BYTES, LogicalType::VARCHAR, Value("4294967296"),
		 "Most bytes, about, of a table or data frame of the session that are sent to tasks; a query that needs more "
		 "runs in DuckDB alone",
		 SettingChecks::Size<SEND_MAX_BYTES>},
	    {BROADCAST_MAX_BYTES, LogicalType::VARCHAR, Value("67108864"),
		 "Largest side of a join that goes to all tasks, about; 0 hashes both sides wherever that is possible",
		 SettingChecks::Size<BROADCAST_MAX_BYTES>},
	    {EXCHANGE_DIRECTORY, LogicalType::VARCHAR, Value(""),
		 "Folder for exchange files; empty takes the system's temporary folder", SettingChecks::ExchangeDirectory},
	    {EXCHANGE_COMPRESSION, LogicalType::VARCHAR, Value("none"),
		 "How blocks of exchange files are compressed: none or lz4", SettingChecks::ExchangeCompression},
	    // The rest is read by the runner ray, from the plan document.
	    {EXCHANGE_SHARED, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "On Ray: every node sees the exchange directory and the folders COPY writes; false sends exchange files from "
		 "node to node, and the session writes what COPY writes"},
	    {EXCHANGE_MAX_BYTES, LogicalType::VARCHAR, Value("0"),
		 "On Ray: largest size of one query's exchange files written by one node; 0 for no limit",
		 SettingChecks::Size<EXCHANGE_MAX_BYTES>},
	    {WORKER_DIRECTORY, LogicalType::VARCHAR, Value(""),
		 "On Ray: folder on each node for spilling; empty takes the node's temporary folder"},
	    {WORKER_MEMORY_LIMIT, LogicalType::VARCHAR, Value(""),
		 "On Ray: memory limit of DuckDB on each node; empty takes what Ray counts for the node",
		 SettingChecks::MemoryLimit},
	    {WORKER_THREADS, LogicalType::UBIGINT, Value::UBIGINT(0),
		 "On Ray: threads of DuckDB on each node; 0 takes the node's CPUs",
		 SettingChecks::Number<WORKER_THREADS, 0, MOST_THREADS>},
	    {WORKER_MAX_SPILL_BYTES, LogicalType::VARCHAR, Value("0"),
		 "On Ray: largest size of what DuckDB spills on each node; 0 takes DuckDB's own limit",
		 SettingChecks::Size<WORKER_MAX_SPILL_BYTES>},
	    {TASK_ATTEMPTS, LogicalType::UBIGINT, Value::UBIGINT(4),
		 "On Ray: how often a task is tried before its query fails",
		 SettingChecks::Number<TASK_ATTEMPTS, 1, MOST_ATTEMPTS>},
	    {SPECULATION, LogicalType::BOOLEAN, Value::BOOLEAN(false),
		 "On Ray: try a task that takes much longer than its stage's others on a second node too"},
	    {PROGRESS, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "On Ray: show the progress of queries that take longer than two seconds, on standard error"},
	};
}

Value Current(ClientContext &context, const char *name) {
	Value result;
	if (!context.TryGetCurrentSetting(name, result) || result.IsNull()) {
		throw InvalidInputException("Setting \"%s\" has no value; use RESET %s", name, name);
	}
	return result;
}

//! Of a setting that SettingChecks::Size has made a number of.
idx_t Bytes(ClientContext &context, const char *name) {
	return UBigIntValue::Get(Current(context, name).DefaultCastAs(LogicalType::UBIGINT));
}

bool IsSet(ClientContext &context, const char *name) {
	optional_ptr<const ConfigurationOption> option;
	auto index = DBConfig::GetConfig(context).TryGetSettingIndex(Identifier(name), option);
	Value value;
	return index.IsValid() && context.TryGetCurrentUserSetting(index.GetIndex(), value);
}

bool SwitchedOffByEnvironment(const char *variable) {
	auto text = std::getenv(variable);
	if (!text) {
		return false;
	}
	auto value = StringUtil::Lower(text);
	return value == "off" || value == "0" || value == "false" || value == "no";
}

} // namespace

void Settings::Register(ExtensionLoader &loader) {
	auto &config = DBConfig::GetConfig(loader.GetDatabaseInstance());
	for (auto &setting : AllSettings()) {
		config.AddExtensionOption(setting.name, setting.description, setting.type, setting.default_value,
		                          setting.check);
	}
}

bool Settings::LateMaterialization(ClientContext &context) {
	return !SwitchedOffByEnvironment("MERGANSER_LATE_MATERIALIZATION") &&
	       BooleanValue::Get(Current(context, LATE_MATERIALIZATION));
}

idx_t Settings::LateMaterializationMaxRows(ClientContext &context) {
	return UBigIntValue::Get(Current(context, LATE_MATERIALIZATION_MAX_ROWS));
}

idx_t Settings::LateMaterializationMaxChain(ClientContext &context) {
	return UBigIntValue::Get(Current(context, LATE_MATERIALIZATION_MAX_CHAIN));
}

bool Settings::LateMaterializationCost(ClientContext &context) {
	return BooleanValue::Get(Current(context, LATE_MATERIALIZATION_COST));
}

bool Settings::ProveKeys(ClientContext &context) {
	Value value;
	return context.TryGetCurrentSetting(PROVE_KEYS, value) && !value.IsNull() && BooleanValue::Get(value);
}

bool Settings::OrderedWindows(ClientContext &context) {
	return BooleanValue::Get(Current(context, ORDERED_WINDOWS));
}

idx_t Settings::OrderedWindowsMinRows(ClientContext &context) {
	return UBigIntValue::Get(Current(context, ORDERED_WINDOWS_MIN_ROWS));
}

string Settings::Runner(ClientContext &context) {
	return StringValue::Get(Current(context, RUNNER));
}

bool Settings::RunsInThisProcess(ClientContext &context) {
	auto runner = Runner(context);
	return runner.empty() || runner == "local";
}

idx_t Settings::Tasks(ClientContext &context) {
	return UBigIntValue::Get(Current(context, TASKS));
}

idx_t Settings::TaskBytes(ClientContext &context) {
	if (DistributeMinBytes(context) == 0 && !IsSet(context, TASK_BYTES)) {
		return 0;
	}
	return Bytes(context, TASK_BYTES);
}

idx_t Settings::Slots(ClientContext &context) {
	auto slots = AskedSlots(context);
	return slots > 0 ? slots : NumericCast<idx_t>(TaskScheduler::GetScheduler(context).NumberOfThreads());
}

idx_t Settings::AskedSlots(ClientContext &context) {
	return UBigIntValue::Get(Current(context, SLOTS));
}

idx_t Settings::DistributeMinBytes(ClientContext &context) {
	return Bytes(context, DISTRIBUTE_MIN_BYTES);
}

idx_t Settings::SendMaxBytes(ClientContext &context) {
	return Bytes(context, SEND_MAX_BYTES);
}

idx_t Settings::BroadcastMaxBytes(ClientContext &context) {
	return Bytes(context, BROADCAST_MAX_BYTES);
}

string Settings::ExchangeDirectory(ClientContext &context) {
	return StringValue::Get(Current(context, EXCHANGE_DIRECTORY));
}

string Settings::ExchangeCompression(ClientContext &context) {
	return StringValue::Get(Current(context, EXCHANGE_COMPRESSION));
}

bool Settings::ExchangeShared(ClientContext &context) {
	return BooleanValue::Get(Current(context, EXCHANGE_SHARED));
}

} // namespace merganser
