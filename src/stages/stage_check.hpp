//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/stage_check.hpp
//
// Problem: a stage is SQL that tasks read again, much later. What DuckDB wrote need not be what DuckDB reads: a type
// without a name in SQL, a function that wants its argument's statistics, a name that means something else. The query
// would then fail, or fail to fit together, though DuckDB alone can run it.
//
// So the SQL of every stage is bound when the query is planned, on a connection like those of the tasks, with an empty
// relation of the right columns for every input. Where that fails or gives other types than the plan says, the query is
// not cut.
//
// Sound as a check: a task binds the same text, and a relation's rows have no say in binding. Limits: a worker may lack
// what this process has; what DuckDB decides later than when it binds, such as a function that needs statistics, is not
// seen (session_functions.hpp knows the one there is).
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

namespace merganser {

struct StageCheck {
	//! Throws NotImplementedException with the stage and the reason.
	static void Check(ClientContext &session, const QueryStages &stages);
};

} // namespace merganser
