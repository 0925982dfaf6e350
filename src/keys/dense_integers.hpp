//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/dense_integers.hpp
//
// Whether the integers of a column lie so close together that a bit for each value from the least to the greatest takes
// no more memory than a hash table of them: what statistics say.
// A statistic may be wrong where a file's footer is; whoever reserves the bits has to do without them for other values.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"

namespace merganser {

struct DenseIntegers {
	//! The least value, cast to BIGINT as its bits are, and how many there are from it to the greatest.
	int64_t least = 0;
	idx_t range = 0;

	//! Nothing where the statistics do not tell, or the values lie too far apart for `rows` of them.
	static optional<DenseIntegers> Of(optional_ptr<const BaseStatistics> statistics, idx_t rows);
	//! Those of a scan's column, by its statistics as they are now.
	static optional<DenseIntegers> In(ClientContext &context, const LogicalGet &get, const ColumnIndex &column);
};

} // namespace merganser
