#include "runners/process_folder.hpp"

#include "open_file_limit.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace merganser {

namespace {

namespace fs = std::filesystem;

//! Attempts at making a folder while other processes remove it, or the one above it.
const idx_t ATTEMPTS = 100;
const char *const ELSEWHERE = "SET merganser_exchange_directory to a folder of your own";

[[noreturn]] void ThrowCannotMake(const fs::path &folder, int error) {
	throw IOException("Cannot make the exchange folder \"%s\": %s; %s", folder.string(), strerror(error), ELSEWHERE);
}

//! The folder of this user, made where there is none.
void RequireOwnFolder(const fs::path &root) {
	if (mkdir(root.c_str(), S_IRWXU) == 0) {
		return;
	}
	if (errno != EEXIST) {
		ThrowCannotMake(root, errno);
	}
	auto descriptor = open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (descriptor < 0) {
		if (errno == ENOENT) {
			return; // removed by the last query of another process: what is made in it says so
		}
		OpenFileLimit::ThrowIfReached(errno, root.string());
		throw IOException("The exchange folder \"%s\" is a link or no folder; remove it, or %s", root.string(),
		                  ELSEWHERE);
	}
	struct stat status;
	auto known = fstat(descriptor, &status) == 0;
	auto own = known && status.st_uid == geteuid();
	auto is_private = own && ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0 || fchmod(descriptor, S_IRWXU) == 0);
	close(descriptor);
	if (!is_private) {
		throw IOException("The exchange folder \"%s\" belongs to another owner (user id %d), who could read and swap "
		                  "what lies in it; have it removed, or %s",
		                  root.string(), known ? static_cast<int>(status.st_uid) : -1, ELSEWHERE);
	}
}

bool IsOfThisMachine(const fs::path &folder) {
	return StringUtil::StartsWith(folder.filename().string(), FolderLock::Machine() + "-");
}

//! Removes what processes that were killed left behind. Others may be removing the same.
void RemoveAbandonedFolders(const fs::path &root) {
	std::error_code error;
	for (auto &folder : fs::directory_iterator(root, error)) {
		if (!IsOfThisMachine(folder) && !FolderLock::IsOld(folder)) {
			continue;
		}
		auto lock = FolderLock::Try(folder);
		if (lock.IsHeld()) {
			fs::remove_all(folder, error);
		}
	}
}

} // namespace

shared_ptr<ProcessFolder> ProcessFolder::In(const fs::path &directory) {
	static std::mutex lock;
	static std::map<fs::path, weak_ptr<ProcessFolder>> in_use;
	std::lock_guard<std::mutex> guard(lock);
	auto &known = in_use[directory];
	auto result = known.lock();
	if (!result) {
		result = make_shared_ptr<ProcessFolder>(directory);
		known = result;
	}
	return result;
}

fs::path ProcessFolder::RootIn(const fs::path &directory) {
	return directory / ("merganser-" + to_string(geteuid()));
}

ProcessFolder::ProcessFolder(const fs::path &directory) : root(RootIn(directory)) {
	std::error_code error;
	fs::create_directories(directory, error);
	if (error) {
		ThrowCannotMake(directory, error.value());
	}
	for (idx_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		RequireOwnFolder(root);
		RemoveAbandonedFolders(root);
		if (TryMake()) {
			return;
		}
	}
	throw IOException("Cannot make a folder in \"%s\": others remove it again and again; %s", root.string(), ELSEWHERE);
}

//! False where the folder, or the one above it, was removed meanwhile.
bool ProcessFolder::TryMake() {
	path = root / (FolderLock::Machine() + "-" + UUID::ToString(UUID::GenerateRandomUUID()));
	if (mkdir(path.c_str(), S_IRWXU) != 0) {
		if (errno == ENOENT) {
			return false;
		}
		ThrowCannotMake(path, errno);
	}
	lock = FolderLock::TryNew(path);
	return lock.IsHeld();
}

ProcessFolder::~ProcessFolder() {
	rmdir(path.c_str());
	rmdir(root.c_str()); // other processes' folders keep it
}

fs::path ProcessFolder::MakeFolder(const string &name) const {
	auto folder = path / name;
	if (mkdir(folder.c_str(), S_IRWXU) != 0) {
		ThrowCannotMake(folder, errno);
	}
	return folder;
}

} // namespace merganser
