#include "grouping/scan_layout.hpp"

#include "declarations/declaration_store.hpp"
#include "grouping/recorded_layout.hpp"
#include "late_materialization/same_plan.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

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

//! The scan under a view that only projects it, and which scan column each view column is.
optional_ptr<LogicalGet> ScanOfView(LogicalOperator &plan, vector<optional_idx> &scan_columns) {
	reference<LogicalOperator> current = plan;
	vector<optional<ColumnBinding>> columns;
	for (auto &binding : plan.GetColumnBindings()) {
		columns.emplace_back(binding);
	}
	while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION) {
		auto &projection = current.get().Cast<LogicalProjection>();
		for (auto &column : columns) {
			if (!column) {
				continue;
			}
			auto &expression = projection.GetExpression(*column);
			if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
				column = expression.Cast<BoundColumnRefExpression>().Binding();
			} else {
				column = optional<ColumnBinding>();
			}
		}
		current = *projection.children[0];
	}
	if (current.get().type != LogicalOperatorType::LOGICAL_GET) {
		return nullptr;
	}
	auto &get = current.get().Cast<LogicalGet>();
	for (auto &column : columns) {
		optional_idx position;
		if (column) {
			auto &index = get.GetColumnIndex(*column);
			if (!index.IsVirtualColumn() && !index.HasChildren()) {
				position = index.GetPrimaryIndex();
			}
		}
		scan_columns.push_back(position);
	}
	return get;
}

bool TryView(ClientContext &context, ViewCatalogEntry &view, const LogicalGet &get, ScanLayout &result) {
	auto declarations = DeclarationStore::Valid(context, view);
	auto has_layout = std::any_of(declarations.begin(), declarations.end(), [](const Declaration &declaration) {
		return declaration.kind == DeclarationKind::PARTITIONED_BY;
	});
	if (!has_layout) {
		return false;
	}
	BaseTableRef view_reference;
	view_reference.SetQualifiedName(DeclarationStore::NameOf(view));
	BoundStatement bound;
	try {
		bound = Binder::CreateBinder(context)->Bind(static_cast<TableRef &>(view_reference));
	} catch (const Exception &) {
		return false; // a view that cannot be bound now is not in this query, which has been bound
	}
	vector<optional_idx> scan_columns;
	auto scan = ScanOfView(*bound.plan, scan_columns);
	if (!scan || !SamePlan::AreSameScans(get, *scan)) {
		return false;
	}
	auto name = view.name.GetIdentifierName();
	result.source = "declared by view " + name;
	result.remedy = "CALL merganser_verify('" + name + "') shows the rows; ALTER VIEW " + name +
	                " RESET PARTITIONED BY, or RESET SORTED BY, takes the declaration back";
	return FromDeclarations(
	    declarations,
	    [&](const string &column) {
		    for (idx_t i = 0; i < bound.names.size(); i++) {
			    if (StringUtil::CIEquals(bound.names[i].GetIdentifierName(), column)) {
				    return scan_columns[i];
			    }
		    }
		    return optional_idx();
	    },
	    result);
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
	if (!dynamic_cast<const MultiFileBindData *>(get.bind_data.get())) {
		return false;
	}
	for (auto &view : DeclarationStore::DeclaredViews(context)) {
		ScanLayout declared;
		if (TryView(context, view.get(), get, declared)) {
			result = std::move(declared);
			return true;
		}
	}
	return RecordedLayout::TryRead(context, get, result);
}

} // namespace merganser
