//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/task_copy.hpp
//
//   COPY (SELECT ...) TO 'orders' (FORMAT parquet, PARTITION_BY (o_year));
//
// Problem: rows that many tasks computed went through the session, which alone wrote the files. Where the target is a
// folder, the tasks of the last stage write it: each task its own files, in a folder nobody reads
// (publishing/output_folder.hpp); the session then gives them their names, once all tasks have ended.
//
// Rows of one partition of PARTITION_BY come to one task (StagePlanner::Plan), so that a hive folder has the files that
// DuckDB alone would write and not some of every task. Of FILE_SIZE_BYTES and ROW_GROUPS_PER_FILE there are at most as
// many tasks as files of that size, by DuckDB's estimate of the rows: more would write smaller files only.
//
// Sound because DuckDB promises no order between files of PER_THREAD_OUTPUT and PARTITION_BY, and where FILE_SIZE_BYTES
// or ROW_GROUPS_PER_FILE number the files in the order of ORDER BY, the tasks of the last stage have consecutive ranges
// of it: files are numbered task by task. Limits: the last file of each task is smaller than asked for; where types
// cannot be hashed (VARIANT, GEOMETRY), a hive folder has a file of each task that has rows of it.
//===----------------------------------------------------------------------===//

#pragma once

#include "publishing/output_folder.hpp"
#include "stages/stage.hpp"

#include "duckdb/common/filename_pattern.hpp"
#include "duckdb/planner/operator/logical_copy_to_file.hpp"

namespace merganser {

//! What is known about a COPY whose files the tasks write.
struct TaskCopy {
	TaskCopy(ClientContext &context, const LogicalCopyToFile &copy);

	//! Why the session writes the files of this COPY itself; empty where the tasks can.
	static string WhyNot(ClientContext &context, const LogicalCopyToFile &copy);
	//! From now on the tasks of the last stage write their rows as files and return the list of these.
	void WriteRowsOf(QueryStages &query) const;

	OutputTarget target;
	FilenamePattern filename_pattern;
	//! data_0, data_1, ...
	bool has_default_names;
	string file_extension;
	//! What the statement returns.
	CopyFunctionReturnType return_type;
	//! What the COPY of a task returns: of each file its statistics, or the list of files only.
	CopyFunctionReturnType list_type;
	//! "parquet", "csv", "json"
	string format;
	vector<Identifier> names;
	vector<LogicalType> types;
	vector<string> partition_by;
	//! Columns of the query: of JSON those inside the objects.
	child_list_t<LogicalType> columns;

private:
	//! Options of the COPY that writes the files of a task.
	string write;
	//! Of FILE_SIZE_BYTES and ROW_GROUPS_PER_FILE, where they divide all rows.
	optional_idx most_bytes_of_file;
	optional_idx most_rows_of_file;

	void LimitTasks(const QueryStages &query) const;
};

} // namespace merganser
