#include "late_materialization/relation_keys.hpp"

#include "late_materialization/same_plan.hpp"
#include "properties/column_equivalences.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

bool ScansFiles(const LogicalGet &get) {
	return get.children.empty() && get.source_ordinality == OrdinalityType::WITHOUT_ORDINALITY && get.bind_data &&
	       dynamic_cast<const MultiFileBindData *>(get.bind_data.get());
}

bool ScansDuckTable(const LogicalGet &get) {
	auto table = get.GetTable();
	return get.children.empty() && table && table->IsDuckTable();
}

bool ContainsFileScan(const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_GET && ScansFiles(op.Cast<LogicalGet>())) {
		return true;
	}
	for (auto &child : op.children) {
		if (ContainsFileScan(*child)) {
			return true;
		}
	}
	return false;
}

void CollectScannedPaths(const LogicalOperator &op, vector<string> &paths) {
	if (op.type == LogicalOperatorType::LOGICAL_GET) {
		auto &get = op.Cast<LogicalGet>();
		if (ScansFiles(get) && !get.parameters.empty() && !get.parameters[0].IsNull()) {
			auto &parameter = get.parameters[0];
			if (parameter.type().id() == LogicalTypeId::LIST) {
				auto &list = ListValue::GetChildren(parameter);
				paths.push_back(list.empty() ? string() : list[0].ToString());
			} else {
				paths.push_back(parameter.ToString());
			}
		}
	}
	for (auto &child : op.children) {
		CollectScannedPaths(*child, paths);
	}
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
	if (get.GetTable() || !get.function.statistics_extended) {
		return false;
	}
	for (auto &column : columns) {
		TableFunctionGetStatisticsInput input(get.bind_data.get(), get.GetColumnIds()[column.column_index]);
		auto statistics = get.function.statistics_extended(context, input);
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

} // namespace

//! A view with declarations, bound as the query's binder would bind it.
struct RelationKeys::DeclaredView {
	reference<ViewCatalogEntry> entry;
	unique_ptr<LogicalOperator> plan;
	vector<string> column_names;
	//! The single scan the view shows through projections, or null if it does more.
	optional_ptr<LogicalGet> scan;
	//! For such a view: its column -> the scan's column.
	case_insensitive_map_t<string> scan_column;

	explicit DeclaredView(ViewCatalogEntry &entry) : entry(entry) {
	}

	void FindScan() {
		reference<LogicalOperator> current = *plan;
		vector<ColumnBinding> columns = plan->GetColumnBindings();
		vector<bool> plain(columns.size(), true);
		while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION) {
			auto &projection = current.get().Cast<LogicalProjection>();
			for (idx_t i = 0; i < columns.size(); i++) {
				if (!plain[i]) {
					continue;
				}
				auto &expression = projection.GetExpression(columns[i]);
				plain[i] = expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF;
				if (plain[i]) {
					columns[i] = expression.Cast<BoundColumnRefExpression>().Binding();
				}
			}
			current = *projection.children[0];
		}
		if (current.get().type != LogicalOperatorType::LOGICAL_GET) {
			return;
		}
		scan = current.get().Cast<LogicalGet>();
		for (idx_t i = 0; i < columns.size(); i++) {
			if (plain[i]) {
				scan_column[column_names[i]] =
				    scan->GetColumnName(scan->GetColumnIndex(columns[i])).GetIdentifierName();
			}
		}
	}

	//! The names under which the scan delivers these columns of the view; names no scan has where one is computed.
	vector<string> ScanColumns(const vector<string> &names) const {
		vector<string> result;
		for (auto &name : names) {
			auto found = scan_column.find(name);
			result.push_back(found == scan_column.end() ? string() : found->second);
		}
		return result;
	}
};

RelationKeys::RelationKeys(Optimizer &optimizer, const LogicalOperator &root) : optimizer(optimizer) {
	CollectScannedPaths(root, scanned_paths);
}

RelationKeys::~RelationKeys() {
}

//! A wrong "no" loses an optimisation, a wrong "yes" some time; neither changes a result.
bool RelationKeys::MayShowScanOfPlan(ViewCatalogEntry &view) const {
	auto text = view.GetQuery().ToString();
	for (auto &path : scanned_paths) {
		if (StringUtil::Contains(text, path)) {
			return true;
		}
	}
	// A view that names no file itself may stand on another view.
	for (auto &sign : {"read_", "_scan", ".parquet", ".csv", ".json"}) {
		if (StringUtil::Contains(text, sign)) {
			return false;
		}
	}
	return true;
}

void RelationKeys::BindDeclaredViews() {
	if (views_bound) {
		return;
	}
	views_bound = true;
	for (auto &entry : DeclarationStore::DeclaredViews(optimizer.context)) {
		if (!MayShowScanOfPlan(entry.get())) {
			continue;
		}
		auto view = make_uniq<DeclaredView>(entry.get());
		BaseTableRef reference_to_view;
		reference_to_view.SetQualifiedName(DeclarationStore::NameOf(entry.get()));
		auto binder = Binder::CreateBinder(optimizer.context);
		try {
			auto bound = binder->Bind(static_cast<TableRef &>(reference_to_view));
			view->plan = std::move(bound.plan);
			for (auto &name : bound.names) {
				view->column_names.push_back(name.GetIdentifierName());
			}
		} catch (const Exception &) {
			// A view that cannot be bound now (its files are gone, say) is not in this query, which has been bound.
			continue;
		}
		view->FindScan();
		views.push_back(std::move(view));
	}
}

bool RelationKeys::TryOfScan(const LogicalGet &get, ScanKeys &result) {
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
	if (!ScansFiles(get)) {
		return false;
	}
	BindDeclaredViews();
	for (auto &view : views) {
		if (!view->scan || !SamePlan::AreSameScans(get, *view->scan)) {
			continue;
		}
		auto &entry = view->entry.get();
		result.name = entry.name.GetIdentifierName();
		result.objects.push_back(ScannedObject {DeclarationStore::NameOf(entry), view->scan_column});
		AddKeys(
		    optimizer.context, entry, get, [&](const vector<string> &names) { return view->ScanColumns(names); },
		    result);
	}
	return !result.objects.empty();
}

bool RelationKeys::TryMatchView(LogicalOperator &op, ViewMatch &result) {
	if (op.type != LogicalOperatorType::LOGICAL_PROJECTION || !ContainsFileScan(op)) {
		return false;
	}
	BindDeclaredViews();
	for (auto &view : views) {
		if (view->scan || !SamePlan::AreSame(op, *view->plan)) {
			continue;
		}
		auto columns = op.GetColumnBindings();
		result.name = view->entry.get().name.GetIdentifierName();
		result.column_names = view->column_names;
		op.ResolveOperatorTypes();
		for (auto &key : DeclarationStore::Keys(optimizer.context, view->entry.get())) {
			RelationKey bound;
			for (auto &name : key.columns) {
				for (idx_t i = 0; i < columns.size(); i++) {
					if (StringUtil::CIEquals(view->column_names[i], name)) {
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
