//===----------------------------------------------------------------------===//
//                         Merganser
//
// listed_rows.hpp
//
// What table functions return that tell few rows to people, as values of all columns. Where the rows are made when the
// call is bound, as planning a statement is, so that errors come before anything runs:
//   auto result = make_uniq<ListedRows>(); result->rows.push_back({Value("a"), ...}); return std::move(result);
// Functions that make them later keep them in their state, and Emit them.
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
	//! The next chunk of `rows`, from row number `next` on, which moves behind it.
	static void Emit(const vector<vector<Value>> &rows, idx_t &next, DataChunk &output);
};

} // namespace merganser
