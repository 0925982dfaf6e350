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
// and every option of Parquet's own writer (COMPRESSION, ROW_GROUP_SIZE, ...). Returns the number of rows. All or
// nothing: files are written under temporary names and renamed when all are complete; after a failure they are removed.
// Columns are sorted as the files give them back: ENUM as text, HUGEINT as DOUBLE, what Parquet cannot hold as text.
// Errors: a folder that is not empty; PARTITION_BY missing or empty; unknown columns; APPEND, since two COPYs are not
// one layout.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct WriteRegions {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
