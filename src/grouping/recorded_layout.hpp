//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/recorded_layout.hpp
//
// The layout that COPY ... (FORMAT merganser_regions) records in the metadata of the Parquet files it writes:
//   merganser_layout -> merganser-regions-1 <id of the COPY> <number of regions>
//   merganser_partition_by, merganser_order_by -> column names, each as a quoted identifier, separated by commas
// A scan knows it when every file it reads carries the same entries; files of two COPYs in one folder are not taken
// together. Limit: expects that whoever moves files around keeps whole files.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/scan_layout.hpp"

namespace merganser {

struct RecordedLayout {
	static bool TryRead(ClientContext &context, const LogicalGet &get, ScanLayout &result);
	//! The entries to write, as name and value.
	static vector<pair<string, string>> Entries(const string &id, const vector<string> &partition_by,
	                                            const vector<string> &order_by);
};

} // namespace merganser
