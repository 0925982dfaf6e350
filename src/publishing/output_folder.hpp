//===----------------------------------------------------------------------===//
//                         Merganser
//
// publishing/output_folder.hpp
//
//   COPY (SELECT ...) TO 'orders' (FORMAT parquet, PER_THREAD_OUTPUT);
//   COPY (SELECT ...) TO 'regions' (FORMAT merganser_regions, PARTITION_BY device, OVERWRITE);
//
// Problem: a folder that several threads or tasks write must appear all or nothing, to readers that come at any moment,
// and after a crash. The files are written into a staging folder, for its owner only, beside the target,
// `.orders.merganser/<random>`, or inside it, `orders/.merganser/<random>`, where the target is a mount point or the
// folder above it may not be written to. When all are there, Publish gives them their names:
//   no target yet, or an empty one     one rename
//   OVERWRITE                          the new folder and the old one are exchanged: one rename where the system can,
//                                      else two
//   APPEND, OVERWRITE_OR_IGNORE, staging inside   file by file; undone where one of them fails
// One writer at a time: the folder above the staging folder is locked (folder_lock.hpp); a second writer fails with a
// sentence, and one that comes after a crash removes what is there, first putting back an old folder that a crash
// between the two renames took away.
// A reader that listed the old folder before the exchange finds none of its names after it, as long as the names of the
// new files differ from the old ones: whoever overwrites should see to that. A reader of `**` lists folder by folder;
// one that had opened an old folder, and reads it when its files are removed, would find it empty and miss its rows
// without an error. So where the target has folders, the old ones are kept for a quarter of a second after the
// exchange: who reads them then meets names that are not there any more. The staging folder is renamed before it is
// removed, so that a task that still runs finds it gone. What DuckDB refuses (a folder that is not empty, a file in its
// place) is refused before anything is written, and again at the end.
// Errors: IOException, as DuckDB words it.
// Limits: a reader of `**` that lists the target before the exchange, and the folders in it after it, misses folders
// the target did not have before; one that is held up for longer than the quarter of a second, or that lists folders
// between the two renames of a system without exchange, may miss one that was there. Where files come one by one,
// readers may see some of them, and a killed process leaves them so. The files get their names in the staging folder
// just before the one rename: who reads `**` from above may meet them there. Of two machines that share storage, only
// one may write a folder: locks need not be seen elsewhere. A folder another machine has locked within a day is taken
// for one that is being written.
//===----------------------------------------------------------------------===//

#pragma once

#include "publishing/folder_lock.hpp"

#include "duckdb/common/enums/copy_overwrite_mode.hpp"

namespace merganser {

//! A file in the staging folder, and its path below the target.
struct StagedFile {
	string staged;
	string relative;
};

//! Where a COPY puts its files.
struct OutputTarget {
	//! As the statement names it.
	string folder;
	CopyOverwriteMode mode;
	//! Where the files are until all are there: a folder of this COPY alone, and whether it is inside the target.
	string staging;
	bool staging_is_inside;

	static OutputTarget Choose(const string &folder, CopyOverwriteMode mode);
};

class OutputFolder {
public:
	//! Makes the staging folder, of whose place it is the owner from now on.
	explicit OutputFolder(const OutputTarget &target);
	//! Removes it with what is left in it.
	~OutputFolder();
	OutputFolder(const OutputFolder &) = delete;

	//! Whether the target has files.
	bool HasFiles() const {
		return !ExistingFiles().empty();
	}
	//! All of `files` become the target, or none.
	void Publish(const vector<StagedFile> &files);

private:
	const std::filesystem::path target;
	const std::filesystem::path staging;
	//! The folder above the staging folder, and whose that is.
	const std::filesystem::path place;
	FolderLock ownership;
	const bool staging_is_inside;
	const CopyOverwriteMode mode;
	const string name;

	void TakePlace();
	void RemoveAbandonedPlace() const;
	vector<std::filesystem::path> ExistingFiles() const;
	void CheckTarget() const;
	void PutInPlace(const vector<StagedFile> &files);
	void MoveIntoTarget(const vector<StagedFile> &files);
};

} // namespace merganser
