//===----------------------------------------------------------------------===//
//                         Merganser
//
// client.cpp
//
// The smallest client of DuckDB that is not Python: loads the extension named on its command line and uses it. It links
// DuckDB's core alone, and so uses no function of DuckDB's own extensions, such as sum.
// Prints one line and returns 0 where every statement succeeds and the query has its one right answer.
//===----------------------------------------------------------------------===//

#include "duckdb.hpp"

#include <iostream>

using namespace duckdb; // NOLINT

static Value Run(Connection &connection, const string &sql) {
	auto result = connection.Query(sql);
	if (result->HasError()) {
		throw std::runtime_error(sql + "\n" + result->GetError());
	}
	auto chunk = result->Fetch();
	return chunk && chunk->size() ? chunk->GetValue(0, 0) : Value();
}

int main(int argc, char **argv) {
	if (argc != 2) {
		std::cerr << "usage: merganser_release_client <merganser.duckdb_extension>\n";
		return 2;
	}
	try {
		DBConfig config;
		config.SetOptionByName("allow_unsigned_extensions", Value::BOOLEAN(true));
		DuckDB database(nullptr, &config);
		Connection connection(database);
		Run(connection, "LOAD '" + string(argv[1]) + "'");
		Run(connection, "CREATE TABLE customer AS SELECT i AS id, 'name' || i AS name FROM range(100) t(i)");
		Run(connection, "ALTER TABLE customer ADD PRIMARY KEY (id)");
		auto name = Run(connection, "SELECT name FROM customer JOIN range(1000) o(i) ON id = i % 100 "
		                            "GROUP BY id, name ORDER BY max(i) DESC LIMIT 1");
		auto settings = Run(connection, "SELECT count(*) FROM duckdb_settings() WHERE name LIKE 'merganser_%'");
		if (name.ToString() != "name99" || settings.GetValue<int64_t>() == 0) {
			std::cerr << "wrong answer: " << name.ToString() << ", " << settings.ToString() << " settings\n";
			return 1;
		}
		std::cout << "loaded in DuckDB " << DuckDB::LibraryVersion() << ", right answer\n";
	} catch (std::exception &error) {
		std::cerr << error.what() << "\n";
		return 1;
	}
	return 0;
}
