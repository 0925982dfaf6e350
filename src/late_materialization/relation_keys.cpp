#include "late_materialization/relation_keys.hpp"

#include "declarations/assumed_keys.hpp"
#include "declarations/same_plan.hpp"
#include "keys/column_statistics.hpp"
#include "properties/column_equivalences.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

bool ScansDuckTable(const LogicalGet &get) {
	auto table = get.GetTable();
	return get.children.empty() && table && table->IsDuckTable();
}

//! The scan of files under projections and at least one filter; null if the subtree is anything else.
optional_ptr<LogicalGet> FilteredFileScan(LogicalOperator &op) {
	reference<LogicalOperator> current = op;
	bool filtered = false;
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION ||
	       current.get().type == LogicalOperatorType::LOGICAL_FILTER) {
		filtered = filtered || current.get().type == LogicalOperatorType::LOGICAL_FILTER;
		current = *current.get().children[0];
	}
	if (!filtered || current.get().type != LogicalOperatorType::LOGICAL_GET) {
		return nullptr;
	}
	auto &get = current.get().Cast<LogicalGet>();
	return ShownScans::ReadsFiles(get) ? optional_ptr<LogicalGet>(get) : nullptr;
}

//! Position among the plan's columns, or invalid if the plan does not read the column.
optional_idx FindScanned(const LogicalGet &get, const string &name) {
	auto &column_ids = get.GetColumnIds();
	for (idx_t i = 0; i < column_ids.size(); i++) {
		if (!column_ids[i].HasChildren() && get.GetColumnName(column_ids[i]) == Identifier(name)) {
			return i;
		}
	}
	return optional_idx();
}

bool TryBindColumns(const LogicalGet &get, const vector<string> &names, vector<ColumnBinding> &columns, bool &inexact) {
	inexact = false;
	for (auto &name : names) {
		auto index = FindScanned(get, name);
		if (!index.IsValid()) {
			return false;
		}
		auto &type = get.GetColumnType(get.GetColumnIds()[index.GetIndex()]);
		inexact = inexact || !ColumnEquivalences::HasIdentityEquality(type);
		columns.emplace_back(get.table_index, ProjectionIndex(index.GetIndex()));
	}
	return true;
}

//! Whether the statistics of the files rule out NULL in all of `columns`. A table's own statistics say nothing here:
//! they change with the next INSERT, and a prepared plan stays; NOT NULL constraints do not.
bool FilesRuleOutNull(ClientContext &context, const LogicalGet &get, const vector<ColumnBinding> &columns) {
	if (get.GetTable()) {
		return false;
	}
	for (auto &column : columns) {
		auto statistics = ColumnStatistics::Of(context, get, get.GetColumnIndex(column));
		if (!statistics || statistics->CanHaveNull()) {
			return false;
		}
	}
	return true;
}

//! `rename` maps a column of the catalog object to the scan's own name for it.
template <class RENAME>
void AddKeys(ClientContext &context, CatalogEntry &entry, const LogicalGet &get, RENAME rename, ScanKeys &result) {
	for (auto &key : DeclarationStore::Keys(context, entry)) {
		RelationKey bound;
		if (!TryBindColumns(get, rename(key.columns), bound.columns, bound.inexact)) {
			continue;
		}
		bound.name = key.ToString();
		bound.object = key.object.ToString();
		bound.enforced = key.enforced;
		bound.guaranteed = key.guaranteed;
		bound.nullable = !key.IdentifiesRows();
		if (bound.columns.size() == 1) {
			bound.dense = DenseIntegers::In(context, get, get.GetColumnIds()[bound.columns[0].column_index]);
		}
		result.keys.push_back(std::move(bound));
	}
	for (auto &foreign_key : DeclarationStore::ForeignKeys(context, entry)) {
		RelationForeignKey bound;
		bool inexact;
		if (!TryBindColumns(get, rename(foreign_key.columns), bound.columns, inexact) || inexact) {
			continue;
		}
		bound.referenced = foreign_key.referenced;
		bound.referenced_columns = foreign_key.referenced_columns;
		bound.name = foreign_key.ToString();
		bound.sentence = foreign_key.ToSentence();
		bound.object = foreign_key.object.ToString();
		bound.nullable = foreign_key.nullable && !FilesRuleOutNull(context, get, bound.columns);
		result.foreign_keys.push_back(std::move(bound));
	}
}

//! Whether keys may be stated of the scan; then it is a relation, also without any key.
bool AddAssumedKeys(const AssumedKeys &assumed, const LogicalGet &get, ScanKeys &result) {
	auto relation = AssumedKeys::RelationOf(get);
	for (auto &key : assumed.keys) {
		RelationKey bound;
		if (key.relation == relation && TryBindColumns(get, key.columns, bound.columns, bound.inexact)) {
			bound.name = key.name;
			bound.object = key.relation;
			result.keys.push_back(std::move(bound));
		}
	}
	if (result.name.empty() && !relation.empty()) {
		result.name = AssumedKeys::StemOf(get);
	}
	return !relation.empty();
}

} // namespace

RelationKeys::RelationKeys(Optimizer &optimizer) : optimizer(optimizer) {
}

bool RelationKeys::TryOfScan(const LogicalGet &get, ScanKeys &result) {
	auto known = TryOfStatedKeys(get, result);
	auto assumed = AssumedKeys::Find(optimizer.context);
	return (assumed && AddAssumedKeys(*assumed, get, result)) || known;
}

bool RelationKeys::TryOfStatedKeys(const LogicalGet &get, ScanKeys &result) {
	auto unchanged = [](const vector<string> &names) {
		return names;
	};
	if (ScansDuckTable(get)) {
		auto &table = *get.GetTable();
		result.name = table.name.GetIdentifierName();
		ScannedObject object;
		object.name = DeclarationStore::NameOf(table);
		for (auto &column : get.names) {
			object.scan_column[column.GetIdentifierName()] = column.GetIdentifierName();
		}
		result.objects.push_back(std::move(object));
		AddKeys(optimizer.context, table, get, unchanged, result);
		return true;
	}
	if (!ShownScans::ReadsFiles(get)) {
		return false;
	}
	for (auto &shown : ShownScans::Of(optimizer.context, get)) {
		auto &entry = shown.view.get();
		result.name = entry.name.GetIdentifierName();
		result.objects.push_back(ScannedObject {DeclarationStore::NameOf(entry), shown.scan_column});
		AddKeys(
		    optimizer.context, entry, get, [&](const vector<string> &names) { return shown.ScanColumns(names); },
		    result);
	}
	if (!result.objects.empty()) {
		return true;
	}
	result.name = AssumedKeys::StemOf(get);
	return Settings::ProveKeys(optimizer.context) && SeenData::MayBeReadAgain(optimizer.context, get, listed_files);
}

//! Bound once a plan, as a plan has several subtrees over one scan.
const vector<BoundView> &RelationKeys::FilteredViews(const LogicalGet &get) {
	auto entry = filtered_views.find(&get);
	if (entry == filtered_views.end()) {
		entry = filtered_views.emplace(&get, ShownScans::MoreThan(optimizer.context, get)).first;
	}
	return entry->second;
}

bool RelationKeys::TryMatchView(LogicalOperator &op, ViewMatch &result) {
	auto get = op.type == LogicalOperatorType::LOGICAL_PROJECTION ? FilteredFileScan(op) : nullptr;
	if (!get) {
		return false;
	}
	for (auto &view : FilteredViews(*get)) {
		if (!SamePlan::AreSame(op, *view.plan)) {
			continue;
		}
		auto columns = op.GetColumnBindings();
		result.name = view.view.get().name.GetIdentifierName();
		result.column_names = view.column_names;
		op.ResolveOperatorTypes();
		for (auto &key : DeclarationStore::Keys(optimizer.context, view.view.get())) {
			RelationKey bound;
			for (auto &name : key.columns) {
				for (idx_t i = 0; i < columns.size(); i++) {
					if (StringUtil::CIEquals(view.column_names[i], name)) {
						bound.columns.push_back(columns[i]);
						bound.inexact = bound.inexact || !ColumnEquivalences::HasIdentityEquality(op.types[i]);
					}
				}
			}
			if (bound.columns.size() != key.columns.size()) {
				continue;
			}
			bound.name = key.ToString();
			bound.object = key.object.ToString();
			bound.nullable = !key.IdentifiesRows();
			result.keys.push_back(std::move(bound));
		}
		return true;
	}
	return false;
}

} // namespace merganser
