//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/column_statistics.hpp
//
// What DuckDB knows of a scan's column without reading it: a table's statistics, or those of the files' footers.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"

namespace merganser {

struct ColumnStatistics {
	//! Null where there are none.
	static unique_ptr<BaseStatistics> Of(ClientContext &context, const LogicalGet &get, const ColumnIndex &column);
};

} // namespace merganser
