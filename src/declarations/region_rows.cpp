#include "declarations/region_rows.hpp"

#include "declarations/declaration_store.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/common/multi_file/multi_file_states.hpp"
#include "duckdb/parser/expression/star_expression.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/parser/tableref/bound_ref_wrapper.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

struct AddedColumn {
	ColumnBinding binding;
	LogicalType type;

	unique_ptr<Expression> Reference() const {
		return make_uniq<BoundColumnRefExpression>(type, binding);
	}
};

AddedColumn AddToScan(LogicalGet &get, column_t id, const char *name, const LogicalType &type) {
	if (ColumnIndex(id).IsVirtualColumn()) {
		get.virtual_columns.emplace(id, TableColumn(name, type));
	}
	return {ColumnBinding(get.table_index, get.AddColumnId(id)), type};
}

//! The operators above the scan hand the columns on.
AddedColumn HandOn(LogicalOperator &op, const AddedColumn &column) {
	if (op.type == LogicalOperatorType::LOGICAL_FILTER) {
		return column;
	}
	auto &projection = op.Cast<LogicalProjection>();
	projection.expressions.push_back(column.Reference());
	return {ColumnBinding(projection.table_index, ProjectionIndex(projection.expressions.size() - 1)), column.type};
}

struct ScanUnderObject {
	//! From the top down, without the scan.
	vector<reference<LogicalOperator>> above;
	optional_ptr<LogicalGet> get;

	explicit ScanUnderObject(LogicalOperator &plan) {
		reference<LogicalOperator> current = plan;
		while (current.get().type == LogicalOperatorType::LOGICAL_PROJECTION ||
		       current.get().type == LogicalOperatorType::LOGICAL_FILTER) {
			above.push_back(current);
			current = *current.get().children[0];
		}
		if (current.get().type == LogicalOperatorType::LOGICAL_GET && current.get().children.empty()) {
			get = current.get().Cast<LogicalGet>();
		}
	}

	bool IsDuckTable() const {
		auto table = get->GetTable();
		return table && table->IsDuckTable() && get->virtual_columns.count(COLUMN_IDENTIFIER_ROW_ID);
	}

	bool IsParquet() const {
		return get->virtual_columns.count(MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER) &&
		       dynamic_cast<const MultiFileBindData *>(get->bind_data.get());
	}

	AddedColumn Position() {
		auto id = IsDuckTable() ? COLUMN_IDENTIFIER_ROW_ID : MultiFileReader::COLUMN_IDENTIFIER_FILE_ROW_NUMBER;
		return OnTop(AddToScan(*get, id, "position", get->virtual_columns.at(id).type));
	}

	AddedColumn FileName() {
		// the option `filename` makes it one of the scan's columns; otherwise it is a virtual one
		auto id = get->bind_data->Cast<MultiFileBindData>().reader_bind.filename_idx;
		return OnTop(AddToScan(*get, id.IsValid() ? id.GetIndex() : MultiFileReader::COLUMN_IDENTIFIER_FILENAME,
		                       "filename", LogicalType::VARCHAR));
	}

private:
	AddedColumn OnTop(AddedColumn column) const {
		for (auto op = above.rbegin(); op != above.rend(); ++op) {
			column = HandOn(op->get(), column);
		}
		return column;
	}
};

//! SELECT * FROM the object.
BoundStatement BindAllColumns(Binder &parent, CatalogEntry &table_or_view) {
	auto from = make_uniq<BaseTableRef>();
	from->SetQualifiedName(DeclarationStore::NameOf(table_or_view));
	auto select = make_uniq<SelectNode>();
	select->select_list.push_back(make_uniq<StarExpression>());
	select->from_table = std::move(from);
	return Binder::CreateBinder(parent.context, &parent)->Bind(static_cast<QueryNode &>(*select));
}

unique_ptr<Expression> ColumnOf(const BoundStatement &object, const vector<ColumnBinding> &bindings,
                                const string &name) {
	for (idx_t i = 0; i < object.names.size(); i++) {
		if (StringUtil::CIEquals(object.names[i].GetIdentifierName(), name)) {
			return make_uniq<BoundColumnRefExpression>(object.types[i], bindings[i]);
		}
	}
	throw BinderException("Column \"%s\" was dropped or renamed while its declaration was verified", name);
}

} // namespace

unique_ptr<TableRef> RegionRows::Of(Binder &parent, CatalogEntry &table_or_view, const vector<string> &columns) {
	auto &context = parent.context;
	auto object = BindAllColumns(parent, table_or_view);
	ScanUnderObject scan(*object.plan);
	if (!scan.get || (!scan.IsDuckTable() && !scan.IsParquet())) {
		return nullptr;
	}
	auto bindings = object.plan->GetColumnBindings();
	BoundStatement result;
	vector<unique_ptr<Expression>> shown;
	for (auto &column : columns) {
		result.names.emplace_back("key_" + to_string(result.names.size()));
		shown.push_back(ColumnOf(object, bindings, column));
	}
	result.names.emplace_back("region");
	shown.push_back(scan.IsDuckTable() ? make_uniq<BoundConstantExpression>(Value("the table"))
	                                   : scan.FileName().Reference());
	result.names.emplace_back("position");
	shown.push_back(BoundCastExpression::AddCastToType(context, scan.Position().Reference(), LogicalType::BIGINT));
	for (auto &expression : shown) {
		result.types.push_back(expression->GetReturnType());
	}
	auto binder = Binder::CreateBinder(context, &parent);
	auto index = binder->GenerateTableIndex();
	auto projection = make_uniq<LogicalProjection>(index, std::move(shown));
	projection->children.push_back(std::move(object.plan));
	projection->ResolveOperatorTypes();
	result.plan = std::move(projection);
	binder->bind_context.AddGenericBinding(index, Identifier("checked"), result.names, result.types);
	return make_uniq<BoundRefWrapper>(std::move(result), std::move(binder));
}

} // namespace merganser
