//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/process_folder.hpp
//
// The folder of this process in an exchange directory: <directory>/merganser-<user id>/<machine>-<random>, for its
// owner only (mode 0700). It is there while a query of this process uses it.
//
// Problem: processes share a directory, one may be killed, and what it left must go without harm to the others.
// So each locks its folder (publishing/folder_lock.hpp), and who makes one first removes those whose lock is free: of
// this machine, by the name, at once; of another, whose locks need not be seen here, a day after their last use.
// Folders another user made, links, and what is no folder are refused: rows would lie where others read or swap them.
// Errors: IOException that names the folder and what to do.
//===----------------------------------------------------------------------===//

#pragma once

#include "publishing/folder_lock.hpp"

namespace merganser {

class ProcessFolder {
public:
	//! The folder of this user in `directory`, which holds those of processes.
	static std::filesystem::path RootIn(const std::filesystem::path &directory);
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
	FolderLock lock;

	bool TryMake();
};

} // namespace merganser
