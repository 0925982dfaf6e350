//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/column_width.hpp
//
// How many bytes a column adds to each row that carries it. DuckDB keeps no average string length, so strings, blobs
// and nested values count with fixed guesses; they only have to be of the right order.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ColumnWidth {
	//! Bytes per row.
	static idx_t Of(const LogicalType &type);
	//! Whether values live outside the row's fixed part, so that joins and aggregates pay per value.
	static bool IsWide(const LogicalType &type);
};

} // namespace merganser
