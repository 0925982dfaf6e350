#include "declarations/declarations_function.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/session_declarations.hpp"
#include "listed_rows.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

struct DeclarationsState : public GlobalTableFunctionState {
	vector<vector<Value>> rows;
	idx_t next = 0;
};

unique_ptr<FunctionData> BindDeclarations(ClientContext &context, TableFunctionBindInput &input,
                                          vector<LogicalType> &return_types, vector<Identifier> &names) {
	auto text = LogicalType::VARCHAR;
	names = {"database_name", "schema_name", "object_name", "kind",   "columns",     "declaration",
	         "enforced",      "scope",       "status",      "reason", "verified_at", "statement"};
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
	                LogicalType::TIMESTAMP_TZ,
	                text};
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
		auto unreadable = DeclarationStore::Unreadable(object);
		if (!unreadable.empty()) {
			AddUnreadable(object, "the line with declarations in its comment cannot be read: " + unreadable);
		}
	}

	//! Some declarations, nobody knows which.
	void AddUnreadable(CatalogEntry &object, const string &reason) {
		auto row = NameOf(object);
		auto text = Value(LogicalType::VARCHAR);
		for (auto &value :
		     {text, Value(LogicalType::LIST(LogicalType::VARCHAR)), text, Value::BOOLEAN(false), Value("database"),
		      Value("unreadable"), Value(reason), Value(LogicalType::TIMESTAMP_TZ), text}) {
			row.push_back(value);
		}
		rows.push_back(std::move(row));
	}

	//! The first three columns: names as they are, not quoted. A schema within schemas is the path to it, as SQL.
	static vector<Value> NameOf(CatalogEntry &object) {
		auto schemas = object.ParentSchema().GetSchemaPath();
		auto schema = schemas.size() == 1 ? schemas[0].GetIdentifierName() : object.ParentSchema().GetSchemaName();
		return {Value(object.ParentCatalog().GetName().GetIdentifierName()), Value(schema),
		        Value(object.name.GetIdentifierName())};
	}

	//! The statement that makes the declaration, without the name of its database, so that it makes it in another one.
	static string StatementOf(CatalogEntry &object, const Declaration &declaration) {
		auto name = DeclarationStore::NameOf(object);
		auto within = QualifiedName::FromCatalogSchema(Identifier(), name.SchemaPath(), name.Name());
		auto stated = declaration;
		if (stated.referenced.Catalog() == name.Catalog()) {
			auto &referenced = declaration.referenced;
			stated.referenced =
			    referenced.SchemaPath() == name.SchemaPath()
			        ? QualifiedName(referenced.Name())
			        : QualifiedName::FromCatalogSchema(Identifier(), referenced.SchemaPath(), referenced.Name());
		}
		bool layout = stated.kind == DeclarationKind::PARTITIONED_BY || stated.kind == DeclarationKind::SORTED_BY;
		return string("ALTER ") + (object.type == CatalogType::VIEW_ENTRY ? "VIEW " : "TABLE ") +
		       (object.temporary ? QualifiedName(name.Name()) : within).ToString() + (layout ? " SET " : " ADD ") +
		       stated.ToString() + (layout ? ";" : " NOT ENFORCED RELY;");
	}

	void Add(CatalogEntry &object, const Declaration &declaration, bool enforced, bool in_session,
	         const string &stale) {
		vector<Value> columns;
		for (auto &column : declaration.columns) {
			columns.emplace_back(column);
		}
		auto reason = stale.empty() ? ReasonNotKey(object, declaration) : stale;
		auto row = NameOf(object);
		for (auto &value :
		     {Value(Declaration::KindName(declaration.kind)), Value::LIST(LogicalType::VARCHAR, std::move(columns)),
		      Value(declaration.ToString()), Value::BOOLEAN(enforced), Value(in_session ? "session" : "database"),
		      Value(stale.empty() ? "valid" : "stale"), reason.empty() ? Value(LogicalType::VARCHAR) : Value(reason),
		      declaration.verified_at,
		      enforced ? Value(LogicalType::VARCHAR) : Value(StatementOf(object, declaration))}) {
			row.push_back(value);
		}
		rows.push_back(std::move(row));
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
	ListedRows::Emit(state.rows, state.next, output);
}

} // namespace

void DeclarationsFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(TableFunction("merganser_declarations", vector<LogicalType>(), ListDeclarations,
	                                      BindDeclarations, InitDeclarations));
}

} // namespace merganser
