#include "runners/process_folder.hpp"

#include "duckdb/common/types/uuid.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace merganser {

namespace {

namespace fs = std::filesystem;

//! Attempts at making a folder while other processes remove it, or the one above it.
const idx_t ATTEMPTS = 100;
const char *const ELSEWHERE = "SET merganser_exchange_directory to a folder of your own";

//! The same for all processes of this machine until it boots again, and for none of another machine.
const string &Machine() {
	static const string name = []() {
		string boot;
		std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
		return boot.empty() ? string("unknown") : boot.substr(0, 13);
	}();
	return name;
}

[[noreturn]] void ThrowCannotMake(const fs::path &folder, int error) {
	throw IOException("Cannot make the exchange folder \"%s\": %s; %s", folder.string(), strerror(error), ELSEWHERE);
}

//! A folder, opened without following a link; -1 where it is gone.
int OpenFolder(const fs::path &folder) {
	return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

//! The folder of this user, made where there is none.
void RequireOwnFolder(const fs::path &root) {
	if (mkdir(root.c_str(), S_IRWXU) == 0) {
		return;
	}
	if (errno != EEXIST) {
		ThrowCannotMake(root, errno);
	}
	auto descriptor = OpenFolder(root);
	if (descriptor < 0) {
		if (errno == ENOENT) {
			return; // removed by the last query of another process: what is made in it says so
		}
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

//! A lock on the folder that ends with this process; -1 if another process has it, or the folder is gone.
int TryLock(const fs::path &folder) {
	auto descriptor = OpenFolder(folder);
	if (descriptor < 0) {
		return -1;
	}
	struct stat locked;
	struct stat named;
	auto is_there = flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fstat(descriptor, &locked) == 0 &&
	                lstat(folder.c_str(), &named) == 0 && locked.st_ino == named.st_ino;
	if (!is_there) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

bool IsOfThisMachine(const fs::path &folder) {
	return StringUtil::StartsWith(folder.filename().string(), Machine() + "-");
}

//! Whether nothing was made in the folder, or in those in it, for a day.
bool IsOld(const fs::path &folder) {
	auto day_ago = fs::file_time_type::clock::now() - std::chrono::hours(24);
	std::error_code error;
	auto written = fs::last_write_time(folder, error);
	if (error || written >= day_ago) {
		return false;
	}
	for (auto &inside : fs::directory_iterator(folder, error)) {
		written = inside.last_write_time(error);
		if (error || written >= day_ago) {
			return false;
		}
	}
	return !error;
}

//! Removes what processes that were killed left behind. Others may be removing the same.
void RemoveAbandonedFolders(const fs::path &root) {
	std::error_code error;
	for (auto &folder : fs::directory_iterator(root, error)) {
		auto lock = IsOfThisMachine(folder) || IsOld(folder) ? TryLock(folder) : -1;
		if (lock >= 0) {
			fs::remove_all(folder, error);
			close(lock);
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

ProcessFolder::ProcessFolder(const fs::path &directory) : root(directory / ("merganser-" + to_string(geteuid()))) {
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
	path = root / (Machine() + "-" + UUID::ToString(UUID::GenerateRandomUUID()));
	if (mkdir(path.c_str(), S_IRWXU) != 0) {
		if (errno == ENOENT) {
			return false;
		}
		ThrowCannotMake(path, errno);
	}
	descriptor = TryLock(path);
	return descriptor >= 0;
}

ProcessFolder::~ProcessFolder() {
	rmdir(path.c_str());
	close(descriptor);
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
