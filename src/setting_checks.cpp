#include "setting_checks.hpp"

#include "duckdb/common/set.hpp"
#include "duckdb/common/string_util.hpp"

#include <filesystem>
#include <mutex>

namespace merganser {

namespace {

//! Names that programs in this process have registered (runners/foreign_runner.hpp).
struct KnownRunners {
	std::mutex lock;
	set<string> names {"local"};

	static KnownRunners &Get() {
		static KnownRunners result;
		return result;
	}
};

//! Bytes of a number of bytes, or of text such as '64MB'; none where it is neither.
optional_idx ReadSize(const string &text) {
	if (text.empty() || !StringUtil::CharacterIsDigit(text[0])) {
		return optional_idx();
	}
	if (text.find_first_not_of("0123456789") == string::npos) {
		auto number = Value(text).DefaultTryCastAs(LogicalType::BIGINT);
		return number ? optional_idx(NumericCast<idx_t>(BigIntValue::Get(*number))) : optional_idx();
	}
	idx_t bytes;
	return StringUtil::TryParseFormattedBytes(text, bytes).empty() ? optional_idx(bytes) : optional_idx();
}

void RequireValue(const char *name, const Value &value) {
	if (value.IsNull()) {
		throw InvalidInputException("Setting \"%s\" cannot be NULL; use RESET %s for its default", name, name);
	}
}

} // namespace

void SettingChecks::AllowRunner(const string &name) {
	auto &known = KnownRunners::Get();
	std::lock_guard<std::mutex> guard(known.lock);
	known.names.insert(name);
}

void SettingChecks::Runner(ClientContext &context, SetScope scope, Value &value) {
	RequireValue("merganser_runner", value);
	auto &name = StringValue::Get(value);
	auto &known = KnownRunners::Get();
	std::lock_guard<std::mutex> guard(known.lock);
	if (!name.empty() && !known.names.count(name)) {
		throw InvalidInputException(
		    "Setting \"merganser_runner\" must be 'local', empty, or a runner this process has; '%s' is none. In "
		    "Python, merganser.connect(runner=\"ray\") brings 'ray'",
		    name);
	}
}

void SettingChecks::ExchangeDirectory(ClientContext &context, SetScope scope, Value &value) {
	RequireValue("merganser_exchange_directory", value);
	auto &text = StringValue::Get(value);
	if (text.empty()) {
		return;
	}
	if (text.find("://") != string::npos) {
		throw InvalidInputException("Setting \"merganser_exchange_directory\" must be a folder, and '%s' is a URL: "
		                            "mount the storage and give the folder it is mounted at",
		                            text);
	}
	std::filesystem::path path(text);
	std::error_code error;
	if (!path.is_absolute()) {
		throw InvalidInputException("Setting \"merganser_exchange_directory\" must be a whole path, because tasks run "
		                            "in other folders; '%s' is relative. Did you mean '%s'?",
		                            text, std::filesystem::absolute(path, error).string());
	}
	if (!std::filesystem::is_directory(path, error)) {
		throw InvalidInputException("Setting \"merganser_exchange_directory\": there is no folder '%s'; make it first",
		                            text);
	}
}

void SettingChecks::ExchangeCompression(ClientContext &context, SetScope scope, Value &value) {
	RequireValue("merganser_exchange_compression", value);
	auto name = StringUtil::Lower(StringValue::Get(value));
	if (name != "none" && name != "lz4") {
		throw InvalidInputException("Setting \"merganser_exchange_compression\" must be 'none' or 'lz4', not '%s'",
		                            StringValue::Get(value));
	}
	value = Value(name);
}

void SettingChecks::MemoryLimit(ClientContext &context, SetScope scope, Value &value) {
	RequireValue("merganser_worker_memory_limit", value);
	auto &text = StringValue::Get(value);
	idx_t bytes;
	if (!text.empty() && (!StringUtil::TryParseFormattedBytes(text, bytes).empty() || bytes == 0)) {
		throw InvalidInputException("Setting \"merganser_worker_memory_limit\" must be a size such as '4GB', or empty, "
		                            "not '%s'",
		                            text);
	}
}

void SettingChecks::CheckNumber(const char *name, idx_t least, idx_t most, const Value &value) {
	RequireValue(name, value);
	auto number = UBigIntValue::Get(value);
	if (number < least || number > most) {
		throw InvalidInputException("Setting \"%s\" must be from %llu to %llu, not %llu", name, least, most, number);
	}
}

void SettingChecks::MakeBytes(const char *name, Value &value) {
	RequireValue(name, value);
	auto bytes = ReadSize(StringValue::Get(value));
	if (!bytes.IsValid()) {
		throw InvalidInputException("Setting \"%s\" must be a number of bytes or a size such as '64MB', not '%s'", name,
		                            StringValue::Get(value));
	}
	value = Value(to_string(bytes.GetIndex()));
}

} // namespace merganser
