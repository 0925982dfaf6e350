//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/verify_function.hpp
//
//   CALL merganser_verify('customer');   -- a table or view, by its qualified name
//   CALL merganser_verify();             -- everything declared in the attached databases
// One row for each declaration: object, declaration, holds, violating_keys, sample. Where it holds and its database can
// be written, the declaration keeps the time (verified_at). The checks are queries inside the calling statement
// (query_in_statement.hpp), one after the other, so they see its transaction's changes, show how far they are and can
// be interrupted; ROLLBACK takes the times back. All checks are done before the first time is kept.
// Limits: a transaction writes one database, so merganser_verify() keeps times for the first database it meets.
// Enforced keys are DuckDB's to check.
// Errors: BinderException for an unknown object; InvalidInputException where rows do not come in the order they stand.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct VerifyFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
