#include "declarations/object_columns.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/view_catalog_entry.hpp"

namespace merganser {

namespace {

ObjectColumns ColumnsOfTable(const TableCatalogEntry &table) {
	ObjectColumns result;
	for (auto &column : table.GetColumns().Logical()) {
		result.names.push_back(column.GetName().GetIdentifierName());
		result.types.push_back(column.GetType());
	}
	return result;
}

ObjectColumns ColumnsOfView(ClientContext &context, ViewCatalogEntry &view, ViewColumns view_columns) {
	view.BindView(context,
	              view_columns == ViewColumns::FRESH ? BindViewAction::FORCE_REBIND : BindViewAction::BIND_IF_UNBOUND);
	auto bound = view.GetColumnInfo();
	ObjectColumns result;
	result.types = bound->types;
	for (idx_t i = 0; i < bound->names.size(); i++) {
		auto &name = i < view.aliases.size() ? view.aliases[i] : bound->names[i];
		result.names.push_back(name.GetIdentifierName());
	}
	return result;
}

} // namespace

ObjectColumns ObjectColumns::Of(ClientContext &context, CatalogEntry &table_or_view, ViewColumns view_columns) {
	if (table_or_view.type == CatalogType::VIEW_ENTRY) {
		return ColumnsOfView(context, table_or_view.Cast<ViewCatalogEntry>(), view_columns);
	}
	return ColumnsOfTable(table_or_view.Cast<TableCatalogEntry>());
}

optional_idx ObjectColumns::Find(const string &name) const {
	for (idx_t i = 0; i < names.size(); i++) {
		if (StringUtil::CIEquals(names[i], name)) {
			return i;
		}
	}
	return optional_idx();
}

} // namespace merganser
