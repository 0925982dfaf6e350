//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/stages_function.hpp
//
//   FROM merganser_stages('SELECT ...');
//
// One row for each stage the query would run in: stage, partitioning, inputs, tasks, sql, reason. A query that stays on
// one node gives one row with its SQL as it is, one task, and the reason. Nothing is executed; no runner need be set.
// Errors: BinderException where the text is not one query or COPY.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct StagesFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
