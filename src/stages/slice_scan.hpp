//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/slice_scan.hpp
//
//   FROM merganser_slice('read_parquet', [{'filename': '/lake/b.parquet', 'bytes': 4711, 'changed': 1796040000000000,
//                                          'tag': '', 'rows': 122880}], '<what the session knows of the scan>')
//
// Problem: a task reads some of the files of a scan, and must read them as the whole scan does. Columns and types come
// from the first file, or from several, or (union_by_name) from all; types of hive keys from the paths of all. A task
// that looks at its own files finds others; one that looks at all files does work for all of them.
//
// So it is told: names and types, options as the user gave them and as DuckDB settled them, where filename and hive
// keys stand. DuckDB's own reader does the rest, by the way it offers to lake formats (MultiFileReader): it opens the
// files that are listed, in this order, no others, and maps each onto the columns it was given. How text is read
// (delimiter, formats of dates) is found by looking at files: where `sample` is given, at those the session looked
// at, and the columns must turn out as they did there. `rows` is -1 where it is not known.
//
// Every file must be in the version that is listed (file_version.hpp), and Parquet files must have so many rows.
// Sound because what a reader does with a file follows from the file, the options, the columns and, for text, the
// sample, all of which are the session's. Limit: file_index counts the files of the slice, so a scan that uses it is
// not sliced.
//===----------------------------------------------------------------------===//

#pragma once

#include "file_version.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct SliceScan {
	static constexpr const char *NAME = "merganser_slice";

	static void Register(ExtensionLoader &loader);

	//! Whether it reads by this function of DuckDB, and what.
	static bool IsParquet(const string &function);
	static bool IsText(const string &function);
	//! What the session knows of a scan of files, its third argument. `sampled`: the columns are found by looking at
	//! `sample` files.
	static string Describe(const LogicalGet &get, bool sampled);
	//! An element of its second argument.
	static Value FileValue(const FileVersion &version, optional_idx rows);
};

} // namespace merganser
