//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/text_collation.hpp
//
// Whether DuckDB compares text of a type by a collation, its own or the session's default_collation, and not byte by
// byte. Functions that compare values of a column (VARIATION, M4) refuse such columns; keys may have them, because
// LogicalTableFunction compares another value.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct TextCollation {
	//! For nested types, whether it applies to a text inside.
	static bool Applies(ClientContext &context, const LogicalType &type);
};

} // namespace merganser
