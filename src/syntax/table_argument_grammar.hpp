//===----------------------------------------------------------------------===//
//                         Merganser
//
// syntax/table_argument_grammar.hpp
//
// Problem: SQL:2016's call of a table function, with a table as an argument, is not in DuckDB's grammar.
//   FROM SESSION(DATA => TABLE(sensor) AS s PARTITION BY (plant, device) ORDER BY time DESC, GAP => 1h30m) AS x
//   FROM TABLE(SESSION(sensor PARTITION BY device ORDER BY time, 'time', INTERVAL 1 MINUTE))
// The call is turned into an ordinary table function call, which is what views store and what ToString prints:
//   FROM session((SELECT * FROM sensor AS s), partition_by := ['plant', 'device'], order_by := ['time DESC'],
//                gap := INTERVAL '...') AS x
// * The table argument is t, TABLE(t), (query) or TABLE(query), with an optional alias and column aliases; a bare
//   identifier in argument position is a table, never a column.
// * A bare PARTITION BY or ORDER BY takes exactly one item: the comma after it begins the next argument. Lists need
//   parentheses.
// * A duration is one or more <integer><unit> pairs without a space: y, mo, w, d, h, m, s, ms, us, ns and their long
//   names.
// Only calls of registered names are touched, and of those only calls with a table argument; so macros and functions of
// the same name keep working.
// Errors: BinderException for what only the written form shows (mixed named and positional arguments, two table
// arguments, a key that is no column, a table where a scalar stands); the rest is checked when the call is bound.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/grammar_change.hpp"

namespace merganser {

struct TableArgumentGrammar {
	static vector<GrammarChange> Changes();
};

} // namespace merganser
