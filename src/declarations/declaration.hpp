//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration.hpp
//
// What a user promises about a table's or view's data, as opposed to what DuckDB enforces.
//   ALTER VIEW customer ADD PRIMARY KEY (c_custkey) NOT ENFORCED RELY;
// A value type: it knows column names and the types they had, not where it is stored (declaration_store.hpp) nor
// whether it is true (verification.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/parser/qualified_name.hpp"

namespace merganser {

enum class DeclarationKind : uint8_t {
	PRIMARY_KEY, //! columns: unique together and not NULL
	UNIQUE,      //! columns: unique together where none is NULL
	FOREIGN_KEY, //! columns: each row's value, if none is NULL, stands in referenced_columns of the referenced object
	PARTITIONED_BY, //! columns, as a set: every region holds whole partitions
	SORTED_BY       //! columns, as a list: every region is sorted this way
};

struct Declaration {
	DeclarationKind kind = DeclarationKind::PRIMARY_KEY;
	//! In the order written. For PARTITIONED_BY the order means nothing.
	vector<string> columns;
	//! Types of the columns when the promise was made, as DuckDB prints them. Where the object's columns no longer have
	//! them, the declaration is stale.
	vector<string> types;
	//! Which columns of a table these were, counted from 0; empty for views. A column of that name in another place is
	//! another column.
	vector<idx_t> positions;
	//! SORTED_BY only, parallel to columns: never a default, always what the session that declared it meant.
	vector<OrderType> directions;
	vector<OrderByNullType> null_orders;
	//! FOREIGN_KEY only: what it points to, [catalog, schema..., name], and there columns parallel to `columns`.
	QualifiedName referenced;
	vector<string> referenced_columns;
	//! Like `positions`, of the referenced table.
	vector<idx_t> referenced_positions;
	//! Why an ALTER made the promise void ("column \"a\" was changed from BIGINT to INTEGER"); empty if none did. Such
	//! a declaration is stale until it is made again.
	string voided;
	//! When merganser_verify last found it true (TIMESTAMP WITH TIME ZONE); NULL if never.
	Value verified_at = Value(LogicalType::TIMESTAMP_TZ);

	//! As written in ALTER: "PRIMARY KEY (a, b)", "FOREIGN KEY (x) REFERENCES db.main.u (y)", "SORTED BY (a DESC NULLS
	//! LAST)".
	string ToString() const;
	//! "primary key", "unique", "foreign key", "partitioned by", "sorted by".
	static const char *KindName(DeclarationKind kind);
	//! Whether adding `other` replaces this one: one primary key, one PARTITIONED BY and one SORTED BY to an object,
	//! one UNIQUE to a set of columns, one FOREIGN KEY from a list of columns to an object.
	bool IsReplacedBy(const Declaration &other) const;
	//! Whether it names this column of its own object.
	bool Names(const string &column) const;
	//! Whether both lists hold the same columns in the same order; names compare as SQL identifiers do.
	static bool SameColumns(const vector<string> &left, const vector<string> &right);
	//! Whether both lists hold the same columns, in any order; names compare as SQL identifiers do.
	static bool SameColumnSet(const vector<string> &left, const vector<string> &right);
	//! "(a, b)", quoted where SQL needs it.
	static string ColumnList(const vector<string> &columns);

	bool operator==(const Declaration &other) const;
};

} // namespace merganser
