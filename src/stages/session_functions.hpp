//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/session_functions.hpp
//
//   SELECT nextval('s'), a FROM t
//
// Some functions ask the session (its variables, its sequences) or change it: they must not run in a task. Functions
// that are volatile but the same everywhere, such as random(), may: each row is computed once, in one task.
//
// A seed is the session's too. Once it has called setseed, DuckDB gives the same random values and samples again, tasks
// would not. Rows of a SYSTEM sample, and of a REPEATABLE one of so many rows, depend on how rows come in vectors.
// A bitstring_agg without bounds takes them from statistics that SQL cannot tell.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct SessionFunctions {
	//! Why the tasks would give other rows than the session, or empty.
	static string WhyNot(ClientContext &context, LogicalOperator &op);
	//! To be called with every plan of a session: whether it sets the seed of random().
	static void NoticeSeed(ClientContext &context, LogicalOperator &plan);
};

} // namespace merganser
