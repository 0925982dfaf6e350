#include "declarations/declarations_function.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/session_declarations.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct DeclarationsState : public GlobalTableFunctionState {
	vector<vector<Value>> rows;
	idx_t offset = 0;
};

unique_ptr<FunctionData> BindDeclarations(ClientContext &context, TableFunctionBindInput &input,
                                          vector<LogicalType> &return_types, vector<Identifier> &names) {
	auto text = LogicalType::VARCHAR;
	names = {"database_name", "schema_name", "object_name", "kind",   "columns",    "declaration",
	         "enforced",      "scope",       "status",      "reason", "verified_at"};
	return_types = {text,
	                text,
	                text,
	                text,
	                LogicalType::LIST(text),
	                text,
	                LogicalType::BOOLEAN,
	                text,
	                text,
	                text,
	                LogicalType::TIMESTAMP_TZ};
	return make_uniq<TableFunctionData>();
}

class RowCollector {
public:
	explicit RowCollector(ClientContext &context) : context(context) {
	}

	vector<vector<Value>> Collect() {
		for (auto &database : DatabaseManager::Get(context).GetDatabases(context)) {
			auto &catalog = database->GetCatalog();
			if (catalog.IsDuckCatalog() && !catalog.IsSystemCatalog()) {
				AddDatabase(catalog);
			}
		}
		for (auto &name : SessionDeclarations::Get(context).Objects()) {
			auto object = DeclarationStore::Find(context, name);
			if (object && !object->ParentCatalog().IsDuckCatalog()) {
				AddObject(*object);
			}
		}
		return std::move(rows);
	}

private:
	void AddDatabase(Catalog &catalog) {
		vector<reference<CatalogEntry>> objects;
		for (auto &schema : catalog.GetSchemas(context)) {
			schema.get().Scan(context, CatalogType::TABLE_ENTRY, [&](CatalogEntry &entry) {
				if (!entry.internal) {
					objects.push_back(entry);
				}
			});
		}
		for (auto &object : objects) {
			AddObject(object);
		}
	}

	void AddObject(CatalogEntry &object) {
		for (auto &key : DeclarationStore::Keys(context, object)) {
			if (key.enforced) {
				Declaration enforced;
				enforced.kind = key.primary ? DeclarationKind::PRIMARY_KEY : DeclarationKind::UNIQUE;
				enforced.columns = key.columns;
				Add(object, enforced, true, false, "");
			}
		}
		for (auto &key : DeclarationStore::ForeignKeys(context, object)) {
			if (key.enforced) {
				Declaration enforced;
				enforced.kind = DeclarationKind::FOREIGN_KEY;
				enforced.columns = key.columns;
				enforced.referenced = key.referenced;
				enforced.referenced_columns = key.referenced_columns;
				Add(object, enforced, true, false, "");
			}
		}
		for (auto &stored : DeclarationStore::All(context, object)) {
			Add(object, stored.declaration, false, stored.in_session, stored.stale);
		}
	}

	void Add(CatalogEntry &object, const Declaration &declaration, bool enforced, bool in_session,
	         const string &stale) {
		vector<Value> columns;
		for (auto &column : declaration.columns) {
			columns.emplace_back(column);
		}
		auto reason = stale.empty() ? ReasonNotKey(object, declaration) : stale;
		rows.push_back({Value(object.ParentCatalog().GetName().GetIdentifierName()),
		                Value(object.ParentSchema().GetSchemaName()), Value(object.name.GetIdentifierName()),
		                Value(Declaration::KindName(declaration.kind)),
		                Value::LIST(LogicalType::VARCHAR, std::move(columns)), Value(declaration.ToString()),
		                Value::BOOLEAN(enforced), Value(in_session ? "session" : "database"),
		                Value(stale.empty() ? "valid" : "stale"),
		                reason.empty() ? Value(LogicalType::VARCHAR) : Value(reason), declaration.verified_at});
	}

	string ReasonNotKey(CatalogEntry &object, const Declaration &declaration) {
		if (declaration.kind != DeclarationKind::UNIQUE) {
			return string();
		}
		for (auto &key : DeclarationStore::Keys(context, object)) {
			if (key.IdentifiesRows() && Declaration::SameColumnSet(key.columns, declaration.columns)) {
				return string();
			}
		}
		return "no key: its columns may be NULL";
	}

	ClientContext &context;
	vector<vector<Value>> rows;
};

unique_ptr<GlobalTableFunctionState> InitDeclarations(ClientContext &context, TableFunctionInitInput &input) {
	auto result = make_uniq<DeclarationsState>();
	result->rows = RowCollector(context).Collect();
	return std::move(result);
}

void ListDeclarations(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &state = input.global_state->Cast<DeclarationsState>();
	for (idx_t count = 0; count < STANDARD_VECTOR_SIZE && state.offset < state.rows.size(); count++) {
		auto &row = state.rows[state.offset++];
		for (idx_t column = 0; column < row.size(); column++) {
			output.data[column].Append(row[column]);
		}
	}
}

} // namespace

void DeclarationsFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(TableFunction("merganser_declarations", vector<LogicalType>(), ListDeclarations,
	                                      BindDeclarations, InitDeclarations));
}

} // namespace merganser
