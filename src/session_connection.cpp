#include "session_connection.hpp"

#include "duckdb/catalog/catalog_transaction.hpp"
#include "duckdb/main/client_context_state.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/secret/secret_manager.hpp"

namespace merganser {

namespace {

//! Under this name DuckDB keeps the secrets of a connection.
const char *const SECRETS_OF_CONNECTION = "connection_secret_storage";

//! Asking DuckDB for all secrets reads those stored on disk, and from then on their folder cannot be SET any more.
bool HasSecretsOfItsOwn(ClientContext &session) {
	return session.registered_state->Get<ClientContextState>(SECRETS_OF_CONNECTION) ||
	       !session.transaction.IsAutoCommit();
}

vector<unique_ptr<const BaseSecret>> SecretsOf(ClientContext &session) {
	vector<unique_ptr<const BaseSecret>> result;
	if (!HasSecretsOfItsOwn(session)) {
		return result;
	}
	auto transaction = CatalogTransaction::GetSystemCatalogTransaction(session);
	for (auto &entry : SecretManager::Get(session).AllSecrets(transaction)) {
		if (entry.storage_mode == SecretManager::CONNECTION_STORAGE_NAME ||
		    entry.storage_mode == SecretManager::TRANSACTION_STORAGE_NAME) {
			result.push_back(std::move(entry.secret));
		}
	}
	return result;
}

ClientConfig SettingsOf(ClientContext &session) {
	auto config = ClientConfig::GetConfig(session);
	config.enable_profiler = false;
	config.enable_progress_bar = false;
	config.get_result_collector = nullptr;
	config.use_replacement_scans = false;
	config.current_dialect.reset();
	config.connected_grammar.reset();
	return config;
}

vector<CatalogSearchEntry> SearchPathOf(ClientContext &session) {
	vector<CatalogSearchEntry> result {{Identifier(SYSTEM_CATALOG), Identifier(DEFAULT_SCHEMA)}};
	auto &databases = DatabaseManager::Get(session);
	auto default_database = DatabaseManager::GetDefaultDatabase(session);
	for (auto entry : ClientData::Get(session).catalog_search_path->Get()) {
		if (entry.GetCatalog().empty()) {
			entry.SetCatalog(default_database);
		}
		auto is_gone = !databases.GetDatabase(session, entry.GetCatalog());
		if (!is_gone && entry.GetCatalog() != TEMP_CATALOG && entry.GetCatalog() != SYSTEM_CATALOG) {
			result.push_back(std::move(entry));
		}
	}
	return result;
}

} // namespace

SessionConnection::SessionConnection(ClientContext &session)
    : database(*session.db), config(SettingsOf(session)), search_path(SearchPathOf(session)),
      secrets(SecretsOf(session)) {
}

unique_ptr<Connection> SessionConnection::Open() const {
	auto result = make_uniq<Connection>(database);
	auto &context = *result->context;
	ClientConfig::GetConfig(context) = config;
	ClientData::Get(context).catalog_search_path->Set(search_path, CatalogSetPathType::SET_DIRECTLY);
	result->Query("SET merganser_runner = ''");
	if (!secrets.empty()) {
		context.RunFunctionInTransaction([&]() {
			for (auto &secret : secrets) {
				GiveSecret(context, *secret);
			}
		});
	}
	return result;
}

void SessionConnection::GiveSecret(ClientContext &connection, const BaseSecret &secret) {
	SecretManager::Get(connection)
	    .RegisterSecret(CatalogTransaction::GetSystemCatalogTransaction(connection), secret.Clone(),
		                OnCreateConflict::REPLACE_ON_CONFLICT, SecretPersistType::TEMPORARY,
		                SecretManager::CONNECTION_STORAGE_NAME);
}

} // namespace merganser
