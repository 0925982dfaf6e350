//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/write_regions.hpp
//
// COPY sensor TO 'folder' (FORMAT merganser_regions, PARTITION_BY (plant, device), ORDER_BY (time), REGIONS 16);
// writes Parquet files region_0.parquet, region_1.parquet, ... that each hold whole partitions, sorted by PARTITION_BY
// and then ORDER_BY, ascending, NULLs last, with that layout in their metadata (recorded_layout.hpp), so that a scan of
// the folder is region-local at once. A partition's region follows from a hash of its columns; a region without rows
// has no file. Options: REGIONS (default: 4 per thread), OVERWRITE and OVERWRITE_OR_IGNORE as for partitioned Parquet,
// and every option of Parquet's own writer (COMPRESSION, ROW_GROUP_SIZE, KV_METADATA, ...). Returns the number of rows.
// All or nothing, one writer at a time (publishing/output_folder.hpp). Files that overwrite others are called
// region_0_<id of the COPY>.parquet, ..., so that a reader of the old ones does not meet the new ones by their names.
// Columns are sorted as the files give them back: ENUM as text, HUGEINT as DOUBLE, what Parquet cannot hold as text.
// Errors: a folder that is not empty, or that another COPY writes; PARTITION_BY missing or empty; unknown columns;
// options that are neither ours nor Parquet's; URLs; APPEND, since two COPYs are not one layout.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct WriteRegions {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
