//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/listed_rows.hpp
//
// What a table function returns whose rows are all made when the call is bound: few rows, told to people. Planning a
// statement belongs to binding, so that errors come before anything runs.
//   auto result = make_uniq<ListedRows>(); result->rows.push_back({Value("a"), ...}); return std::move(result);
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/function/table_function.hpp"

namespace merganser {

struct ListedRows : public TableFunctionData {
	//! Each with a value for every column.
	vector<vector<Value>> rows;

	//! A table function of these arguments, whose `bind` returns ListedRows.
	static TableFunction Function(const char *name, const vector<LogicalType> &arguments, table_function_bind_t bind);
};

} // namespace merganser
