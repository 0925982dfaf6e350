//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/verify_function.hpp
//
//   CALL merganser_verify('customer');   -- a table or view, by its qualified name
//   CALL merganser_verify();             -- everything declared in the attached databases
// One row for each declaration: object, declaration, holds, violating_keys, sample. Where it holds and its database can
// be written, the declaration keeps the time (verified_at). The checks are part of the calling statement, so they see
// its transaction's changes, and ROLLBACK takes the times back. Limits: a transaction writes one database, so
// merganser_verify() keeps times for the first database it meets. Enforced keys are DuckDB's to check. Errors:
// BinderException for an unknown object.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct VerifyFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
