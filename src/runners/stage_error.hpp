//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/stage_error.hpp
//
//   SELECT CAST(name AS INTEGER) FROM 'customers/*.parquet';
//
// Problem: DuckDB words an error of a task by the SQL of its stage, which the user has never seen:
//   Could not convert string 'ann' to INT32 when casting from source column c0
//   LINE 1: COPY (WITH merganser_scan_0 AS NOT MATERIALIZED (SELECT * FROM ...
// The excerpt goes. The column gets the name it has in the query, and the error its place there, from the casts in the
// plan of the stages that can have failed: to the type that the message tells, and of a plain column where it names
// one. Where they read several columns, the message ends before "when casting". A division by zero is named as the
// query has it, or not where there are several. Where no more files could be opened, it is told what to do.
//
// Limits: other errors have no place in the query, and casts at several places none. Which of several failing rows is
// told depends on which task finds one first, as it depends on threads in DuckDB.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/common/error_data.hpp"

namespace merganser {

struct StageError {
	//! Throws the error of a task of these stages, in the words of the query.
	[[noreturn]] static void Throw(const ErrorData &error, const QueryStages &stages);
};

} // namespace merganser
