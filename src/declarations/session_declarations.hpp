//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/session_declarations.hpp
//
// Problem: an object in a database attached READ_ONLY, or in one that is not DuckDB's, has no comment we could write.
// Its declarations belong to the connection: gone when it closes, undone by ROLLBACK like everything else. They are
// kept by the database as attached (attaching another file under the name does not inherit them) and the object's name.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration.hpp"

#include "duckdb/main/client_context_state.hpp"

namespace merganser {

class SessionDeclarations : public ClientContextState {
public:
	static SessionDeclarations &Get(ClientContext &context);

	//! Null if this session has declared nothing on the object.
	optional_ptr<const vector<Declaration>> Of(CatalogEntry &table_or_view) const;
	void Set(CatalogEntry &table_or_view, vector<Declaration> declarations);
	//! Another one after every change.
	idx_t Version() const {
		return version;
	}

	//! [catalog, schema..., name] of every object this session has declared something on.
	vector<QualifiedName> Objects() const;

	void TransactionCommit(MetaTransaction &transaction, ClientContext &context) override;
	void TransactionRollback(MetaTransaction &transaction, ClientContext &context) override;

private:
	struct Entry {
		QualifiedName object;
		vector<Declaration> declarations;
	};
	map<string, Entry> current;
	map<string, Entry> committed;
	idx_t version = 0;
};

} // namespace merganser
