//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/storage_regions.hpp
//
// The regions of a scan. A region is a file; where the scan partitions by hive directories
//   plant=p1/a.parquet, plant=p1/b.parquet, plant=p2/a.parquet      two regions
// it is a directory with all its files, because that is what such folders promise to hold together. A scan of anything
// else, a DuckDB table say, is one region. Files that DuckDB pruned by their directory or name are not among them.
// A region that was found (found_layout.hpp) is a list of parts, read one after the other: some files, or a table, of
// which only the rows that pass a filter belong to the region.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/open_file_info.hpp"
#include "duckdb/function/function.hpp"
#include "duckdb/planner/expression.hpp"

namespace merganser {

class StorageRegions {
public:
	//! Some files, or the scan's table where there are none.
	struct Part {
		vector<OpenFileInfo> files;
		//! On the filtered column, as position 0; null: all rows.
		unique_ptr<Expression> filter;
	};

	//! `whole_files`: the layout is recorded in the files, so that each of them is a region wherever it lies.
	StorageRegions(optional_ptr<FunctionData> scan, bool whole_files);
	//! `filtered`: which of all columns of the scan the parts' filters are on. `rows`: about how many each region has;
	//! empty where their bytes are to be compared.
	StorageRegions(vector<vector<Part>> parts, optional_idx filtered, vector<idx_t> rows);

	idx_t Count() const {
		return parts.size();
	}
	const vector<Part> &Parts(idx_t region) const {
		return parts[region];
	}
	optional_idx FilteredColumn() const {
		return filtered;
	}
	//! Every region is one file, or no file at all: one sorted stream.
	bool AreSingleFiles() const;
	//! The file, or the directory of several; `table` where there are none. With the values it has, where others have
	//! other values of the same file or table.
	string Name(idx_t region, const string &table, const vector<string> &columns) const;
	//! Which part of all bytes lies in the largest region: how far threads that take whole regions can help. Regions
	//! whose size cannot be told without a request to a server count alike.
	double LargestShare(ClientContext &context) const;

private:
	double LargestShareOfRows() const;

	//! Per region.
	vector<vector<Part>> parts;
	optional_idx filtered;
	vector<idx_t> rows;
};

} // namespace merganser
