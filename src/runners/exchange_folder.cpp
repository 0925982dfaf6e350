#include "runners/exchange_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/file.h>
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

//! A lock on the folder that goes with the process that holds it; -1 if another process has it or there is none.
int TryLock(const std::filesystem::path &folder) {
	auto descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

//! Whether nothing was made in the folder for a day. Locks of other machines are not seen on every file system.
bool IsOld(const std::filesystem::directory_entry &folder) {
	std::error_code error;
	auto written = folder.last_write_time(error);
	return !error && written < std::filesystem::file_time_type::clock::now() - std::chrono::hours(24);
}

void RemoveIfAbandoned(const std::filesystem::directory_entry &folder) {
	auto lock = IsOld(folder) ? TryLock(folder) : -1;
	if (lock >= 0) {
		std::error_code error;
		std::filesystem::remove_all(folder, error);
		close(lock);
	}
}

//! Removes what queries of processes that were killed left behind.
void RemoveAbandonedFolders(const std::filesystem::path &root) {
	std::error_code error;
	for (auto &of_process : std::filesystem::directory_iterator(root, error)) {
		if (!IsOld(of_process)) {
			continue;
		}
		for (auto &of_query : std::filesystem::directory_iterator(of_process, error)) {
			RemoveIfAbandoned(of_query);
		}
		std::filesystem::remove(of_process, error);
	}
}

} // namespace

ExchangeFolder::ExchangeFolder(ClientContext &context) {
	auto root = Root(context);
	static std::once_flag once;
	std::call_once(once, RemoveAbandonedFolders, root);
	auto folder = root / NameOfProcess() / UUID::ToString(UUID::GenerateRandomUUID());
	MakePrivateFolders({root, folder.parent_path(), folder});
	path = folder.string();
	lock = TryLock(folder);
}

ExchangeFolder::~ExchangeFolder() {
	if (lock >= 0) {
		close(lock);
	}
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
