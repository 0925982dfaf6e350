#include "settings.hpp"

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
};

const char *const LATE_MATERIALIZATION = "merganser_late_materialization";
const char *const LATE_MATERIALIZATION_MAX_ROWS = "merganser_late_materialization_max_rows";
const char *const LATE_MATERIALIZATION_MAX_CHAIN = "merganser_late_materialization_max_chain";
const char *const LATE_MATERIALIZATION_COST = "merganser_late_materialization_cost";
const char *const RUNNER = "merganser_runner";
const char *const TASKS = "merganser_tasks";
const char *const SLOTS = "merganser_slots";
const char *const DISTRIBUTE_MIN_BYTES = "merganser_distribute_min_bytes";
const char *const BROADCAST_MAX_BYTES = "merganser_broadcast_max_bytes";
const char *const EXCHANGE_DIRECTORY = "merganser_exchange_directory";

vector<Setting> AllSettings() {
	return {
	    {LATE_MATERIALIZATION, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Rewrite bounded top-N aggregates to group by the key alone and fetch determined columns afterwards"},
	    {LATE_MATERIALIZATION_MAX_ROWS, LogicalType::UBIGINT, Value::UBIGINT(10000),
		 "Largest LIMIT + OFFSET for which late materialization is considered"},
	    {LATE_MATERIALIZATION_MAX_CHAIN, LogicalType::UBIGINT, Value::UBIGINT(4),
		 "Largest number of tables a late materialization may fetch columns from"},
	    {LATE_MATERIALIZATION_COST, LogicalType::BOOLEAN, Value::BOOLEAN(true),
		 "Decline late materialization where it is estimated not to pay; off rewrites wherever it is sound"},
	    {RUNNER, LogicalType::VARCHAR, Value(""),
		 "What runs queries in stages: local (threads of this process), ray, or empty for DuckDB alone"},
	    {TASKS, LogicalType::UBIGINT, Value::UBIGINT(8), "Number of tasks a stage is divided into"},
	    {SLOTS, LogicalType::UBIGINT, Value::UBIGINT(0),
		 "Number of tasks that run at the same time; 0 takes the setting threads, on Ray the cluster's CPUs"},
	    {DISTRIBUTE_MIN_BYTES, LogicalType::UBIGINT, Value::UBIGINT(idx_t(256) << 20),
		 "Queries that read less than this, about, run in DuckDB alone; 0 always runs in stages"},
	    {BROADCAST_MAX_BYTES, LogicalType::UBIGINT, Value::UBIGINT(idx_t(64) << 20),
		 "Largest side of a join that goes to all tasks, about; 0 hashes both sides wherever that is possible"},
	    {EXCHANGE_DIRECTORY, LogicalType::VARCHAR, Value(""),
		 "Folder for exchange files; empty takes the system's temporary folder"},
	};
}

Value Current(ClientContext &context, const char *name) {
	Value result;
	if (!context.TryGetCurrentSetting(name, result) || result.IsNull()) {
		throw InvalidInputException("Setting \"%s\" has no value; use RESET %s", name, name);
	}
	return result;
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
		config.AddExtensionOption(setting.name, setting.description, setting.type, setting.default_value);
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

string Settings::Runner(ClientContext &context) {
	return StringValue::Get(Current(context, RUNNER));
}

idx_t Settings::Tasks(ClientContext &context) {
	auto tasks = UBigIntValue::Get(Current(context, TASKS));
	if (tasks < 1 || tasks > 65536) {
		throw InvalidInputException("Setting \"%s\" must be from 1 to 65536, not %llu", TASKS, tasks);
	}
	return tasks;
}

idx_t Settings::Slots(ClientContext &context) {
	auto slots = AskedSlots(context);
	return slots > 0 ? slots : NumericCast<idx_t>(TaskScheduler::GetScheduler(context).NumberOfThreads());
}

idx_t Settings::AskedSlots(ClientContext &context) {
	return UBigIntValue::Get(Current(context, SLOTS));
}

idx_t Settings::DistributeMinBytes(ClientContext &context) {
	return UBigIntValue::Get(Current(context, DISTRIBUTE_MIN_BYTES));
}

idx_t Settings::BroadcastMaxBytes(ClientContext &context) {
	return UBigIntValue::Get(Current(context, BROADCAST_MAX_BYTES));
}

string Settings::ExchangeDirectory(ClientContext &context) {
	return StringValue::Get(Current(context, EXCHANGE_DIRECTORY));
}

} // namespace merganser
