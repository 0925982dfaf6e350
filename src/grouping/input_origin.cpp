#include "grouping/input_origin.hpp"

#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/operator/logical_filter.hpp"

namespace merganser {

static optional_idx ReferencedPosition(const Expression &expression) {
	if (expression.GetExpressionClass() != ExpressionClass::BOUND_REF) {
		return optional_idx();
	}
	return expression.Cast<BoundReferenceExpression>().Index();
}

InputOrigin::InputOrigin(LogicalOperator &input) : source(input) {
	for (idx_t i = 0; i < input.types.size(); i++) {
		columns.push_back(i);
	}
	while (StepThrough()) {
	}
}

bool InputOrigin::StepThrough() {
	auto &op = source.get();
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_PROJECTION:
		StepThroughProjection(op);
		return true;
	case LogicalOperatorType::LOGICAL_FILTER:
		StepThroughFilter(op);
		return true;
	case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR: {
		auto function = dynamic_cast<LogicalTableFunction *>(&op);
		if (!function || function->definition.semantics != TableSemantics::ROW ||
		    !function->definition.preserves_order || !function->definition.pass_through) {
			return false;
		}
		StepThroughFunction(*function);
		return true;
	}
	default:
		return false;
	}
}

void InputOrigin::StepThroughProjection(LogicalOperator &projection) {
	for (auto &column : columns) {
		if (column.IsValid()) {
			column = ReferencedPosition(*projection.expressions[column.GetIndex()]);
		}
	}
	source = *projection.children[0];
}

void InputOrigin::StepThroughFilter(LogicalOperator &filter_op) {
	auto &filter = filter_op.Cast<LogicalFilter>();
	for (auto &column : columns) {
		if (column.IsValid() && filter.HasProjectionMap()) {
			column = filter.projection_map[column.GetIndex()].GetIndex();
		}
	}
	source = *filter.children[0];
}

void InputOrigin::StepThroughFunction(LogicalTableFunction &function) {
	for (auto &column : columns) {
		if (!column.IsValid()) {
			continue;
		}
		auto &output = function.outputs[column.GetIndex()];
		column = output.source == ProcessorLayout::Source::INPUT
		             ? ReferencedPosition(*function.expressions[output.index])
		             : optional_idx();
	}
	through_function = true;
	source = *function.children[0];
}

bool InputOrigin::Map(const vector<idx_t> &positions, vector<idx_t> &result) const {
	result.clear();
	for (auto position : positions) {
		if (!columns[position].IsValid()) {
			return false;
		}
		result.push_back(columns[position].GetIndex());
	}
	return true;
}

} // namespace merganser
