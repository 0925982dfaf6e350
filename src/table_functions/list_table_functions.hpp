//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/list_table_functions.hpp
//
// FROM merganser_table_functions() lists the table functions there are: one row each, with name, description, semantics
// ('row' or 'set'), parameters (a list of structs: name, type, required, default_value, allowed), output
// ('pass_through' or 'own_rows'), preserves_order and splittable.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct ListTableFunctions {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
