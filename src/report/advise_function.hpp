//===----------------------------------------------------------------------===//
//                         Merganser
//
// report/advise_function.hpp
//
//   FROM merganser_advise('SELECT ...');                     -- one query
//   FROM merganser_advise(['SELECT ...', 'SELECT ...']);     -- several
//   FROM merganser_advise(file := 'queries.sql');            -- the statements of a file
//   FROM merganser_advise('SELECT ...', verify := true);     -- and whether the data agree
// For each rule that declined, what would make it apply (advice.hpp). Columns:
//   query   UBIGINT   1 for the first query
//   rule    VARCHAR   late_materialization, grouping or stages; NULL where a query has nothing to be advised about
//   reason  VARCHAR   the code of the decline; no_candidate; cannot_be_planned (only among several queries)
//   advice  VARCHAR   in words
//   sql     VARCHAR   to be run as it is; NULL where words are all there is
//   holds   BOOLEAN   of keys, with verify: whether they are keys now; else NULL
//   gain    VARCHAR   the cost estimate of the rewritten query; NULL where there is none
// A query has at least one row. Nothing is run but, with verify, one query for each key, inside the calling statement
// (query_in_statement.hpp). Where a key does not hold its row has no SQL, and the next candidate of its relation is
// looked at. What the data say is true of them now; a declaration is a promise about all rows to come.
// Errors: BinderException without a query, with NULL, or with a query and a file; IOException for a file that cannot be
// read; what planning the only query raises.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

struct AdviseFunction {
	static void Register(ExtensionLoader &loader);
};

} // namespace merganser
