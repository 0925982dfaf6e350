//===----------------------------------------------------------------------===//
//                         Merganser
//
// open_file_limit.hpp
//
// Problem: a system lets a process have so many files open at a time (ulimit -n). Where there is no room for one more,
// DuckDB says "Cannot open file ...: Too many open files", which neither tells how many may be open nor what to do, and
// which whoever asks for a file must not take for a lost one.
//
// What bounds the files that stages have open, whatever the number of files and tasks:
//   a scan of exchange files    one for each thread that reads it
//   a task that writes rows     one
//   a task that writes a folder one for each thread; with PARTITION_BY partitioned_write_max_open_files of DuckDB
// and the local runner runs only so many tasks at a time that they have half of the limit for these.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/error_data.hpp"

namespace merganser {

struct OpenFileLimit {
	//! How many files this process may have open.
	static idx_t OfProcess();
	//! How many tasks may run at the same time where each has at most so many files open; at least one.
	static idx_t Tasks(idx_t files_of_task);
	//! IOException where `code`, of the system, is that no more files can be opened.
	static void ThrowIfReached(int code, const string &path);
	//! The error, with the limit and what to do about it where it is that no more files could be opened.
	static ErrorData Explain(const ErrorData &error);
};

} // namespace merganser
