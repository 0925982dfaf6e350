//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/copy_manifest.hpp
//
// What a COPY by tasks leaves beside its files: `_manifest.merganser`, of APPEND `_manifest_<random>.merganser`, one
// JSON object about the files of that COPY,
//
//   { "format": "parquet", "columns": [{"name": "g", "type": "BIGINT"}, ...], "partition_by": ["g"],
//     "rows": 100, "bytes": 3456, "files": [{"path": "g=0/data_0.parquet", "rows": 34, "bytes": 1152}, ...] }
//
// with paths below its folder. It appears with the last file, or with all of them. The name ends so that a glob of the
// files' own ending never meets it. "rows" of a file is null where its writer does not count: in CSV and JSON, where a
// task wrote several.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/written_files.hpp"

namespace merganser {

struct CopyManifest {
	//! Into the staging folder. Throws IOException.
	static StagedFile Write(const TaskCopy &copy, const vector<WrittenFile> &files, idx_t rows);
};

} // namespace merganser
