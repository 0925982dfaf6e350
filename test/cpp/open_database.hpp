//===----------------------------------------------------------------------===//
//                         Merganser
//
// open_database.hpp
//
// A database in memory with the extension under test inside, for tests that need a ClientContext.
//   OpenDatabase database;
//   database.Run("CREATE TABLE t (a INTEGER PRIMARY KEY)");
//===----------------------------------------------------------------------===//

#pragma once

#include "catch.hpp"

#include "duckdb.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

extern "C" void merganser_duckdb_cpp_init(duckdb::ExtensionLoader &loader);

namespace merganser {

struct OpenDatabase {
	OpenDatabase() : database(nullptr), connection(database) {
		duckdb::ExtensionLoader loader(*database.instance, "merganser");
		merganser_duckdb_cpp_init(loader);
	}

	//! Fails the test with DuckDB's message where the statement fails.
	duckdb::unique_ptr<duckdb::QueryResult> Run(const duckdb::string &sql) {
		auto result = connection.Query(sql);
		INFO(sql);
		INFO((result->HasError() ? result->GetError() : duckdb::string()));
		REQUIRE_FALSE(result->HasError());
		return result;
	}

	duckdb::DuckDB database;
	duckdb::Connection connection;
};

} // namespace merganser
