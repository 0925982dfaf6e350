#include "declarations/declaration_store.hpp"

#include "declarations/declaration_comment.hpp"
#include "declarations/object_columns.hpp"
#include "declarations/session_declarations.hpp"

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/parser/constraints/foreign_key_constraint.hpp"
#include "duckdb/parser/constraints/not_null_constraint.hpp"
#include "duckdb/parser/constraints/unique_constraint.hpp"
#include "duckdb/parser/parsed_data/alter_table_info.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

namespace {

bool IsTableOrView(const CatalogEntry &entry) {
	return entry.type == CatalogType::TABLE_ENTRY || entry.type == CatalogType::VIEW_ENTRY;
}

//! What the session has declared in place of the object's comment; null if nothing.
optional_ptr<const vector<Declaration>> InSession(ClientContext &context, CatalogEntry &entry) {
	return DeclarationStore::KeptInSession(entry) ? SessionDeclarations::Get(context).Of(entry) : nullptr;
}

vector<Declaration> ReadStored(ClientContext &context, CatalogEntry &entry) {
	if (!IsTableOrView(entry)) {
		return {};
	}
	auto in_session = InSession(context, entry);
	return in_session ? *in_session
	                  : DeclarationComment::Parse(entry.comment, entry.ParentCatalog().GetName()).declarations;
}

vector<string> Names(const vector<Identifier> &identifiers) {
	vector<string> result;
	for (auto &identifier : identifiers) {
		result.push_back(identifier.GetIdentifierName());
	}
	return result;
}

string QuotedName(const string &column) {
	return "column \"" + column + "\"";
}

string DifferingColumn(const vector<string> &names, const vector<string> &types, const vector<idx_t> &positions,
                       const ObjectColumns &columns) {
	for (idx_t i = 0; i < names.size(); i++) {
		auto index = columns.Find(names[i]);
		if (!index.IsValid()) {
			return QuotedName(names[i]) + " no longer exists";
		}
		auto type = columns.types[index.GetIndex()].ToString();
		if (type != types[i]) {
			return QuotedName(names[i]) + " was " + types[i] + " and is now " + type;
		}
		if (!positions.empty() && positions[i] != index.GetIndex()) {
			return QuotedName(names[i]) + " is another one: it was number " + to_string(positions[i] + 1) +
			       " of the table's columns and is now number " + to_string(index.GetIndex() + 1);
		}
	}
	return string();
}

//! Why the object's columns are not those a declaration was made for; empty if they are.
string StaleColumns(ClientContext &context, CatalogEntry &entry, const vector<string> &names,
                    const vector<string> &types, const vector<idx_t> &positions, ViewColumns view_columns) {
	try {
		return DifferingColumn(names, types, positions, ObjectColumns::Of(context, entry, view_columns));
	} catch (const Exception &error) {
		// a view over something that is gone
		return "it cannot be bound: " + ErrorData(error).RawMessage();
	}
}

class KeyCollector {
public:
	KeyCollector(ClientContext &context, CatalogEntry &entry) : entry(entry), name(DeclarationStore::NameOf(entry)) {
		if (entry.type == CatalogType::TABLE_ENTRY) {
			AddEnforced(entry.Cast<TableCatalogEntry>());
		}
		for (auto &key : keys) {
			key.guaranteed = NotNull(key.columns);
		}
		AddDeclared(context);
	}

	vector<Key> Keys() {
		for (auto &key : keys) {
			key.not_null = NotNull(key.columns);
		}
		std::stable_sort(keys.begin(), keys.end(), [](const Key &a, const Key &b) { return a.primary && !b.primary; });
		return std::move(keys);
	}

	bool NotNull(const vector<string> &columns) const {
		return std::all_of(columns.begin(), columns.end(),
		                   [&](const string &column) { return not_null.count(Identifier(column)) > 0; });
	}

private:
	void AddEnforced(TableCatalogEntry &table) {
		auto &columns = table.GetColumns();
		for (auto &constraint : table.GetConstraints()) {
			if (constraint->type == ConstraintType::NOT_NULL) {
				not_null.insert(columns.GetColumn(constraint->Cast<NotNullConstraint>().index).GetName());
			}
			if (constraint->type != ConstraintType::UNIQUE) {
				continue;
			}
			auto &unique = constraint->Cast<UniqueConstraint>();
			vector<string> names;
			for (auto &index : unique.GetLogicalIndexes(columns)) {
				names.push_back(columns.GetColumn(index).GetName().GetIdentifierName());
			}
			Add(std::move(names), unique.IsPrimaryKey(), true);
		}
	}

	void AddDeclared(ClientContext &context) {
		for (auto &declaration : ReadStored(context, entry)) {
			bool primary = declaration.kind == DeclarationKind::PRIMARY_KEY;
			bool usable = declaration.voided.empty() && (primary || declaration.kind == DeclarationKind::UNIQUE);
			if (usable && StaleColumns(context, entry, declaration.columns, declaration.types, declaration.positions,
			                           ViewColumns::KNOWN)
			                  .empty()) {
				Add(declaration.columns, primary, false);
			}
		}
	}

	void Add(vector<string> columns, bool primary, bool enforced) {
		if (primary) {
			for (auto &column : columns) {
				not_null.insert(Identifier(column));
			}
		}
		Key key;
		key.object = name;
		key.columns = std::move(columns);
		key.primary = primary;
		key.enforced = enforced;
		keys.push_back(std::move(key));
	}

	CatalogEntry &entry;
	QualifiedName name;
	vector<Key> keys;
	identifier_set_t not_null;
};

bool IsKeyOf(ClientContext &context, CatalogEntry &entry, const vector<string> &columns) {
	auto keys = DeclarationStore::Keys(context, entry);
	return std::any_of(keys.begin(), keys.end(), [&](const Key &key) {
		return key.IdentifiesRows() && Declaration::SameColumnSet(key.columns, columns);
	});
}

//! Why what a foreign key points to is not what it was made for; empty if it is.
string StaleReference(ClientContext &context, const Declaration &declaration, ViewColumns view_columns) {
	if (declaration.kind != DeclarationKind::FOREIGN_KEY) {
		return string();
	}
	auto target = DeclarationStore::Find(context, declaration.referenced);
	if (!target) {
		return "it references " + declaration.referenced.ToString() + ", which does not exist";
	}
	auto stale = StaleColumns(context, *target, declaration.referenced_columns, declaration.types,
	                          declaration.referenced_positions, view_columns);
	if (!stale.empty()) {
		return "of " + declaration.referenced.ToString() + ", " + stale;
	}
	if (!IsKeyOf(context, *target, declaration.referenced_columns)) {
		return Declaration::ColumnList(declaration.referenced_columns) + " is no longer a key of " +
		       declaration.referenced.ToString();
	}
	return string();
}

string StaleReason(ClientContext &context, CatalogEntry &entry, const Declaration &declaration,
                   ViewColumns view_columns) {
	if (!declaration.voided.empty()) {
		auto gone = declaration.kind == DeclarationKind::FOREIGN_KEY &&
		            !DeclarationStore::Find(context, declaration.referenced);
		return gone ? StaleReference(context, declaration, view_columns) : declaration.voided;
	}
	auto reason =
	    StaleColumns(context, entry, declaration.columns, declaration.types, declaration.positions, view_columns);
	return reason.empty() ? StaleReference(context, declaration, view_columns) : reason;
}

} // namespace

vector<Declaration> DeclarationStore::Stored(ClientContext &context, CatalogEntry &table_or_view) {
	return ReadStored(context, table_or_view);
}

string DeclarationStore::Unreadable(CatalogEntry &table_or_view) {
	if (!IsTableOrView(table_or_view)) {
		return string();
	}
	return DeclarationComment::Parse(table_or_view.comment, table_or_view.ParentCatalog().GetName()).unreadable;
}

vector<StoredDeclaration> DeclarationStore::All(ClientContext &context, CatalogEntry &table_or_view) {
	vector<StoredDeclaration> result;
	bool in_session = InSession(context, table_or_view) != nullptr;
	for (auto &declaration : ReadStored(context, table_or_view)) {
		StoredDeclaration stored;
		stored.stale = StaleReason(context, table_or_view, declaration, ViewColumns::FRESH);
		stored.in_session = in_session;
		stored.declaration = std::move(declaration);
		result.push_back(std::move(stored));
	}
	return result;
}

vector<Declaration> DeclarationStore::Valid(ClientContext &context, CatalogEntry &table_or_view) {
	vector<Declaration> result;
	for (auto &declaration : ReadStored(context, table_or_view)) {
		if (StaleReason(context, table_or_view, declaration, ViewColumns::KNOWN).empty()) {
			result.push_back(std::move(declaration));
		}
	}
	return result;
}

vector<Key> DeclarationStore::Keys(ClientContext &context, CatalogEntry &table_or_view) {
	if (!IsTableOrView(table_or_view)) {
		return {};
	}
	return KeyCollector(context, table_or_view).Keys();
}

vector<ForeignKey> DeclarationStore::ForeignKeys(ClientContext &context, CatalogEntry &table_or_view) {
	vector<ForeignKey> result;
	if (!IsTableOrView(table_or_view)) {
		return result;
	}
	KeyCollector known(context, table_or_view);
	auto add = [&](vector<string> columns, QualifiedName referenced, vector<string> referenced_columns, bool enforced) {
		ForeignKey foreign_key;
		foreign_key.object = NameOf(table_or_view);
		foreign_key.columns = std::move(columns);
		foreign_key.referenced = std::move(referenced);
		foreign_key.referenced_columns = std::move(referenced_columns);
		foreign_key.enforced = enforced;
		foreign_key.nullable = !known.NotNull(foreign_key.columns);
		result.push_back(std::move(foreign_key));
	};
	if (table_or_view.type == CatalogType::TABLE_ENTRY) {
		for (auto &constraint : table_or_view.Cast<TableCatalogEntry>().GetConstraints()) {
			if (constraint->type != ConstraintType::FOREIGN_KEY) {
				continue;
			}
			auto &enforced = constraint->Cast<ForeignKeyConstraint>();
			if (enforced.info.IsAppendConstraint()) {
				// DuckDB's foreign keys stay within one schema
				add(Names(enforced.fk_columns), table_or_view.ParentSchema().GetQualifiedName(enforced.info.table),
				    Names(enforced.pk_columns), true);
			}
		}
	}
	for (auto &declaration : Valid(context, table_or_view)) {
		if (declaration.kind == DeclarationKind::FOREIGN_KEY) {
			add(declaration.columns, declaration.referenced, declaration.referenced_columns, false);
		}
	}
	return result;
}

vector<reference<CatalogEntry>> DeclarationStore::DeclaredObjects(ClientContext &context, Catalog &catalog) {
	vector<reference<CatalogEntry>> result;
	for (auto &schema : catalog.GetSchemas(context)) {
		// DuckDB keeps views among the tables
		schema.get().Scan(context, CatalogType::TABLE_ENTRY, [&](CatalogEntry &entry) {
			if (!ReadStored(context, entry).empty()) {
				result.push_back(entry);
			}
		});
	}
	return result;
}

vector<reference<ViewCatalogEntry>> DeclarationStore::DeclaredViews(ClientContext &context, Catalog &catalog) {
	vector<reference<ViewCatalogEntry>> result;
	for (auto &schema : catalog.GetSchemas(context)) {
		schema.get().Scan(context, CatalogType::TABLE_ENTRY, [&](CatalogEntry &entry) {
			if (entry.type == CatalogType::VIEW_ENTRY &&
			    (DeclarationComment::HasDeclarations(entry.comment) || InSession(context, entry))) {
				result.push_back(entry.Cast<ViewCatalogEntry>());
			}
		});
	}
	return result;
}

void DeclarationStore::Write(ClientContext &context, CatalogEntry &table_or_view, vector<Declaration> declarations) {
	if (KeptInSession(table_or_view)) {
		SessionDeclarations::Get(context).Set(table_or_view, std::move(declarations));
		return;
	}
	auto &catalog = table_or_view.ParentCatalog();
	auto comment = DeclarationComment::Parse(table_or_view.comment, catalog.GetName());
	if (comment.of_other_version) {
		throw InvalidInputException(
		    "The comment of %s has declarations that cannot be kept beside new ones: %s. COMMENT "
		    "ON replaces them",
		    NameOf(table_or_view).ToString(), comment.unreadable);
	}
	comment.declarations = std::move(declarations);
	SetCommentInfo info(table_or_view.type, NameOf(table_or_view), comment.ToValue(catalog.GetName()),
	                    OnEntryNotFound::THROW_EXCEPTION);
	catalog.Alter(context, info);
}

bool DeclarationStore::KeptInSession(CatalogEntry &table_or_view) {
	auto &catalog = table_or_view.ParentCatalog();
	return !catalog.IsDuckCatalog() || catalog.GetAttached().IsReadOnly();
}

QualifiedName DeclarationStore::NameOf(CatalogEntry &table_or_view) {
	return table_or_view.ParentSchema().GetQualifiedName(table_or_view.name);
}

optional_ptr<CatalogEntry> DeclarationStore::Find(ClientContext &context, const QualifiedName &name) {
	if (name.Name().empty()) {
		return nullptr;
	}
	CatalogEntryRetriever retriever(context);
	EntryLookupInfo lookup(CatalogType::TABLE_ENTRY, Binder::BindTableName(retriever, name));
	auto entry = retriever.GetEntry(lookup, OnEntryNotFound::RETURN_NULL);
	return entry && IsTableOrView(*entry) ? entry : nullptr;
}

} // namespace merganser
