#include "version_guard.hpp"

#include "duckdb/common/exception.hpp"
#include "duckdb/common/string_util.hpp"

namespace merganser {

using namespace duckdb; // NOLINT

string VersionGuard::Refusal(const string &version, const string &platform) {
	if (version == MERGANSER_DUCKDB_VERSION && platform == MERGANSER_DUCKDB_PLATFORM) {
		return string();
	}
	return StringUtil::Format(
	    "merganser %s is built for DuckDB %s on %s, but this is DuckDB %s on %s. Install the DuckDB "
	    "it fits with: pip install duckdb==%s",
	    MERGANSER_VERSION, MERGANSER_DUCKDB_VERSION, MERGANSER_DUCKDB_PLATFORM, version, platform,
	    string(MERGANSER_DUCKDB_VERSION).substr(1));
}

void VersionGuard::Check() {
	auto refusal = Refusal(DuckDB::LibraryVersion(), DuckDB::Platform());
	if (!refusal.empty()) {
		throw InvalidInputException(refusal);
	}
}

} // namespace merganser
