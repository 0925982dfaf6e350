//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/storage_regions.hpp
//
// The regions of a scan. A region is a file; where the scan partitions by hive directories
//   plant=p1/a.parquet, plant=p1/b.parquet, plant=p2/a.parquet      two regions
// it is a directory with all its files, because that is what such folders promise to hold together. A scan of anything
// else, a DuckDB table say, is one region. Files that DuckDB pruned by their directory or name are not among them.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/open_file_info.hpp"
#include "duckdb/function/function.hpp"

namespace merganser {

class StorageRegions {
public:
	//! `whole_files`: the layout is recorded in the files, so that each of them is a region wherever it lies.
	StorageRegions(optional_ptr<FunctionData> scan, bool whole_files);

	idx_t Count() const {
		return files.empty() ? 1 : files.size();
	}
	bool IsFiles() const {
		return !files.empty();
	}
	const vector<OpenFileInfo> &Files(idx_t region) const {
		return files[region];
	}
	//! Every region is one file, or no file at all: one sorted stream.
	bool AreSingleFiles() const;
	//! The file, or the directory of several.
	string Name(idx_t region) const;
	//! Which part of all bytes lies in the largest region: how far threads that take whole regions can help. Regions
	//! whose size cannot be told without a request to a server count alike.
	double LargestShare(ClientContext &context) const;

private:
	vector<vector<OpenFileInfo>> files;
};

} // namespace merganser
