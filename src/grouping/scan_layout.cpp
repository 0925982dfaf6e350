#include "grouping/scan_layout.hpp"

#include "declarations/declaration_store.hpp"
#include "declarations/shown_scans.hpp"
#include "grouping/recorded_layout.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"

namespace merganser {

namespace {

optional_idx ScanColumn(const LogicalGet &get, const string &name) {
	for (idx_t i = 0; i < get.names.size(); i++) {
		if (StringUtil::CIEquals(get.names[i].GetIdentifierName(), name)) {
			return i;
		}
	}
	return optional_idx();
}

//! `column_of` maps a declared column's name to the scan's column.
template <class COLUMN_OF>
bool FromDeclarations(const vector<Declaration> &declarations, COLUMN_OF column_of, ScanLayout &result) {
	auto partitioned = false;
	for (auto &declaration : declarations) {
		if (declaration.kind == DeclarationKind::PARTITIONED_BY) {
			for (auto &name : declaration.columns) {
				auto column = column_of(name);
				if (!column.IsValid()) {
					return false;
				}
				result.partitioned_by.push_back(column.GetIndex());
			}
			partitioned = true;
		} else if (declaration.kind == DeclarationKind::SORTED_BY) {
			for (idx_t i = 0; i < declaration.columns.size(); i++) {
				auto column = column_of(declaration.columns[i]);
				if (!column.IsValid()) {
					break; // a prefix of a sort order is a sort order
				}
				result.sorted_by.push_back(
				    OrderItem {column.GetIndex(), declaration.directions[i], declaration.null_orders[i]});
			}
		}
	}
	return partitioned;
}

bool TryView(ClientContext &context, const ShownScan &shown, const LogicalGet &get, ScanLayout &result) {
	auto name = shown.view.get().name.GetIdentifierName();
	result.source = "declared by view " + name;
	result.remedy = "CALL merganser_verify('" + name + "') shows the rows; ALTER VIEW " + name +
	                " RESET PARTITIONED BY, or RESET SORTED BY, takes the declaration back";
	return FromDeclarations(
	    DeclarationStore::Valid(context, shown.view),
	    [&](const string &column) { return ScanColumn(get, shown.ScanColumns({column})[0]); }, result);
}

bool TryTable(ClientContext &context, TableCatalogEntry &table, const LogicalGet &get, ScanLayout &result) {
	auto name = table.name.GetIdentifierName();
	result.source = "declared by table " + name;
	result.remedy = "CALL merganser_verify('" + name + "') shows the rows; ALTER TABLE " + name +
	                " RESET PARTITIONED BY, or RESET SORTED BY, takes the declaration back";
	return FromDeclarations(
	    DeclarationStore::Valid(context, table), [&](const string &column) { return ScanColumn(get, column); }, result);
}

} // namespace

bool ScanLayouts::TryFind(ClientContext &context, const LogicalGet &get, ScanLayout &result) {
	auto table = get.GetTable();
	if (table) {
		return table->IsDuckTable() && TryTable(context, *table, get, result);
	}
	if (!ShownScans::ReadsFiles(get)) {
		return false;
	}
	for (auto &shown : ShownScans::Governing(context, get)) {
		ScanLayout declared;
		if (TryView(context, shown, get, declared)) {
			result = std::move(declared);
			return true;
		}
	}
	return RecordedLayout::TryRead(context, get, result);
}

} // namespace merganser
