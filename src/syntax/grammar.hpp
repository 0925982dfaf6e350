//===----------------------------------------------------------------------===//
//                         Merganser
//
// syntax/grammar.hpp
//
// Problem: the statements and clauses of ours are not in DuckDB's grammar.
// DuckDB compiles run-time grammar extensions into its PEG parser, but activates them per connection. We register one
// extension, "merganser", made of the changes each clause contributes, and activate it on every connection: those open
// when the extension loads, and those opened later.
// Limit: a program that sets active_grammar_extensions itself has to keep 'merganser' in its list.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct Grammar {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
