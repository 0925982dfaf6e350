//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/process_folder.hpp
//
// The folder of this process in an exchange directory: <directory>/merganser-<user id>/<machine>-<random>, for its
// owner only (mode 0700). It is there while a query of this process uses it.
//
// Problem: processes share a directory, one may be killed, and what it left must go without harm to the others.
// So a folder belongs to the process that holds its lock (flock on the folder, which ends with the process, however it
// ends). Who makes a folder of his own first removes those whose lock is free.
//   The name of a locked folder cannot be taken from it: only the holder of its lock removes a folder. Between mkdir
//   and flock another process may remove the new folder; then a new one is made.
//   Locks of another machine need not be seen on storage that machines share. The name says on which machine, and
//   since which boot of it, a folder was made; one of elsewhere is removed only when nothing was made in it for a day.
// Folders another user made, links, and what is no folder are refused: rows would lie where others read or swap them.
// Errors: IOException that names the folder and what to do.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include <filesystem>

namespace merganser {

class ProcessFolder {
public:
	//! The one of this process in `directory`, made where no query uses it now.
	static shared_ptr<ProcessFolder> In(const std::filesystem::path &directory);

	explicit ProcessFolder(const std::filesystem::path &directory);
	//! Removes it where it is empty, and then the folder of the user.
	~ProcessFolder();
	ProcessFolder(const ProcessFolder &) = delete;

	//! A new folder in it.
	std::filesystem::path MakeFolder(const string &name) const;

private:
	const std::filesystem::path root;
	std::filesystem::path path;
	//! Holds the lock.
	int descriptor = -1;

	bool TryMake();
};

} // namespace merganser
