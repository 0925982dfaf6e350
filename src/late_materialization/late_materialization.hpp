//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/late_materialization.hpp
//
// Late materialisation of a bounded top-N aggregate.
//
// Problem: a report groups by a key and by columns the key determines, and shows a few rows. The determined columns are
// carried through every join and the aggregate only to be thrown away.
//   SELECT c_custkey, c_name, sum(l_extendedprice) AS revenue, c_comment, n_name
//   FROM customer, orders, lineitem, nation
//   WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey
//   GROUP BY c_custkey, c_name, c_comment, n_name ORDER BY revenue DESC LIMIT 20
// Before: Limit <- Order <- Projection <- Aggregate (4 keys) <- joins
// After:  Limit <- Order <- Projection <- [join-back: customer, nation] <- Limit <- Order <- Aggregate (1 key) <- joins
// It runs on the bound plan, before DuckDB's own optimizers, which then prune the narrow plan.
//
// Sound because: see deferral.hpp (same groups, one row per group), bounded_aggregate.hpp (the shape), and: the inner
// Limit keeps LIMIT + OFFSET rows under the query's own order, computed from retained columns and aggregates only; it
// commutes with a join that returns each row once. The outer Order and Limit stay and select from those rows, so ties
// are decided once. What is only declared is checked, and fails the query where it does not hold: key_check.hpp,
// join_back_guard.hpp. Limits and declines: decline_reason.hpp.
// Source: Yan and Larson, "Eager aggregation and lazy aggregation" (VLDB 1995) for when grouping by less is the same;
// Carey and Kossmann, "On saying Enough already" (SIGMOD 1997) for a bound below a join.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct LateMaterialization {
	//! As decisions and settings call it.
	static constexpr const char *NAME = "late_materialization";

	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
