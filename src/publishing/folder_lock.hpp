//===----------------------------------------------------------------------===//
//                         Merganser
//
// publishing/folder_lock.hpp
//
// Whose a folder is: of the process that holds its lock (flock on the folder itself), which ends with the process,
// however it ends. Who takes the lock of a folder he did not make knows that its owner is dead, and may remove it.
// A folder may be removed between mkdir and the lock; then the lock is not held, and its maker starts again.
// Limit: locks of another machine need not be seen on storage that machines share; so names, or a file in the folder,
// say which machine made it (Machine), and what another one made is taken for abandoned only when it is old (IsOld).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include <filesystem>

namespace merganser {

class FolderLock {
public:
	//! Not held.
	FolderLock() = default;
	~FolderLock();
	FolderLock(FolderLock &&other) noexcept;
	FolderLock &operator=(FolderLock &&other) noexcept;
	FolderLock(const FolderLock &) = delete;

	//! Not held where another process has it, or there is no such folder; links are not followed.
	//! IOException where no more files can be opened.
	static FolderLock Try(const std::filesystem::path &folder);
	//! Of a folder that was just made, which is removed after an error.
	static FolderLock TryNew(const std::filesystem::path &folder);
	bool IsHeld() const {
		return descriptor >= 0;
	}

	//! The same for all processes of this machine until it boots again, and for none of another machine.
	static const string &Machine();
	//! Whether nothing was made in the folder, or in the folders in it, for a day.
	static bool IsOld(const std::filesystem::path &folder);

private:
	int descriptor = -1;
};

} // namespace merganser
