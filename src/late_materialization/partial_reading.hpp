//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/partial_reading.hpp
//
// Problem: what stands above an aggregate can need few of its groups, and DuckDB then computes few, by pushing filters
// and the values of a join below the aggregate. It cannot push them through a join-back.
//   SELECT * FROM revenue_by_customer JOIN picked USING (id)        picked has 10 rows
// It cannot reorder joins around a join-back either, since it knows nothing of how many rows ours return.
//
// So a join-back for every group is not worth it where, above the aggregate, there is
//   a filter on group columns other than those that shapes/every_group.hpp adds to HAVING,
//   a join by group columns with a side of fewer rows than there are groups, or
//   more than one join that DuckDB would put in order.
// Group columns are followed through projections, joins, windows and further aggregates, by binding.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/aggregate_shape.hpp"

#include "duckdb/main/client_context.hpp"

namespace merganser {

struct PartialReading {
	//! Whether DuckDB would leave out groups of the shape's aggregate, of which `groups` are expected.
	static bool IsExpected(ClientContext &context, const AncestorPath &ancestors, const AggregateShape &shape,
	                       idx_t groups);
};

} // namespace merganser
