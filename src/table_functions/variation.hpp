//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/variation.hpp
//
// VARIATION(DATA, COL, DELTA => 0.0, IGNORE_NULL => true): a window goes on while COL stays near the value it began
// with.
//   SELECT * FROM VARIATION(DATA => TABLE(bid) PARTITION BY stock ORDER BY time, COL => 'price', DELTA => 2.0)
// A window's base is the value of its first row, not of the row before. A row begins a new window when |value - base| >
// DELTA, or, with DELTA 0, when value is distinct from base.
// * IGNORE_NULL true: NULLs join the open window; where it has only NULLs so far, the first value joins and becomes the
//   base.
// * IGNORE_NULL false: NULLs and values never share a window; NULLs that follow each other do.
// Output: window_index BIGINT, from 0 in each partition, then every input column.
// COL is TINYINT, SMALLINT, INTEGER, BIGINT, FLOAT or DOUBLE where DELTA is not 0, and any type otherwise. NaN is at an
// infinite distance from numbers and at none from NaN; equal infinities are at none. Holds: nothing, as a row's window
// is known at once. Errors: a negative DELTA, a COL of another type.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct VariationFunction : public TableFunctionDefinition {
	VariationFunction();
	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
