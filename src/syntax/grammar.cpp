#include "syntax/grammar.hpp"

#include "syntax/declaration_grammar.hpp"
#include "syntax/misspelt_grammar.hpp"
#include "syntax/table_argument_grammar.hpp"

#include "duckdb/main/connection_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/main/settings.hpp"
#include "duckdb/parser/grammar_extension.hpp"
#include "duckdb/planner/extension_callback.hpp"

namespace merganser {

namespace {

const char *const GRAMMAR_NAME = "merganser";

void Append(vector<GrammarChange> &changes, vector<GrammarChange> more) {
	for (auto &change : more) {
		changes.push_back(std::move(change));
	}
}

class MerganserGrammar : public GrammarExtension {
public:
	MerganserGrammar() : GrammarExtension(GRAMMAR_NAME, "Declarations and set-semantic table functions") {
	}

	vector<GrammarChange> GetChanges() const override {
		vector<GrammarChange> changes;
		Append(changes, DeclarationGrammar::GetChanges());
		Append(changes, TableArgumentGrammar::Changes());
		Append(changes, MisspeltGrammar::Changes());
		return changes;
	}
};

void Activate(ClientContext &context) {
	ActiveGrammarExtensionsSetting::SetLocal(context, Value::LIST(LogicalType::VARCHAR, {Value(GRAMMAR_NAME)}));
}

class ActivateOnNewConnections : public ExtensionCallback {
	void OnConnectionOpened(ClientContext &context) override {
		Activate(context);
	}
};

} // namespace

void Grammar::Register(ExtensionLoader &loader) {
	auto &database = loader.GetDatabaseInstance();
	GrammarExtension::Register(database, make_shared_ptr<MerganserGrammar>());
	ExtensionCallback::Register(DBConfig::GetConfig(database), make_shared_ptr<ActivateOnNewConnections>());
	for (auto &connection : ConnectionManager::Get(database).GetConnectionList()) {
		Activate(*connection);
	}
}

} // namespace merganser
