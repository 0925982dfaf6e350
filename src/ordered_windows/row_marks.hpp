//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/row_marks.hpp
//
// One bit a row, set where something starts; grows with the rows. Taken from DuckDB's buffer manager.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/allocator.hpp"

namespace merganser {

class RowMarks {
public:
	explicit RowMarks(Allocator &allocator);

	//! Makes room, unmarked, for rows up to `count`.
	void Reserve(idx_t count);
	void Set(idx_t row) {
		mask.SetValidUnsafe(row);
	}
	//! A mask of the first `count` rows that refers to these marks.
	ValidityMask Mask(idx_t count);

private:
	Allocator &allocator;
	AllocatedData memory;
	idx_t capacity = 0;
	ValidityMask mask;
};

} // namespace merganser
