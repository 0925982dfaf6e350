//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/same_plan.hpp
//
// Whether two bound plans deliver the same rows because they are the same operators over the same scans, up to the
// table indexes the binder gave them. Used to recognise a declared view inside a query. Limits: scans of files,
// projections and filters; everything else counts as different.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct SamePlan {
	//! Same function, arguments and schema; the columns read may differ.
	static bool AreSameScans(const LogicalGet &left, const LogicalGet &right);
	static bool AreSame(const LogicalOperator &left, const LogicalOperator &right);
};

} // namespace merganser
