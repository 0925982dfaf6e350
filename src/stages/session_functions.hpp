//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/session_functions.hpp
//
//   SELECT nextval('s'), a FROM t
//
// Some functions ask the session (its variables, its sequences) or change it: they must not run in a task. Functions
// that are volatile but the same everywhere, such as random(), may: each row is computed once, in one task.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct SessionFunctions {
	//! The name of one in this plan, or empty.
	static string Find(LogicalOperator &op);
};

} // namespace merganser
