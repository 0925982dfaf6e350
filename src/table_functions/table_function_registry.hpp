//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/table_function_registry.hpp
//
// The table functions there are. A new one is one line in table_function_registry.cpp, or a call of Add by another C++
// extension before Merganser is loaded.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/processor.hpp"

namespace merganser {

struct TableFunctionRegistry {
	//! In the order they are listed.
	static const vector<shared_ptr<const TableFunctionDefinition>> &Functions();
	//! Null where there is none of that name.
	static optional_ptr<const TableFunctionDefinition> Find(const string &name);
	static void Add(shared_ptr<const TableFunctionDefinition> definition);
};

} // namespace merganser
