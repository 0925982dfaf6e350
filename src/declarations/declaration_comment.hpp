//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration_comment.hpp
//
// Problem: declarations have to live and die with a table or view of a stock DuckDB database file: transactional, in
// the write-ahead log, through RENAME and DROP, readable without the extension. The comment of an object is the one
// attribute that does all this and holds free text, so declarations are its last line, behind the user's own comment:
//   customers of all countries
//   merganser: {"version":1,"declarations":[{"kind":"primary key","columns":["c_custkey"],"types":["BIGINT"]}]}
// The user's text stays byte for byte, including the difference between no comment and an empty one. A last line that
// is not of this form is the user's; one that begins like ours and cannot be read is told, and nothing in it is used.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration.hpp"

namespace merganser {

struct DeclarationComment {
	//! The user's own comment: VARCHAR, NULL if there is none.
	Value text = Value(LogicalType::VARCHAR);
	vector<Declaration> declarations;
	//! Why a line of ours cannot be read ("it is of version 2, ..."); it is part of the text then. Empty if it can.
	string unreadable;
	//! It cannot be read because another version of the extension wrote it.
	bool of_other_version = false;

	//! Whether the comment has a line of ours; cheap.
	static bool HasDeclarations(const Value &comment);
	//! `catalog` is the database that holds the object: references within it are stored without its name, which ATTACH
	//! chooses.
	static DeclarationComment Parse(const Value &comment, const Identifier &catalog);
	//! The comment to store: `text` alone if there are no declarations.
	Value ToValue(const Identifier &catalog) const;
};

} // namespace merganser
