#include "settings.hpp"

#include "duckdb/main/config.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

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

} // namespace merganser
