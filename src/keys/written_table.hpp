//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/written_table.hpp
//
// The table whose rows an operator of a plan adds, changes or removes.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/planner/logical_operator.hpp"

namespace merganser {

struct WrittenTable {
	//! Null for an operator that is no INSERT, UPDATE, DELETE or MERGE INTO.
	static optional_ptr<const TableCatalogEntry> Of(const LogicalOperator &op);
};

} // namespace merganser
