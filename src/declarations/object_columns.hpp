//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/object_columns.hpp
//
// Names and types of a table's or view's columns, as a query sees them.
// A view that DuckDB has not bound since it was loaded is bound; errors are those of binding it.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ObjectColumns {
	vector<string> names;
	vector<LogicalType> types;

	static ObjectColumns Of(ClientContext &context, CatalogEntry &table_or_view);
	//! Position of the column, compared as SQL identifiers are; invalid if there is none.
	optional_idx Find(const string &name) const;
};

} // namespace merganser
