//===----------------------------------------------------------------------===//
//                         Merganser
//
// version_guard.hpp
//
// A C++ extension fits exactly the DuckDB it was compiled for. DuckDB compares the footer of the file and refuses
// others, but allow_extensions_metadata_mismatch turns that off; this check does not turn off. Errors:
// InvalidInputException that names both versions and the package to install.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb.hpp"

namespace merganser {

struct VersionGuard {
	static void Check();
	//! The refusal for a DuckDB of this version and platform, empty where they fit.
	static duckdb::string Refusal(const duckdb::string &version, const duckdb::string &platform);
};

} // namespace merganser
