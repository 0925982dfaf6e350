#include "runners/exchange_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

namespace merganser {

namespace {

std::filesystem::path Directory(ClientContext &context) {
	auto directory = Settings::ExchangeDirectory(context);
	return directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
}

} // namespace

ExchangeFolder::ExchangeFolder(ClientContext &context) : of_process(ProcessFolder::In(Directory(context))) {
	path = of_process->MakeFolder(UUID::ToString(UUID::GenerateRandomUUID())).string();
}

ExchangeFolder::~ExchangeFolder() {
	std::error_code error;
	std::filesystem::remove_all(path, error);
}

string ExchangeFolder::MakeFolder(const string &relative) const {
	auto folder = std::filesystem::path(path) / relative;
	std::error_code error;
	std::filesystem::create_directories(folder, error);
	if (error) {
		throw IOException("Cannot make the exchange folder \"%s\": %s", folder.string(), error.message());
	}
	return folder.string();
}

string ExchangeFolder::TaskFile(idx_t stage, idx_t task, idx_t attempt) {
	return MakeFolder("s" + to_string(stage)) + StringUtil::Format("/t%llu-a%llu", task, attempt);
}

string ExchangeFolder::SentFile(idx_t sent) {
	return MakeFolder("sent") + "/" + to_string(sent);
}

} // namespace merganser
