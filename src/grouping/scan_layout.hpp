//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/scan_layout.hpp
//
// What is known about how a scan's data lies in storage regions: declared by ALTER TABLE|VIEW ... SET PARTITIONED BY /
// SET SORTED BY, recorded in the files by COPY ... (FORMAT merganser_regions), or found in folders and statistics
// (found_layout.hpp). A declared or recorded region is a file; a DuckDB table is one region. Columns are positions
// among all columns the scan could deliver. All of it is verified by whoever uses it (input_verification.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/storage_regions.hpp"
#include "properties/partitioning.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct ScanLayout {
	//! Every region holds whole groups of these columns.
	vector<idx_t> partitioned_by;
	//! Every region is sorted like this; empty if unknown.
	vector<OrderItem> sorted_by;
	//! Recorded in the files by the COPY that wrote them, not only declared.
	bool is_recorded = false;
	//! Where a call or window uses the layout.
	shared_ptr<const StorageRegions> regions;
	//! "declared by view sensor", for messages.
	string source;
	//! What to do when it turns out not to be true.
	string remedy;
};

struct ScanLayouts {
	//! Declared or recorded; false if nothing is.
	static bool TryFind(ClientContext &context, const LogicalGet &get, ScanLayout &result);
};

} // namespace merganser
