//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/key.hpp
//
// Keys and foreign keys of one table or view as a rule sees them: enforced by DuckDB or declared, told in column names.
// Value types; DeclarationStore makes them.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/qualified_name.hpp"

namespace merganser {

//! Columns of a table or view of which no two rows agree where none is NULL.
struct Key {
	//! [catalog, schema..., name] of the table or view.
	QualifiedName object;
	//! As the object spells them.
	vector<string> columns;
	//! PRIMARY KEY, else UNIQUE.
	bool primary = false;
	//! DuckDB enforces it; otherwise it is a promise (RELY) and whoever uses it guards against its being broken.
	bool enforced = false;
	//! No column can be NULL: by PRIMARY KEY or NOT NULL of DuckDB, or by a declared primary key that holds the column.
	bool not_null = false;
	//! DuckDB enforces both that values are unique and that none is NULL: whoever uses it needs no guard.
	bool guaranteed = false;

	//! Whether these columns identify a row. The one place that refuses a nullable UNIQUE.
	bool IdentifiesRows() const {
		return not_null;
	}
	//! "customer (c_custkey)".
	string ToString() const;
};

//! Every row's `columns`, where none is NULL, stand as `referenced_columns` in a row of the referenced object.
struct ForeignKey {
	//! [catalog, schema..., name] of the table or view.
	QualifiedName object;
	vector<string> columns;
	//! [catalog, schema..., name].
	QualifiedName referenced;
	//! Parallel to columns; they are a key (IdentifiesRows) of the referenced object.
	vector<string> referenced_columns;
	bool enforced = false;
	//! Some column can be NULL, so a join drops rows; proven like Key::not_null.
	bool nullable = true;

	//! "orders (o_custkey) -> customer (c_custkey)".
	string ToString() const;
	//! "orders (o_custkey) references customer (c_custkey)".
	string ToSentence() const;
};

} // namespace merganser
