#include "stages/exchange_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <filesystem>
#include <unistd.h>

namespace merganser {

namespace {

void MakePrivateFolder(const std::filesystem::path &path) {
	std::error_code error;
	std::filesystem::create_directories(path.parent_path(), error);
	if (std::filesystem::create_directory(path, error)) {
		std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
	}
	if (error || !std::filesystem::is_directory(path)) {
		throw IOException("Cannot make the exchange folder \"%s\": %s; SET merganser_exchange_directory to a folder you "
		                  "may write to",
		                  path.string(), error.message());
	}
}

std::filesystem::path Root(ClientContext &context) {
	auto directory = Settings::ExchangeDirectory(context);
	auto parent = directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
	return parent / ("merganser-" + std::to_string(getuid()));
}

} // namespace

ExchangeFolder::ExchangeFolder(ClientContext &context) {
	auto root = Root(context);
	MakePrivateFolder(root);
	auto folder = root / UUID::ToString(UUID::GenerateRandomUUID());
	MakePrivateFolder(folder);
	path = folder.string();
}

ExchangeFolder::~ExchangeFolder() {
	std::error_code error;
	std::filesystem::remove_all(path, error);
	// The folder of this user goes with its last query; another query's folder inside keeps it.
	std::filesystem::remove(std::filesystem::path(path).parent_path(), error);
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

string ExchangeFolder::TaskFile(idx_t stage, idx_t attempt, idx_t task) {
	return MakeFolder(StringUtil::Format("s%llu/a%llu", stage, attempt)) + "/t" + to_string(task);
}

string ExchangeFolder::SentFile(idx_t sent) {
	return MakeFolder("sent") + "/" + to_string(sent);
}

} // namespace merganser
