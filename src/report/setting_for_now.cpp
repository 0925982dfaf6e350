#include "report/setting_for_now.hpp"

#include "duckdb/main/client_config.hpp"
#include "duckdb/main/config.hpp"

namespace merganser {

namespace {

idx_t IndexOf(ClientContext &context, const string &name) {
	optional_ptr<const ConfigurationOption> option;
	return DBConfig::GetConfig(context).TryGetSettingIndex(Identifier(name), option).GetIndex();
}

} // namespace

SettingForNow::SettingForNow(ClientContext &context, const string &name, Value value)
    : context(context), index(IndexOf(context, name)),
      was_set(ClientConfig::GetConfig(context).user_settings.IsSet(index)) {
	if (was_set) {
		context.TryGetCurrentUserSetting(index, before);
	}
	ClientConfig::GetConfig(context).user_settings.SetUserSetting(index, std::move(value));
}

SettingForNow::~SettingForNow() {
	auto &settings = ClientConfig::GetConfig(context).user_settings;
	if (was_set) {
		settings.SetUserSetting(index, before);
	} else {
		settings.ClearSetting(index);
	}
}

} // namespace merganser
