//===----------------------------------------------------------------------===//
//                         Merganser
//
// travelling_operator.hpp
//
// An operator of ours that may run inside a stage. DuckDB copies plans by writing and reading them, which our operators
// do not survive; the stage planner, which copies a plan to cut it, asks each of ours for a copy instead. In the copy
// every column keeps its binding.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/logical_plan_sql_exporter.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

class TravellingOperator : public LogicalExtensionOperator {
public:
	//! This operator without its children, to be cut into stages and exported, never executed.
	virtual unique_ptr<LogicalOperator> CopyAlone() const = 0;
};

} // namespace merganser
