//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/hold_nothing_back.hpp
//
// Problem: a filter of DuckDB keeps chunks with few rows back, and emits them behind chunks that come later:
//   SESSION <- Filter(time % 7 <> 9) <- SESSION' <- rows 0 .. 9999     the filter emits 2048 .. 4095, ..., then 0 .. 9
// (CachingPhysicalOperator; whether it may is decided by the sink of the pipeline, PhysicalOperator::
// SelectOperatorCachingMode, and a table function is no sink.) So rows between fused calls, or between a region and its
// call, would change their order, partitions would come back, and rows would seem to lie in another region.
//
// The operators between a call and what decides the order of its rows are therefore made to hand on each chunk at once.
// Sound: only filters, projections and table functions with row semantics may stand there. A filter whose
// `caching_supported` is false answers every chunk with the rows that pass (SelectExecutionMode returns RETURN_CHUNK
// while the mode is NONE, and FinalExecute is not called), a projection answers row by row, and so does a function with
// row semantics. Anything else is reported, and the caller must not rely on the order.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

struct HoldNothingBack {
	//! From `top` down to the first operator that is none of the above, which is returned.
	static reference<PhysicalOperator> Downwards(PhysicalOperator &top);
	//! Every filter of the plan from `top` down.
	static void Everywhere(PhysicalOperator &top);
};

} // namespace merganser
