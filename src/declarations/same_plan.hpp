//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/same_plan.hpp
//
// Whether two bound plans deliver the same rows because they are the same operators over the same scans, up to the
// table indexes the binder gave them. Used to recognise a declared view inside a query. Limits: scans of files,
// projections and filters; everything else counts as different.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

//! What a scan is asked for. The columns read, and filters pushed into it, are not part of it.
struct ScanIdentity {
	explicit ScanIdentity(const LogicalGet &get);

	string function;
	vector<Value> parameters;
	named_argument_map_t named_parameters;
	vector<Identifier> names;
	vector<LogicalType> types;

	//! Same function and arguments; the schema may differ, as it does when files are replaced by others.
	bool IsSameCall(const ScanIdentity &other) const;
	bool operator==(const ScanIdentity &other) const;
};

struct SamePlan {
	//! Same function, arguments and schema; the columns read may differ.
	static bool AreSameScans(const LogicalGet &left, const LogicalGet &right);
	static bool AreSame(const LogicalOperator &left, const LogicalOperator &right);
};

} // namespace merganser
