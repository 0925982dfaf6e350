//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/table_function_binding.hpp
//
// Registers every table function of the registry with DuckDB and binds its calls. The spelling without grammar, which
// the grammar's own forms are turned into and which views store, is
//   session((FROM t), partition_by := ['device'], order_by := ['time DESC NULLS FIRST'], gap := INTERVAL 1 MINUTE)
// partition_by and order_by take a column name or a list of them. All other arguments are named, or all are positional,
// in declared order after the table argument. Output columns with a name that is already taken get _1, _2, ... as in
// DuckDB's subqueries. Errors: BinderException that names function and argument, and what is allowed.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct TableFunctionBinding {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
