//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/built_in_names.hpp
//
//   list_position(a, b)  ->  system.main.list_position(a, b)
//
// Problem: DuckDB writes the functions of a plan with their schema, but SQL that we write ourselves, for ranges of a
// sort key or a check, has none; a macro of the user of that name would be called instead.
// In the parsed query every function, aggregate, window and table function without a schema gets DuckDB's own: a plan
// knows no macros any more, and functions of clients are in that schema too. Not unnest, which is no function but
// syntax, and nothing that SQL calls without a name, such as a list in brackets: the search path of tasks is for those
// (session_connection.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/query_node.hpp"

namespace merganser {

struct BuiltInNames {
	static void Qualify(QueryNode &query);
};

} // namespace merganser
