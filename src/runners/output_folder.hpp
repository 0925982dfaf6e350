//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/output_folder.hpp
//
//   COPY (SELECT ...) TO 'orders' (FORMAT parquet, PER_THREAD_OUTPUT);
//
// Problem: a folder that many tasks write must appear all or nothing. The tasks write to a staging folder, for its
// owner only, beside the target, `.orders.<random>`, or inside it, `orders/.merganser-<random>`, where the target is a
// mount point or the folder above it may not be written to. When all have ended, Publish gives the files their names:
//   no target yet            one rename
//   OVERWRITE                the new folder and the old one are exchanged: one rename where the system can, else two
//   an empty folder, APPEND, OVERWRITE_OR_IGNORE   file by file, the manifest last; undone where one of them fails
// The staging folder is renamed before it is removed, so that a task that still runs finds it gone. What DuckDB refuses
// (a folder that is not empty, a file in its place) is refused before the tasks start, and again when they have ended.
// Errors: IOException, as DuckDB words it. Limit: a process that is killed leaves the staging folder.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/enums/copy_overwrite_mode.hpp"

#include <filesystem>

namespace merganser {

struct TaskCopy;

//! A file in the staging folder, and its path below the target.
struct StagedFile {
	string staged;
	string relative;
};

class OutputFolder {
public:
	static string ChooseStaging(const string &folder, bool &is_inside);

	//! Makes the staging folder.
	explicit OutputFolder(const TaskCopy &copy);
	//! Removes it with what is left in it.
	~OutputFolder();
	OutputFolder(const OutputFolder &) = delete;

	//! All of `files` and the manifest, a file of that name and text, become the target, or none.
	void Publish(const vector<StagedFile> &files, const string &manifest_name, const string &manifest);

private:
	const std::filesystem::path target;
	const std::filesystem::path staging;
	const bool staging_is_inside;
	const CopyOverwriteMode mode;
	const string name;

	vector<std::filesystem::path> ExistingFiles() const;
	void CheckTarget() const;
	void PutInPlace(const vector<StagedFile> &files);
	void MoveIntoTarget(const vector<StagedFile> &files);
};

} // namespace merganser
