//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/shapes/bounded_top_n.hpp
//
// The shape of a report that shows its first rows:
//   Limit <- Projection* <- Order <- Projection* <- [Filter = HAVING] <- Aggregate
// The narrow plan sorts and cuts its own rows before the join-back, so that a few rows are fetched.
//
// Sound because: the narrow plan keeps LIMIT + OFFSET rows under the query's own order, computed from retained columns
// and aggregates only; that commutes with a join that returns each row once. The outer Order and Limit stay and select
// from those rows, so ties are decided once.
// Limits: the bound is a constant of at most merganser_late_materialization_max_rows rows; nothing else stands in
// between. What is beyond is every_group.hpp's.
// Source: Carey and Kossmann, "On saying Enough already" (SIGMOD 1997) for a bound below a join.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/aggregate_shape.hpp"
#include "late_materialization/decline_reason.hpp"

namespace merganser {

struct BoundedTopN {
	//! Matches the aggregate owned by `owner` under its ancestors; on failure returns false and says why. Leaves out
	//! what is displayed.
	static bool TryMatch(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner, idx_t max_rows,
	                     AggregateShape &result, DeclineReason &reason);
};

} // namespace merganser
