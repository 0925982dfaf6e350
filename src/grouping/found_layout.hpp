//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/found_layout.hpp
//
// Problem: most data lies so that partitions are whole, and nobody has declared it:
//   sensor/plant=p1/a.parquet, sensor/plant=p2/b.parquet    PARTITION BY (plant, device): whole partitions in a folder
//   export-0.parquet: device a .. f, export-1.parquet: f .. k   PARTITION BY device: f lies in both, all others in one
//   a table, written device by device                           the same with row groups in place of files
//
// Found for a partition set P, best first:
// * folders: a key of hive folders is in P. Two rows of one partition agree in every such key, and a file's rows have
//   the values of its folders, by construction: DuckDB reads them from the path. So all files that agree in the keys
//   that are in P are one region, wherever they lie, whether or not P has all keys, and however many partitions share a
//   region. Values are compared as the type that DuckDB gives the key (7 and 07 may be one), floating-point ones not at
//   all. This is a proof.
// * ranges of a column in P (value_ranges.hpp), whose borders come from the statistics of row groups
//   (row_group_statistics.hpp). Two rows of one partition agree in that column, so they lie in one range. Where files
//   or tables are cut at a border, each region reads its rows by value, which is a proof; files that lie between two
//   borders are read as they are, which rests on statistics that are bounds by their format.
// Nothing is known of the order inside a region: it is tried, and a region that is out of order is sorted before one of
// its rows is handed on (region_sort.hpp). A view the query does not name is not looked at. Rows of a region come in
// the order of the scan's files, so that calls without ORDER BY get those of a partition as they are produced.
//
// What may go wrong: statistics that are wrong, or files that change after planning, may split a partition. It is
// verified as in every region, and then is an error that names both files. No row is lost or read twice in any case.
// Costs: nothing is looked for where fewer rows than merganser_ordered_windows_min_rows are expected; footers are read
// only where each stands for FOOTER_ROWS rows, as reading one takes about as long as sorting 3,000 to 5,000; where the
// setting is 0, neither is weighed.
// Limits: Parquet files read by read_parquet; the first three columns of P that have bounds.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/scan_layout.hpp"

#include "duckdb/common/set.hpp"

namespace merganser {

struct FoundLayout {
	static constexpr idx_t FOOTER_ROWS = 20000;

	//! `partition`: positions among all columns of the scan. False, with the reason, if nothing is found.
	static bool TryFind(ClientContext &context, const LogicalGet &get, const set<idx_t> &partition, ScanLayout &result,
	                    string &reason);
};

} // namespace merganser
