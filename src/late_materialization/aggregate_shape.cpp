#include "late_materialization/aggregate_shape.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

void AggregateShape::TakeAggregate(Ascent &ascent, unique_ptr<LogicalOperator> &owner) {
	slot = owner;
	aggregate = owner->Cast<LogicalAggregate>();
	if (ascent.At(LogicalOperatorType::LOGICAL_FILTER) && !ascent.Current().HasProjectionMap()) {
		for (auto &condition : ascent.Current().expressions) {
			having.push_back(condition->Copy());
		}
		slot = ascent.CurrentOwner();
		ascent.Up();
	}
}

void AggregateShape::CollectColumns(const Expression &expression, column_binding_set_t &columns) {
	ExpressionIterator::VisitExpression<BoundColumnRefExpression>(
	    expression, [&](const BoundColumnRefExpression &column) { columns.insert(column.Binding()); });
}

void AggregateShape::InlineProjections(unique_ptr<Expression> &expression,
                                       const vector<reference<LogicalOperator>> &projections) {
	for (auto op = projections.rbegin(); op != projections.rend(); ++op) {
		auto &projection = op->get().Cast<LogicalProjection>();
		ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
		    expression, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &owner) {
			    if (column.Binding().table_index == projection.table_index) {
				    owner = projection.GetExpression(column.Binding()).Copy();
			    }
		    });
	}
}

} // namespace merganser
