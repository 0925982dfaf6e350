//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/carried_value.hpp
//
// Problem: the last value that was measured, of every row, is the usual way to fill gaps,
//   last_value(v IGNORE NULLS) OVER (PARTITION BY device ORDER BY time)
// and DuckDB's executor collects all rows and searches a bit mask backwards for each. Going through the rows in order,
// the value is the one of this row, or the one carried on from the row before:
//   v [NULL, 1, NULL | NULL, 2]   becomes   [NULL, 1, 1 | NULL, 2]        | begins a partition
//
// Sound for frames that begin with the partition and end with the current row, with nothing excluded. RANGE and GROUPS,
// RANGE being the default, end with the current row's last peer, which is the current row itself where no two rows of a
// batch tie; partition_batch.hpp asks for that, batch by batch, and has DuckDB compute a batch in which rows tie.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/planner/expression/bound_window_expression.hpp"

namespace merganser {

class CarriedValue {
public:
	//! Null where the function is another one. `no_ties`: no two rows of a partition agree in the function's ORDER BY.
	static unique_ptr<CarriedValue> TryMake(ClientContext &context, const BoundWindowExpression &function,
	                                        bool no_ties);

	//! The values for the rows of the next chunk, which begins at row `position` of `partition_starts`.
	void Evaluate(DataChunk &chunk, const ValidityMask &partition_starts, idx_t position, Vector &result);

private:
	CarriedValue(ClientContext &context, const BoundWindowExpression &function);
	//! Per row, the row of the chunk whose value it has, or one of the two below.
	void FindSources(const UnifiedVectorFormat &format, const ValidityMask &partition_starts, idx_t position,
	                 idx_t count);

	static constexpr sel_t CARRIED = STANDARD_VECTOR_SIZE;
	static constexpr sel_t NOTHING = STANDARD_VECTOR_SIZE + 1;

	ExpressionExecutor expressions;
	DataChunk argument;
	SelectionVector sources;
	//! The last value of the chunk before; none at its end is NULL.
	Vector carried;
};

} // namespace merganser
