//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/sliced_files.hpp
//
// Problem: the tasks of a stage divide one scan. Parquet files are cut by file and row group: a slice is the whole scan
// with
//   WHERE filename = 'a.parquet' AND file_row_number BETWEEN 0 AND 122879
// which DuckDB answers by opening only that file and reading only those row groups. The list of files stays whole, so
// that the schema is the same in every task; a long one is a variable of the task's connection, written once for the
// query, and slices select from it by position:
//   FROM read_parquet(getvariable('merganser_files_3_1'))
//   WHERE list_position(getvariable('merganser_files_3_1')[1:500], filename) IS NOT NULL
// Several CSV or JSON files are cut by file. Limits: not with columns of the names filename and file_row_number, not
// with virtual columns.
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
