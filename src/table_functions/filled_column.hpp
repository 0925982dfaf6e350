//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/filled_column.hpp
//
// What one column has at the points of a grid of times, from the values it has at other times:
//   Add(rows, times);   KnownUpTo(last);   Fill(point, output, column)   for points that rise;   Clear()
// It keeps its values that are not NULL with their times, from the last one at or before the point filled last on.
// Equal times are one value, the last.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

//! Which of a column's values a grid point takes; see resample.hpp.
enum class FillRule : uint8_t { LAST, NEXT, LINEAR, EXACT };

class FilledColumn {
public:
	virtual ~FilledColumn() = default;

	//! For the input column at position `required` of the rows handed in. Lines are drawn through numbers only.
	//! No value is further from a point than `reach`.
	static unique_ptr<FilledColumn> Make(ClientContext &context, FillRule rule, uint64_t reach, idx_t required,
	                                     const LogicalType &type);
	//! The rule for a column of this type, and the type of what it gives.
	static FillRule RuleFor(FillRule rule, const LogicalType &type);
	static LogicalType TypeFor(FillRule rule, const LogicalType &type);

	virtual void Clear() = 0;
	//! times[i] belongs to position rows.begin + i; they do not go down.
	virtual void Add(const InputRows &rows, const int64_t *times) = 0;
	//! The last point that rows after `last`, the latest time added, cannot change; none while there is none.
	virtual bool TryKnownUpTo(int64_t last, int64_t &point) const = 0;
	//! Sets the output's column for a point not below the one before; leaves it NULL where there is no value.
	virtual void Fill(int64_t point, ProcessorOutput &output, idx_t column) = 0;
};

} // namespace merganser
