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

vector<Declaration> SessionDeclarations::Of(CatalogEntry &table_or_view) const {
	if (current.empty()) {
		return {};
	}
	auto entry = current.find(KeyOf(table_or_view));
	return entry == current.end() ? vector<Declaration>() : entry->second;
}

void SessionDeclarations::Set(CatalogEntry &table_or_view, vector<Declaration> declarations) {
	if (declarations.empty()) {
		current.erase(KeyOf(table_or_view));
	} else {
		current[KeyOf(table_or_view)] = std::move(declarations);
	}
}

void SessionDeclarations::TransactionCommit(MetaTransaction &transaction, ClientContext &context) {
	committed = current;
}

void SessionDeclarations::TransactionRollback(MetaTransaction &transaction, ClientContext &context) {
	current = committed;
}

} // namespace merganser
