#include "declarations/declaration_binding.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/object_columns.hpp"

#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/main/config.hpp"

namespace merganser {

namespace {

const char *ObjectType(const CatalogEntry &object) {
	return object.type == CatalogType::VIEW_ENTRY ? "view" : "table";
}

bool Matches(const Declaration &declaration, const Declaration &dropped) {
	if (declaration.kind != dropped.kind) {
		return false;
	}
	switch (declaration.kind) {
	case DeclarationKind::UNIQUE:
		return Declaration::SameColumnSet(declaration.columns, dropped.columns);
	case DeclarationKind::FOREIGN_KEY:
		return Declaration::SameColumns(declaration.columns, dropped.columns);
	default:
		return true;
	}
}

string Described(const Declaration &dropped) {
	auto kind = StringUtil::Upper(Declaration::KindName(dropped.kind));
	return dropped.columns.empty() ? kind : kind + " " + Declaration::ColumnList(dropped.columns);
}

} // namespace

DeclarationBinding::DeclarationBinding(ClientContext &context, CatalogEntry &table_or_view, QueryLocation location)
    : context(context), object(table_or_view), location(location),
      name(DeclarationStore::NameOf(table_or_view).ToString()) {
}

vector<Declaration> DeclarationBinding::Apply(DeclarationAction action, Declaration stated) {
	switch (action) {
	case DeclarationAction::ADD:
		return Add(Bind(std::move(stated)), false);
	case DeclarationAction::SET:
		return Add(Bind(std::move(stated)), true);
	case DeclarationAction::DROP:
		return Drop(stated, true);
	case DeclarationAction::RESET:
		return Drop(stated, false);
	}
	throw InternalException("Unknown action on a declaration");
}

BinderException DeclarationBinding::Error(const string &message) const {
	return location.IsValid() ? BinderException(location, "%s", message) : BinderException("%s", message);
}

Declaration DeclarationBinding::Bind(Declaration declaration) {
	BindColumns(declaration);
	if (declaration.kind == DeclarationKind::SORTED_BY) {
		BindOrders(declaration);
	}
	if (declaration.kind == DeclarationKind::FOREIGN_KEY) {
		BindReference(declaration);
	}
	return declaration;
}

void DeclarationBinding::BindColumns(Declaration &declaration) {
	auto columns = ObjectColumns::Of(context, object, ViewColumns::FRESH);
	auto kind = StringUtil::Upper(Declaration::KindName(declaration.kind));
	if (declaration.columns.empty()) {
		throw Error(kind + " needs at least one column of " + name);
	}
	declaration.types.clear();
	declaration.positions.clear();
	identifier_set_t seen;
	for (auto &column : declaration.columns) {
		auto index = columns.Find(column);
		if (!index.IsValid()) {
			throw Error("\"" + column + "\" is not a column of " + ObjectType(object) + " " + name + "; it has " +
			            Declaration::ColumnList(columns.names));
		}
		if (!seen.insert(Identifier(column)).second) {
			throw Error("Column \"" + column + "\" appears twice in " + kind);
		}
		column = columns.names[index.GetIndex()];
		declaration.types.push_back(columns.types[index.GetIndex()].ToString());
		if (object.type == CatalogType::TABLE_ENTRY) {
			declaration.positions.push_back(index.GetIndex());
		}
	}
}

void DeclarationBinding::BindOrders(Declaration &declaration) {
	auto &config = DBConfig::GetConfig(context);
	for (idx_t i = 0; i < declaration.columns.size(); i++) {
		auto &direction = declaration.directions[i];
		direction = config.ResolveOrder(context, direction);
		declaration.null_orders[i] = config.ResolveNullOrder(context, direction, declaration.null_orders[i]);
	}
}

optional_ptr<CatalogEntry> DeclarationBinding::FindReferenced(const QualifiedName &written) {
	if (written.Path().size() == 1) {
		// as DuckDB's own foreign keys: first beside the object
		auto beside = DeclarationStore::Find(context, object.ParentSchema().GetQualifiedName(written.Name()));
		if (beside) {
			return beside;
		}
	} else {
		// a name without its database: first in the object's
		auto path = written.Path();
		vector<Identifier> schemas(path.begin(), path.end() - 1);
		auto within =
		    DeclarationStore::Find(context, QualifiedName::FromCatalogSchema(object.ParentCatalog().GetName(),
			                                                                 std::move(schemas), written.Name()));
		if (within) {
			return within;
		}
	}
	return DeclarationStore::Find(context, written);
}

vector<string> DeclarationBinding::PrimaryKeyOf(CatalogEntry &referenced) {
	for (auto &key : DeclarationStore::Keys(context, referenced)) {
		if (key.primary) {
			return key.columns;
		}
	}
	throw Error("FOREIGN KEY names no columns of " + DeclarationStore::NameOf(referenced).ToString() +
	            ", which has no primary key; write REFERENCES " + SQLIdentifier::ToString(referenced.name) + " (...)");
}

void DeclarationBinding::BindReference(Declaration &declaration) {
	auto referenced = FindReferenced(declaration.referenced);
	if (!referenced) {
		throw Error("FOREIGN KEY references " + declaration.referenced.ToString() +
		            ", which is no table or view of this database");
	}
	declaration.referenced = DeclarationStore::NameOf(*referenced);
	auto referenced_name = declaration.referenced.ToString();
	if (declaration.referenced_columns.empty()) {
		declaration.referenced_columns = PrimaryKeyOf(*referenced);
	}
	if (declaration.referenced_columns.size() != declaration.columns.size()) {
		throw Error("FOREIGN KEY " + Declaration::ColumnList(declaration.columns) + " references " + referenced_name +
		            " " + Declaration::ColumnList(declaration.referenced_columns) +
		            ": both sides need the same number of columns");
	}
	auto columns = ObjectColumns::Of(context, *referenced, ViewColumns::FRESH);
	declaration.referenced_positions.clear();
	for (idx_t i = 0; i < declaration.columns.size(); i++) {
		auto &column = declaration.referenced_columns[i];
		auto index = columns.Find(column);
		if (!index.IsValid()) {
			throw Error("\"" + column + "\" is not a column of " + ObjectType(*referenced) + " " + referenced_name +
			            "; it has " + Declaration::ColumnList(columns.names));
		}
		column = columns.names[index.GetIndex()];
		auto type = columns.types[index.GetIndex()].ToString();
		if (type != declaration.types[i]) {
			throw Error("FOREIGN KEY column \"" + declaration.columns[i] + "\" is " + declaration.types[i] +
			            ", but \"" + column + "\" of " + referenced_name + " is " + type +
			            "; cast one of them in its view or table");
		}
		if (referenced->type == CatalogType::TABLE_ENTRY) {
			declaration.referenced_positions.push_back(index.GetIndex());
		}
	}
	auto keys = DeclarationStore::Keys(context, *referenced);
	auto is_key = std::any_of(keys.begin(), keys.end(), [&](const Key &key) {
		return key.IdentifiesRows() && Declaration::SameColumnSet(key.columns, declaration.referenced_columns);
	});
	if (!is_key) {
		throw Error(Declaration::ColumnList(declaration.referenced_columns) + " is not a key of " + referenced_name +
		            "; declare it first: ALTER " + StringUtil::Upper(ObjectType(*referenced)) + " " + referenced_name +
		            " ADD PRIMARY KEY " + Declaration::ColumnList(declaration.referenced_columns) +
		            " NOT ENFORCED RELY");
	}
}

void DeclarationBinding::RefuseSecond(const Declaration &declaration) {
	if (declaration.kind == DeclarationKind::PRIMARY_KEY) {
		for (auto &key : DeclarationStore::Keys(context, object)) {
			if (key.primary && key.enforced) {
				throw Error("Table " + name + " has the primary key " + Declaration::ColumnList(key.columns) +
				            ", which DuckDB enforces: it needs no declaration");
			}
		}
	}
	for (auto &stored : DeclarationStore::All(context, object)) {
		if (stored.stale.empty() && stored.declaration.IsReplacedBy(declaration)) {
			throw Error(name + " already declares " + stored.declaration.ToString() + "; drop it first");
		}
	}
}

vector<Declaration> DeclarationBinding::Add(Declaration declaration, bool replace) {
	if (!replace) {
		RefuseSecond(declaration);
	}
	vector<Declaration> result;
	for (auto &stored : DeclarationStore::All(context, object)) {
		if (!stored.declaration.IsReplacedBy(declaration)) {
			result.push_back(std::move(stored.declaration));
		}
	}
	result.push_back(std::move(declaration));
	return result;
}

vector<Declaration> DeclarationBinding::Drop(const Declaration &declaration, bool must_exist) {
	vector<Declaration> result;
	auto all = DeclarationStore::All(context, object);
	for (auto &stored : all) {
		if (!Matches(stored.declaration, declaration)) {
			result.push_back(std::move(stored.declaration));
		}
	}
	if (must_exist && result.size() == all.size()) {
		FailToDrop(declaration);
	}
	return result;
}

void DeclarationBinding::FailToDrop(const Declaration &declaration) {
	for (auto &key : DeclarationStore::Keys(context, object)) {
		bool same_kind = key.primary ? declaration.kind == DeclarationKind::PRIMARY_KEY
		                             : declaration.kind == DeclarationKind::UNIQUE &&
		                                   Declaration::SameColumnSet(key.columns, declaration.columns);
		if (key.enforced && same_kind) {
			throw Error(Described(declaration) + " of " + name + " is enforced by DuckDB, not declared");
		}
	}
	throw Error(name + " declares no " + Described(declaration) + "; FROM merganser_declarations() lists what it does");
}

} // namespace merganser
