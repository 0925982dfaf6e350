//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/explain_function.hpp
//
// FROM merganser_explain('SELECT ...') tells what our rules did to a query and why, without running it:
//   section   item                   text
//   decision  late_materialization   applied: grouped by the key alone; ...
//   remedy    late_materialization   of a decline: raise merganser_late_materialization_max_rows
//   fact      key                    customer (c_custkey) declared
//   fact      fd                     (customer.c_custkey)-->(customer.c_name)
//   timing    late_materialization   183 microseconds
//   plan      before                 DuckDB's optimised plan without our rules
//   plan      after                  with them
// Columns: section, item, text, all VARCHAR. Decisions come in the order they were taken; a remedy or a fact belongs to
// the decision above it. Errors: BinderException where the text is not one statement that can be planned without acting
// (statement_to_plan.hpp); whatever planning the statement raises.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ExplainFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
