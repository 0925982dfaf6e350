//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/object_columns.hpp
//
// Names and types of a table's or view's columns, as a query sees them.
// DuckDB remembers the columns a view had when a query last used it. KNOWN takes its word, which is right, and cheap,
// for a view the current query uses; FRESH binds the view again. Errors are those of binding the view.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

enum class ViewColumns : uint8_t { KNOWN, FRESH };

struct ObjectColumns {
	vector<string> names;
	vector<LogicalType> types;

	static ObjectColumns Of(ClientContext &context, CatalogEntry &table_or_view, ViewColumns view_columns);
	//! Position of the column, compared as SQL identifiers are; invalid if there is none.
	optional_idx Find(const string &name) const;
};

} // namespace merganser
