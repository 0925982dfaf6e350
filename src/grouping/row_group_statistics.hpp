//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/row_group_statistics.hpp
//
// The bounds of a scan's columns in each of its row groups, from the footers of Parquet files or from a DuckDB table's
// storage.
//
// Only bounds that hold are taken: min_value and max_value of a footer, not the older min and max, whose order is not
// fixed; of text, only those that the writer calls exact, because writers have cut the greatest value short; of types
// whose order is that of their values: integers, dates, timestamps, text. Floating-point columns have NaN, which
// footers leave out; nested ones have no bounds of their own. A bound that does not come back as it was written when it
// is read as the scan's type stands in a column of another type, and is not taken. Where null_count is missing, NULL
// may occur.
//
// Costs: 0.2 to 0.4 ms of CPU a footer, whatever its columns. So footers are read once a statement and column set, of
// at most MOST_FOOTERS files; before all, those of three: files that each have nearly all values (a day of all devices)
// are told from them. The bounds of a table cost a look at each row group's statistics.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/value_ranges.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

class RowGroupStatistics {
public:
	static constexpr idx_t MOST_FOOTERS = 512;

	//! Row groups per column, in the order of `columns` (positions among all columns of the scan); empty where bounds
	//! are not known, then `reason` says why. `context` caches them for the statement.
	static vector<vector<RowGroupRange>> OfFiles(ClientContext &context, const LogicalGet &get,
	                                             const vector<idx_t> &columns, string &reason);
	static vector<vector<RowGroupRange>> OfTable(ClientContext &context, const LogicalGet &get,
	                                             const vector<idx_t> &columns, string &reason);
	//! Whether bounds of this type can be relied on.
	static bool HasOrderedBounds(const LogicalType &type);
	//! How many footers this connection has read for it; for tests.
	static idx_t FootersRead(ClientContext &context);
};

} // namespace merganser
