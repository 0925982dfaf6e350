#include "stages/exchange_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <filesystem>
#include <unistd.h>

namespace merganser {

namespace {

//! Attempts at making a folder while other queries remove the one above it.
const idx_t ATTEMPTS = 100;

bool TryMakePrivateFolder(const std::filesystem::path &path, std::error_code &error) {
	if (std::filesystem::create_directory(path, error)) {
		std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
	}
	return !error && std::filesystem::is_directory(path);
}

void MakePrivateFolders(const std::filesystem::path &root, const std::filesystem::path &folder) {
	std::error_code error;
	std::filesystem::create_directories(root.parent_path(), error);
	for (idx_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		error.clear();
		if (TryMakePrivateFolder(root, error) && TryMakePrivateFolder(folder, error)) {
			return;
		}
		if (error != std::errc::no_such_file_or_directory) {
			break;
		}
	}
	throw IOException(
	    "Cannot make the exchange folder \"%s\": %s; SET merganser_exchange_directory to a folder you may "
	    "write to",
	    folder.string(), error.message());
}

std::filesystem::path Root(ClientContext &context) {
	auto directory = Settings::ExchangeDirectory(context);
	auto parent = directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
	return parent / ("merganser-" + std::to_string(getuid()));
}

} // namespace

ExchangeFolder::ExchangeFolder(ClientContext &context) {
	auto root = Root(context);
	auto folder = root / UUID::ToString(UUID::GenerateRandomUUID());
	MakePrivateFolders(root, folder);
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
