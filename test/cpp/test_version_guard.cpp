#include "open_database.hpp"
#include "version_guard.hpp"

using merganser::OpenDatabase;
using merganser::VersionGuard;

TEST_CASE("The version guard lets the DuckDB pass that the extension is built for", "[version_guard]") {
	REQUIRE(VersionGuard::Refusal(duckdb::DuckDB::LibraryVersion(), duckdb::DuckDB::Platform()).empty());
	REQUIRE_NOTHROW(VersionGuard::Check());
}

TEST_CASE("The version guard names both versions and what to install", "[version_guard]") {
	auto refusal = VersionGuard::Refusal("v1.4.2", "osx_arm64");
	REQUIRE_THAT(refusal, Catch::Contains(duckdb::string("is built for DuckDB ") + MERGANSER_DUCKDB_VERSION + " on " +
	                                      MERGANSER_DUCKDB_PLATFORM));
	REQUIRE_THAT(refusal, Catch::Contains("this is DuckDB v1.4.2 on osx_arm64"));
	REQUIRE_THAT(refusal, Catch::EndsWith(duckdb::string("pip install duckdb==") + (MERGANSER_DUCKDB_VERSION + 1)));
}

TEST_CASE("Version and platform both have to fit", "[version_guard]") {
	REQUIRE_FALSE(VersionGuard::Refusal(MERGANSER_DUCKDB_VERSION, "linux_arm64").empty());
	REQUIRE_FALSE(VersionGuard::Refusal("v2.0.2", MERGANSER_DUCKDB_PLATFORM).empty());
	REQUIRE(VersionGuard::Refusal(MERGANSER_DUCKDB_VERSION, MERGANSER_DUCKDB_PLATFORM).empty());
}

TEST_CASE("A database with the extension inside has its settings", "[version_guard]") {
	OpenDatabase database;
	auto result =
	    database.Run("SELECT sum(i) FROM range(4) t(i), (SELECT current_setting('merganser_late_materialization'))");
	REQUIRE(result->Fetch()->GetValue(0, 0).GetValue<int64_t>() == 6);
}
