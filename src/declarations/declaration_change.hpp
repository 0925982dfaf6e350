//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declaration_change.hpp
//
// What a statement does to declarations, decided when it is bound and carried out when it runs: an ALTER of DuckDB's
// that comes first, if there is one, then the new declarations of every object concerned, all in the statement's
// transaction.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration.hpp"

#include "duckdb/parser/parsed_data/alter_info.hpp"
#include "duckdb/parser/parsed_data/drop_info.hpp"

namespace merganser {

struct ObjectDeclarations {
	//! [catalog, schema..., name], after the ALTER.
	QualifiedName object;
	vector<Declaration> declarations;
};

struct DeclarationChange {
	//! Null if DuckDB itself has nothing to alter.
	unique_ptr<AlterInfo> alter;
	//! Null if DuckDB itself has nothing to drop.
	unique_ptr<DropInfo> drop;
	vector<ObjectDeclarations> objects;

	//! CatalogException if an object is gone since the statement was bound.
	void Apply(ClientContext &context) const;
	//! One line per object, for EXPLAIN.
	InsertionOrderPreservingMap<string> ToText() const;
};

} // namespace merganser
