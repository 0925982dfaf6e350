//===----------------------------------------------------------------------===//
//                         Merganser
//
// syntax/declaration_grammar.hpp
//
//   ALTER TABLE|VIEW [IF EXISTS] t ADD [CONSTRAINT c] PRIMARY KEY (a, b) NOT ENFORCED RELY
//   ALTER TABLE|VIEW [IF EXISTS] t ADD [CONSTRAINT c] UNIQUE (a) NOT ENFORCED RELY
//   ALTER TABLE|VIEW [IF EXISTS] t ADD [CONSTRAINT c] FOREIGN KEY (x) REFERENCES u [(y)] NOT ENFORCED RELY
//   ALTER TABLE|VIEW [IF EXISTS] t DROP PRIMARY KEY | DROP UNIQUE (a) | DROP FOREIGN KEY (x)
//   ALTER VIEW [IF EXISTS] v SET PARTITIONED BY (a) | RESET PARTITIONED BY | SET SORTED BY (a DESC) | RESET SORTED BY
// (ALTER TABLE has the last line from DuckDB.) Every form is tried before DuckDB's own ALTER and transforms to an
// AlterDeclarationInfo inside DuckDB's AlterStatement. ALTER TABLE without NOT ENFORCED stays DuckDB's.
// The name of a CONSTRAINT is accepted and forgotten.
// Errors (ParserException at the clause): NOT ENFORCED or RELY missing, CHECK.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/grammar_change.hpp"

namespace merganser {

struct DeclarationGrammar {
	static vector<GrammarChange> GetChanges();
};

} // namespace merganser
