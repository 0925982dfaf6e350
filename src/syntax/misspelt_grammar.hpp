//===----------------------------------------------------------------------===//
//                         Merganser
//
// syntax/misspelt_grammar.hpp
//
// Problem: what is nearly ours is a syntax error at a word that is right.
//   FROM SESION(DATA => TABLE(t) PARTITION BY device ORDER BY time, GAP => 1m)     syntax error at or near "TABLE"
//   ALTER TABLE t SET PARTITION BY (device)                                        syntax error at or near "PARTITION"
//   ALTER TABLE t SET SORTED BY time                                               syntax error at or near "time"
// These forms are in the grammar as its last choices, and stand for an error that points at the wrong word and says
// what to write. Sound: they are tried only where DuckDB's grammar and ours match nothing, so that what parses without
// them parses as before; and they never become a statement.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/grammar_change.hpp"

namespace merganser {

struct MisspeltGrammar {
	static vector<GrammarChange> Changes();
};

} // namespace merganser
