//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/sliced_files.hpp
//
//   SELECT g, count(*) FROM 'lake/*.parquet' GROUP BY g
//
// Problem: the tasks of a stage divide one scan, on machines and at times of their own. Given the pattern, a task finds
// what is there then, in a folder of its own where the path is relative.
//
// The session lists the files once: absolute paths in DuckDB's order, each with its version (file_version.hpp). Parquet
// files are cut by file and row group, several CSV or JSON files by file. A slice is
//   SELECT * FROM merganser_slice('read_parquet', [{'filename': '/lake/a.parquet', ...}], ...)
//   WHERE file_row_number BETWEEN 0 AND 122879
// which opens only that file and reads only those row groups (slice_scan.hpp). More files than a few are a variable of
// the task's connection, which has the files of the task and no others, so that a task's part of planning is as large
// as its part of the files.
//
// Sound because slices are disjoint, complete and in the order of the scan, and each is read as the whole scan reads
// it. The session reads, and sends, what a task could not read in this way: encrypted files, whose keys stay in the
// session; pipes; CSV rejects; files given with options of their own; the virtual column file_index; filename of
// a relative path, and hive keys where the path that became absolute has other ones.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct SlicedFiles {
	//! Whether the scan is of a kind that can be sliced.
	static bool MaySlice(const LogicalGet &get);
	//! The files of a scan that may be sliced.
	static vector<OpenFileInfo> Files(const LogicalGet &get);
	//! Files and rows of the scan, or nothing where it cannot be sliced.
	static unique_ptr<SlicedScan> TrySlice(ClientContext &context, const LogicalGet &get);
	//! Name of the relation that stands for this scan in the SQL of its stage.
	static string Relation(const LogicalGet &get);
	//! From now on the scan is exported as a read of that relation.
	static void ReadSlice(LogicalGet &get);
};

} // namespace merganser
