//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/alter_declaration_info.hpp
//
// A declaration as ALTER TABLE|VIEW states it, before anything is looked up. It travels in DuckDB's own AlterStatement,
// so prepared statements, EXPLAIN and statements in a row treat it like any other ALTER; alter_interception.hpp takes
// it from the bound plan.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration.hpp"

#include "duckdb/common/query_location.hpp"
#include "duckdb/parser/parsed_data/alter_info.hpp"
#include "duckdb/parser/result_modifier.hpp"

namespace merganser {

enum class DeclarationAction : uint8_t {
	ADD,  //! state it; an error if it, or another in its place, is already stated
	SET,  //! state it in place of any other
	DROP, //! take it back; an error if it was never stated
	RESET //! take it back if it was stated
};

struct AlterDeclarationInfo : public AlterInfo {
	AlterDeclarationInfo(DeclarationAction action, Declaration declaration, QueryLocation location);

	DeclarationAction action;
	//! Unbound: columns as written, no types; orders may be ORDER_DEFAULT; what a foreign key references as written,
	//! its columns empty for the primary key.
	Declaration declaration;
	//! Of the clause, for errors.
	QueryLocation location;
	//! ALTER VIEW, which is for views only, as ALTER TABLE is for both.
	bool alter_view = false;

	//! PARTITIONED BY (a, b) and SORTED BY (a DESC): BinderException where an item is not the name of a column. An
	//! empty list is RESET.
	static unique_ptr<AlterDeclarationInfo> PartitionedBy(const vector<unique_ptr<ParsedExpression>> &columns,
	                                                      QueryLocation location);
	static unique_ptr<AlterDeclarationInfo> SortedBy(const vector<OrderByNode> &orders, QueryLocation location);

	//! Finds tables and views alike.
	CatalogType GetCatalogType() const override;
	unique_ptr<AlterInfo> Copy() const override;
	string ToString() const override;
};

} // namespace merganser
