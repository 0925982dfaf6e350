#include "runners/exchange_folder.hpp"

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

//! Each of `folders` lies in the one before it.
void MakePrivateFolders(const vector<std::filesystem::path> &folders) {
	std::error_code error;
	std::filesystem::create_directories(folders.front().parent_path(), error);
	for (idx_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		error.clear();
		auto made = std::all_of(folders.begin(), folders.end(), [&](const std::filesystem::path &folder) {
			return TryMakePrivateFolder(folder, error);
		});
		if (made) {
			return;
		}
		if (error != std::errc::no_such_file_or_directory) {
			break;
		}
	}
	throw IOException(
	    "Cannot make the exchange folder \"%s\": %s; SET merganser_exchange_directory to a folder you may "
	    "write to",
	    folders.back().string(), error.message());
}

const string &NameOfProcess() {
	static const string name = UUID::ToString(UUID::GenerateRandomUUID());
	return name;
}

std::filesystem::path Root(ClientContext &context) {
	auto directory = Settings::ExchangeDirectory(context);
	auto parent = directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
	return parent / ("merganser-" + std::to_string(getuid()));
}

} // namespace

ExchangeFolder::ExchangeFolder(ClientContext &context) {
	auto root = Root(context);
	auto folder = root / NameOfProcess() / UUID::ToString(UUID::GenerateRandomUUID());
	MakePrivateFolders({root, folder.parent_path(), folder});
	path = folder.string();
}

ExchangeFolder::~ExchangeFolder() {
	std::error_code error;
	std::filesystem::remove_all(path, error);
	// The folders of this process and this user go with their last query; another query's folder inside keeps them.
	auto of_process = std::filesystem::path(path).parent_path();
	std::filesystem::remove(of_process, error);
	std::filesystem::remove(of_process.parent_path(), error);
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
