//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/window_functions.hpp
//
// The functions of one window operator, as DuckDB's own executors, and the expressions they share. What PhysicalWindow
// makes of its select list; used by all threads, each for its own batches of rows (partition_batch.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/function/window/window_executor.hpp"
#include "duckdb/function/window/window_shared_expressions.hpp"
#include "duckdb/planner/expression/bound_window_expression.hpp"

namespace merganser {

struct WindowFunctions {
	//! DuckDB's executors simplify the expressions and refer to them.
	WindowFunctions(ClientContext &context, const vector<unique_ptr<Expression>> &functions);

	vector<unique_ptr<WindowExecutor>> executors;
	WindowSharedExpressions shared;
	//! The lengths that the ORDER BY lists of the functions have, zero left out.
	vector<idx_t> OrderLengths() const;
};

} // namespace merganser
