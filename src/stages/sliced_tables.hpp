//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/sliced_tables.hpp
//
//   ATTACH 'lake.duckdb' AS lake (READ_ONLY);
//   SELECT g, count(*) FROM lake.t GROUP BY g;
//
// Problem: the rows of a table went from the session to the tasks. Where the table is in a database file that is
// attached for reading only, the tasks read it themselves: a slice is
//   SELECT *, rowid FROM lake.main.t WHERE rowid BETWEEN 0 AND 122879
// of which DuckDB reads those row groups only. Tasks of this process share the attached database. Other workers attach
// the file themselves, as merganser_<hash of path, size and time>, and check size and time, so that rows of another
// version of the file are never mixed in (plan_document.hpp).
//
// Sound because nobody changes a file that is attached for reading only, and every row has one row id. Limits: not with
// a write-ahead log beside the file, not encrypted, not where a column has the name rowid; for workers elsewhere only
// files on the file system of the exchange directory, which every worker sees. Everything else is sent as before.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

struct SlicedTables {
	//! Nothing where the session must send the rows.
	static unique_ptr<SlicedScan> TrySlice(ClientContext &context, const LogicalGet &get);
	//! The scan once more, to be exported as a read of its slice, not to be executed.
	static unique_ptr<LogicalOperator> CopyOf(const LogicalGet &get);
};

} // namespace merganser
