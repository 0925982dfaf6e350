//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration.hpp
//
// What a user promises about a table's or view's data, as opposed to what DuckDB enforces.
//   ALTER VIEW customer ADD PRIMARY KEY (c_custkey) NOT ENFORCED RELY;
// A value type: it knows column names, not where it is stored (declaration_store.hpp) nor whether it is true
// (verification.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/qualified_name.hpp"

namespace merganser {

enum class DeclarationKind : uint8_t {
	PRIMARY_KEY,    //! columns: unique together and not NULL
	UNIQUE,         //! columns: unique together where none is NULL
	FOREIGN_KEY,    //! columns: each row's value stands in referenced_columns of the referenced object
	PARTITIONED_BY, //! columns, as a set: every storage region holds whole partitions
	SORTED_BY       //! columns, as a list: every storage region is sorted this way
};

struct Declaration {
	DeclarationKind kind = DeclarationKind::PRIMARY_KEY;
	//! In the order written. For PARTITIONED_BY the order means nothing.
	vector<string> columns;
	//! SORTED_BY only: per column, whether it descends and whether NULLs come first.
	vector<OrderType> directions;
	vector<OrderByNullType> null_orders;
	//! FOREIGN_KEY only: what it points to, fully qualified, and there columns parallel to `columns`.
	QualifiedName referenced;
	vector<string> referenced_columns;
	//! When merganser_verify last found it true; NULL value if never.
	Value verified_at;

	//! As written in ALTER: "PRIMARY KEY (a, b) NOT ENFORCED RELY".
	string ToString() const;
};

} // namespace merganser
