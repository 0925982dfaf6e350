#include "publishing/folder_lock.hpp"

#include "open_file_limit.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace merganser {

namespace fs = std::filesystem;

FolderLock::~FolderLock() {
	if (descriptor >= 0) {
		close(descriptor);
	}
}

FolderLock::FolderLock(FolderLock &&other) noexcept {
	std::swap(descriptor, other.descriptor);
}

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept {
	std::swap(descriptor, other.descriptor);
	return *this;
}

FolderLock FolderLock::Try(const fs::path &folder) {
	FolderLock result;
	result.descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!result.IsHeld()) {
		OpenFileLimit::ThrowIfReached(errno, folder.string());
	}
	struct stat locked;
	struct stat named;
	// the name may lead to another folder by now
	auto is_named = result.IsHeld() && flock(result.descriptor, LOCK_EX | LOCK_NB) == 0 &&
	                fstat(result.descriptor, &locked) == 0 && lstat(folder.c_str(), &named) == 0 &&
	                locked.st_ino == named.st_ino;
	return is_named ? std::move(result) : FolderLock();
}

FolderLock FolderLock::TryNew(const fs::path &folder) {
	try {
		return Try(folder);
	} catch (const IOException &) {
		rmdir(folder.c_str());
		throw;
	}
}

const string &FolderLock::Machine() {
	static const string name = []() {
		string boot;
		std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
		return boot.empty() ? string("unknown") : boot.substr(0, 13);
	}();
	return name;
}

bool FolderLock::IsOld(const fs::path &folder) {
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

} // namespace merganser
