//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/changed_tables.hpp
//
// Problem: a transaction sees what it has changed. A statement that changes a table which its own join-back reads could
// fetch, for a later row, what an earlier row has made of it:
//   UPDATE customer SET comment = r.name FROM (<report over customer>) r WHERE customer.id = r.id + 1
// DuckDB's own plan reads the report's tables to their end before the first row of the aggregate comes; a join-back
// reads on while rows leave it.
//
// Where a bound stands above the join-back, its ORDER BY reads everything first, as in DuckDB's plan. A statement
// inside a CTE runs at a time of its own, so that even the two readings could see different rows. INSERT without ON
// CONFLICT adds rows that no scan begun before sees.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"

namespace merganser {

struct ChangedTables {
	//! Whether a statement in the plan under `root` may change what the join-back reads while it reads it.
	static bool AreFetched(const LogicalOperator &root, const AggregateInput &input, const Deferral &deferral,
	                       bool all_is_read_first);
};

} // namespace merganser
