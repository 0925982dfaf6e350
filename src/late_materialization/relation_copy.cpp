#include "late_materialization/relation_copy.hpp"

#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

#include <algorithm>

namespace merganser {

namespace {

unique_ptr<LogicalGet> CopyScan(Binder &binder, const LogicalGet &get) {
	auto copy = make_uniq<LogicalGet>(binder.GenerateTableIndex(), get.function, get.bind_data->Copy(),
	                                  get.returned_types, get.names, get.virtual_columns);
	copy->bind_info = get.bind_info;
	copy->parameters = get.parameters;
	copy->named_parameters = get.named_parameters;
	copy->extra_info.file_filters = get.extra_info.file_filters;
	copy->GetMutableColumnIds() = get.GetColumnIds();
	return copy;
}

//! Copies a view's operators bottom-up, repointing each copy's expressions to the copies below.
class ViewCopy {
public:
	explicit ViewCopy(Binder &binder) : binder(binder) {
	}

	unique_ptr<LogicalOperator> Copy(const LogicalOperator &op) {
		vector<unique_ptr<LogicalOperator>> children;
		for (auto &child : op.children) {
			children.push_back(Copy(*child));
		}
		auto result = CopyNode(op);
		for (auto &child : children) {
			result->children.push_back(std::move(child));
		}
		return result;
	}

	ColumnBinding Repoint(const ColumnBinding &binding) const {
		return ColumnBinding(new_index.at(binding.table_index), binding.column_index);
	}

private:
	unique_ptr<LogicalOperator> CopyNode(const LogicalOperator &op) {
		switch (op.type) {
		case LogicalOperatorType::LOGICAL_GET: {
			auto &get = op.Cast<LogicalGet>();
			auto copy = CopyScan(binder, get);
			new_index[get.table_index] = copy->table_index;
			return std::move(copy);
		}
		case LogicalOperatorType::LOGICAL_PROJECTION: {
			auto &projection = op.Cast<LogicalProjection>();
			auto index = binder.GenerateTableIndex();
			auto copy = make_uniq<LogicalProjection>(index, CopyAll(op.expressions));
			new_index[projection.table_index] = index;
			return std::move(copy);
		}
		case LogicalOperatorType::LOGICAL_FILTER: {
			auto copy = make_uniq<LogicalFilter>();
			copy->expressions = CopyAll(op.expressions);
			return std::move(copy);
		}
		default:
			throw InternalException("Cannot copy %s of a view", op.GetName());
		}
	}

	vector<unique_ptr<Expression>> CopyAll(const vector<unique_ptr<Expression>> &expressions) const {
		vector<unique_ptr<Expression>> result;
		for (auto &expression : expressions) {
			result.push_back(expression->Copy());
			ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
			    result.back(), [&](BoundColumnRefExpression &column, unique_ptr<Expression> &) {
				    column.BindingMutable() = Repoint(column.Binding());
			    });
		}
		return result;
	}

	Binder &binder;
	unordered_map<TableIndex, TableIndex> new_index;
};

RelationCopy CopyScanColumns(Binder &binder, const LogicalGet &get, const vector<ColumnBinding> &columns) {
	RelationCopy result;
	auto copy = CopyScan(binder, get);
	vector<ColumnIndex> column_ids;
	for (auto &column : columns) {
		if (result.bindings.find(column) != result.bindings.end()) {
			continue;
		}
		result.bindings[column] = ColumnBinding(copy->table_index, ProjectionIndex(column_ids.size()));
		column_ids.push_back(get.GetColumnIndex(column));
	}
	copy->SetColumnIds(std::move(column_ids));
	result.plan = std::move(copy);
	return result;
}

RelationCopy CopyViewColumns(Binder &binder, const LogicalOperator &view, const vector<ColumnBinding> &columns) {
	RelationCopy result;
	ViewCopy copy(binder);
	result.plan = copy.Copy(view);
	for (auto &column : columns) {
		result.bindings[column] = copy.Repoint(column);
	}
	return result;
}

} // namespace

RelationCopy RelationCopy::Create(Binder &binder, const BaseRelation &relation, const vector<ColumnBinding> &columns) {
	if (relation.source->type == LogicalOperatorType::LOGICAL_GET) {
		return CopyScanColumns(binder, relation.source->Cast<LogicalGet>(), columns);
	}
	return CopyViewColumns(binder, *relation.source, columns);
}

bool RelationCopy::IsSupported(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_GET:
	case LogicalOperatorType::LOGICAL_PROJECTION:
	case LogicalOperatorType::LOGICAL_FILTER:
		break;
	default:
		return false;
	}
	return std::all_of(op.children.begin(), op.children.end(),
	                   [](const unique_ptr<LogicalOperator> &child) { return IsSupported(*child); });
}

} // namespace merganser
