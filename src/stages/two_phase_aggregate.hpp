//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/two_phase_aggregate.hpp
//
//   SELECT g, avg(x) FROM t GROUP BY g
// becomes
//   SELECT g, finalize(a) FROM (SELECT g, combine_aggr(s) AS a FROM
//     (SELECT g, avg(x) EXPORT_STATE AS s FROM t GROUP BY g) GROUP BY g)
//
// so that each task sends one state for each of its groups instead of its rows. Sound for the functions listed in the
// source: their result is the same however rows are divided. Every other function, DISTINCT and ORDER BY keep their
// rows together.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/function/aggregate_function.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"

namespace merganser {

struct TwoPhaseAggregate {
	static bool IsPossible(const LogicalAggregate &aggregate);
	//! Whether the result of so many arguments depends on the order of the rows, but for the rounding of floating-point
	//! numbers.
	static bool SeesOrder(const BoundAggregateFunction &function, idx_t arguments);
	//! Replaces the aggregate `op` inside the plan `root`. Returns the combining aggregate; its child is the partial
	//! one.
	static reference<LogicalOperator> Split(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &root,
	                                        unique_ptr<LogicalOperator> &op);
};

} // namespace merganser
