//===----------------------------------------------------------------------===//
//                         Merganser
//
// session_connection.hpp
//
// Problem: footers are read, stages are checked and local tasks run on connections of their own, because the session's
// is busy with the query. A new connection has DuckDB's defaults, not what the session has SET; and where it has the
// session's search path, a macro, a type or a table of the user stands for a built-in of the same name:
//   CREATE MACRO list_position(a, b) AS NULL;      a task that calls list_position finds no file
//
// So every connection of ours is opened here. It has the session's settings, variables and secrets, those of its
// connection and its transaction too; extensions and file systems belong to the database. Names without a schema mean
// DuckDB's own and only then the session's: `system.main` stands first in its search path, and it has no temporary
// objects. It runs no stages, replaces no unknown table by a variable of Python, and reads SQL in DuckDB's dialect.
//
// Limits: it sees what is committed; DuckDB logs and profiles its queries as any other's.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/secret/secret.hpp"

namespace merganser {

class SessionConnection {
public:
	//! Of this moment; call it from the session's thread.
	explicit SessionConnection(ClientContext &session);

	//! A new connection; from any thread, while the database lives.
	unique_ptr<Connection> Open() const;
	//! One that is needed once.
	static unique_ptr<Connection> Open(ClientContext &session) {
		return SessionConnection(session).Open();
	}

	//! From now on `connection` has this secret, for itself.
	static void GiveSecret(ClientContext &connection, const BaseSecret &secret);

private:
	DatabaseInstance &database;
	ClientConfig config;
	vector<CatalogSearchEntry> search_path;
	//! Other connections do not have them.
	vector<unique_ptr<const BaseSecret>> secrets;
};

} // namespace merganser
