#include "declarations/session_declarations.hpp"

#include "declarations/declaration_store.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/main/client_context.hpp"

namespace merganser {

namespace {

string KeyOf(CatalogEntry &entry) {
	return to_string(entry.ParentCatalog().GetOid()) + "." +
	       StringUtil::Lower(DeclarationStore::NameOf(entry).ToString());
}

} // namespace

SessionDeclarations &SessionDeclarations::Get(ClientContext &context) {
	return *context.registered_state->GetOrCreate<SessionDeclarations>("merganser_declarations");
}

optional_ptr<const vector<Declaration>> SessionDeclarations::Of(CatalogEntry &table_or_view) const {
	if (current.empty()) {
		return nullptr;
	}
	auto entry = current.find(KeyOf(table_or_view));
	return entry == current.end() ? nullptr : &entry->second.declarations;
}

void SessionDeclarations::Set(CatalogEntry &table_or_view, vector<Declaration> declarations) {
	current[KeyOf(table_or_view)] = Entry {DeclarationStore::NameOf(table_or_view), std::move(declarations)};
	version++;
}

vector<QualifiedName> SessionDeclarations::Objects() const {
	vector<QualifiedName> result;
	for (auto &entry : current) {
		result.push_back(entry.second.object);
	}
	return result;
}

void SessionDeclarations::TransactionCommit(MetaTransaction &transaction, ClientContext &context) {
	committed = current;
}

void SessionDeclarations::TransactionRollback(MetaTransaction &transaction, ClientContext &context) {
	current = committed;
	version++;
}

} // namespace merganser
