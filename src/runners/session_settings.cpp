#include "runners/session_settings.hpp"

#include "duckdb/main/client_config.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/extension_install_info.hpp"
#include "duckdb/main/extension_manager.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

const idx_t LEAST_MEMORY = idx_t(64) << 20;

//! They belong to the process or the client, or would end or show a task otherwise than the session's statement.
bool BelongsToTheProcess(const string &name) {
	static const unordered_set<string> names {"errors_as_json",
	                                          "warnings_as_errors",
	                                          "explain_output",
	                                          "show_behavior",
	                                          "home_directory",
	                                          "extension_directory",
	                                          "autoload_known_extensions",
	                                          "autoinstall_known_extensions",
	                                          "immediate_transaction_mode",
	                                          "max_execution_time",
	                                          "preserve_identifier_case",
	                                          "username",
	                                          "user",
	                                          "password",
	                                          "duckdb_api",
	                                          "custom_user_agent",
	                                          "merganser_runner"};
	return names.count(name) > 0 || StringUtil::StartsWith(name, "python_") || StringUtil::StartsWith(name, "pandas_");
}

bool MayBeCredential(const string &name, bool of_extension) {
	static const unordered_set<string> harmless {"calendar",
	                                             "timezone",
	                                             "binary_as_string",
	                                             "disable_parquet_prefetching",
	                                             "can_have_nan",
	                                             "parquet_can_have_nan",
	                                             "parquet_metadata_cache",
	                                             "parquet_use_page_index",
	                                             "enable_geoparquet_conversion",
	                                             "prefetch_all_parquet_files"};
	if (!of_extension) {
		return StringUtil::StartsWith(name, "http_proxy");
	}
	return harmless.count(name) == 0 && !StringUtil::StartsWith(name, "merganser_");
}

void AddChanged(ClientContext &context, const string &name, vector<pair<string, string>> &result) {
	if (BelongsToTheProcess(StringUtil::Lower(name))) {
		return;
	}
	optional_ptr<const ConfigurationOption> option;
	auto index = DBConfig::GetConfig(context).TryGetSettingIndex(Identifier(name), option);
	Value value;
	if (index.IsValid() && context.TryGetCurrentUserSetting(index.GetIndex(), value)) {
		result.emplace_back(name, value.ToSQLString());
	}
}

//! Its default is that of the machine, and workers may be on others.
void AddOfThisMachine(ClientContext &context, const string &name, vector<pair<string, string>> &result) {
	auto is_there = std::any_of(result.begin(), result.end(), [&](const pair<string, string> &setting) {
		return StringUtil::CIEquals(setting.first, name);
	});
	Value value;
	if (!is_there && context.TryGetCurrentSetting(Identifier(name), value) && !value.IsNull()) {
		result.emplace_back(name, value.ToSQLString());
	}
}

vector<pair<string, string>> AllChanged(ClientContext &context, bool confidential) {
	vector<pair<string, string>> result;
	auto add = [&](const string &name, bool of_extension) {
		if (MayBeCredential(StringUtil::Lower(name), of_extension) == confidential) {
			AddChanged(context, name, result);
		}
	};
	for (idx_t i = 0; i < DBConfig::GetOptionCount(); i++) {
		auto option = DBConfig::GetOptionByIndex(i);
		if (option->scope == SettingScopeTarget::LOCAL_DEFAULT || option->scope == SettingScopeTarget::LOCAL_ONLY ||
		    option->scope == SettingScopeTarget::GLOBAL_DEFAULT) {
			add(option->name, false);
		}
	}
	for (auto &setting : DBConfig::GetConfig(context).GetExtensionSettings()) {
		add(setting.first.GetIdentifierName(), true);
	}
	return result;
}

Value Current(ClientContext &context, const char *name) {
	Value result;
	context.TryGetCurrentSetting(name, result);
	return result;
}

} // namespace

string SessionSettings::Restriction(ClientContext &context) {
	if (!Current(context, "enable_external_access").GetValue<bool>()) {
		return "enable_external_access is off, and stages exchange rows through files";
	}
	if (DatabaseInstance::GetDatabase(context).GetFileSystem().SubSystemIsDisabled("LocalFileSystem")) {
		return "LocalFileSystem is disabled, and stages exchange rows through files";
	}
	auto memory = BufferManager::GetBufferManager(context).GetMaxMemory();
	if (memory < LEAST_MEMORY) {
		return StringUtil::Format("memory_limit, %llu bytes, is too small for what tasks hold of an exchange", memory);
	}
	if (Current(context, "lock_configuration").GetValue<bool>()) {
		return "lock_configuration is on, so that tasks cannot be given the session's settings";
	}
	return string();
}

vector<pair<string, string>> SessionSettings::Changed(ClientContext &context) {
	auto result = AllChanged(context, false);
	for (auto name : {"TimeZone", "Calendar"}) {
		AddOfThisMachine(context, name, result);
	}
	return result;
}

vector<pair<string, string>> SessionSettings::Confidential(ClientContext &context) {
	return AllChanged(context, true);
}

vector<string> SessionSettings::Extensions(ClientContext &context) {
	vector<string> result;
	auto &manager = ExtensionManager::Get(context);
	for (auto &name : manager.GetExtensions()) {
		auto info = manager.GetExtensionInfo(name);
		if (name == "merganser" || !info || !info->is_loaded || !info->install_info ||
		    info->install_info->mode == ExtensionInstallMode::STATICALLY_LINKED) {
			continue;
		}
		result.push_back(name);
	}
	return result;
}

} // namespace merganser
