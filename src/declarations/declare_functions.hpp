//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declare_functions.hpp
//
// The statements of syntax/declaration_grammar.hpp as functions, for programs that hold names as values:
//   CALL merganser_declare_key('schema.table', ['a', 'b']);
//   CALL merganser_declare_unique('schema.table', ['a']);
//   CALL merganser_declare_foreign_key('orders', ['o_custkey'], 'customer', ['c_custkey']);
//   CALL merganser_declare_layout('events', partitioned_by := ['device'], sorted_by := ['device', 'time'],
//                                 directions := ['asc', 'desc'], null_orders := ['last', 'last']);
//   CALL merganser_drop_declaration('orders', 'foreign key', ['o_custkey']);
// Objects are qualified names as in SQL, quoted where SQL needs it; columns are names as they are. Kinds are those
// merganser_declarations() shows. The functions return no rows and do nothing before they run.
// Errors: those of declaration_binding.hpp; an unknown object, kind or direction; lists of different lengths.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct DeclareFunctions {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
