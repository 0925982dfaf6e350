//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/late_materialization.hpp
//
// Late materialisation of aggregates.
//
// Problem: a report groups by a key and by columns the key determines. The determined columns are carried through every
// join and the aggregate, once for every row, only to come out once for every group, or to be thrown away.
//   SELECT c_custkey, c_name, sum(l_extendedprice) AS revenue, c_comment, n_name
//   FROM customer, orders, lineitem, nation
//   WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey
//   GROUP BY c_custkey, c_name, c_comment, n_name ORDER BY revenue DESC LIMIT 20
// Before: Limit <- Order <- Projection <- Aggregate (4 keys) <- joins
// After:  Limit <- Order <- Projection <- [join-back: customer, nation] <- Limit <- Order <- Aggregate (1 key) <- joins
// Without the LIMIT: Projection <- [join-back: customer, nation] <- Aggregate (1 key) <- joins
// It runs on the bound plan, before DuckDB's own optimizers, which then prune the narrow plan.
//
// Sound because: see deferral.hpp (same groups, one row per group) and the header of the query's shape, of which there
// is one in shapes/ each. A report with a small bound is tried first; where it is none, or its ORDER BY needs what
// could be deferred, every group is. What is only declared is checked, and fails the query where it does not hold:
// key_check.hpp, join_back_guard.hpp. Limits and declines: decline_reason.hpp. Source: Yan and Larson, "Eager
// aggregation and lazy aggregation" (VLDB 1995) for when grouping by less is the same.
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
