//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declarations_function.hpp
//
//   FROM merganser_declarations();
// One row for each key, foreign key and layout known of each table and view in the attached DuckDB databases, declared
// or enforced, and for what this session has declared elsewhere. Columns: database_name, schema_name, object_name,
// kind, columns, declaration (as SQL), enforced, scope (database or session), status (valid, stale or unreadable: the
// line in the comment is damaged or of another version), reason (why so, or why a UNIQUE is no key), verified_at,
// statement (which makes the declaration, also in another database). Names are as they are, not quoted; SQL is quoted
// where needed. Limits: what other catalogs (not DuckDB's) enforce is not listed; asking them would open connections.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct DeclarationsFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
