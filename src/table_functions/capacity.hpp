//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/capacity.hpp
//
// CAPACITY(DATA, SIZE, SLIDE => SIZE): windows of SIZE rows, a new one every SLIDE rows.
//   SELECT * FROM CAPACITY(DATA => TABLE(bid) PARTITION BY stock ORDER BY time, SIZE => 3, SLIDE => 2)
// Row i of a partition, counted from 0, is emitted once for every window k >= 0 with k * SLIDE <= i < k * SLIDE + SIZE,
// ascending k. Output: window_index BIGINT, then every input column. SLIDE > SIZE leaves rows out; a partition's last
// windows may be short. Holds: nothing. Errors: SIZE and SLIDE that are not positive; more than a million windows per
// row.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct CapacityFunction : public TableFunctionDefinition {
	CapacityFunction();
	unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const override;
};

} // namespace merganser
