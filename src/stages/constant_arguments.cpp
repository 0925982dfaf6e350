#include "stages/constant_arguments.hpp"

#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

namespace {

optional<Value> ConstantOf(ClientContext &context, LogicalOperator &op, const ColumnBinding &binding);

//! The expression's value, where it needs no row of `input` to be known.
optional<Value> Evaluate(ClientContext &context, const Expression &expression, LogicalOperator &input) {
	auto copy = expression.Copy();
	auto known = true;
	ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
	    copy, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &owner) {
		    auto value = ConstantOf(context, input, column.Binding());
		    known = known && value;
		    if (known) {
			    owner = make_uniq<BoundConstantExpression>(std::move(*value));
		    }
	    });
	Value result;
	if (!known || !copy->IsFoldable() || !ExpressionExecutor::TryEvaluateScalar(context, *copy, result)) {
		return optional<Value>();
	}
	return result;
}

optional<Value> ConstantOf(ClientContext &context, LogicalOperator &op, const ColumnBinding &binding) {
	if (op.children.size() != 1) {
		return optional<Value>();
	}
	auto &input = *op.children[0];
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_PROJECTION:
		return Evaluate(context, *op.expressions[binding.column_index.GetIndex()], input);
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY: {
		auto &aggregate = op.Cast<LogicalAggregate>();
		if (binding.table_index != aggregate.group_index || aggregate.grouping_sets.size() > 1) {
			return optional<Value>();
		}
		return Evaluate(context, *aggregate.groups[binding.column_index.GetIndex()], input);
	}
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_ORDER_BY:
	case LogicalOperatorType::LOGICAL_LIMIT:
	case LogicalOperatorType::LOGICAL_TOP_N:
		return ConstantOf(context, input, binding);
	default:
		return optional<Value>();
	}
}

} // namespace

void ConstantArguments::Restore(ClientContext &context, LogicalOperator &plan) {
	for (auto &child : plan.children) {
		Restore(context, *child);
	}
	if (plan.type != LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
		return;
	}
	for (auto &expression : plan.expressions) {
		auto &arguments = expression->Cast<BoundAggregateExpression>().GetChildrenMutable();
		for (idx_t i = 1; i < arguments.size(); i++) {
			auto value = Evaluate(context, *arguments[i], *plan.children[0]);
			if (value && value->type() == arguments[i]->GetReturnType()) {
				arguments[i] = make_uniq<BoundConstantExpression>(std::move(*value));
			}
		}
	}
}

} // namespace merganser
