//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/written_files.hpp
//
// The files that the accepted attempts at the tasks of a COPY wrote, in the order of the tasks: read from the rows of
// the last stage, then given the names they will have.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/task_copy.hpp"

#include "duckdb/common/file_system.hpp"

namespace merganser {

struct WrittenFile {
	//! Where it is.
	string staged;
	//! Where it will be: as the statement returns it, and below the folder.
	string path;
	string relative;
	//! None where its writer does not say.
	optional_idx rows;
	idx_t bytes = 0;
	bool has_rows = false;
	//! The row RETURN_STATS returns.
	vector<Value> statistics;
};

class WrittenFiles {
public:
	explicit WrittenFiles(const TaskCopy &copy);

	//! Rows of the last stage.
	void Add(const DataChunk &list);
	//! After the last row: leaves out files without rows, unless there would be none, and names the others. `suffix`
	//! stands behind the names that DuckDB chooses.
	void Name(FileSystem &file_system, const string &suffix);

	const vector<WrittenFile> &Files() const {
		return files;
	}
	idx_t Rows() const {
		return rows;
	}
	//! What the COPY returns.
	vector<vector<Value>> ReturnedRows() const;

private:
	const TaskCopy &copy;
	vector<WrittenFile> files;
	idx_t rows = 0;

	void LeaveOutEmptyFiles();
	void NameFile(FileSystem &file_system, const string &suffix, WrittenFile &file,
	              unordered_map<string, idx_t> &numbers) const;
};

} // namespace merganser
