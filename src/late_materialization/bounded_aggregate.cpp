#include "late_materialization/bounded_aggregate.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/logical_limit.hpp"
#include "duckdb/planner/operator/logical_order.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

namespace {

//! Walks up an ancestor path, one operator at a time.
class Ascent {
public:
	explicit Ascent(const AncestorPath &ancestors) : ancestors(ancestors), remaining(ancestors.size()) {
	}

	bool AtTop() const {
		return remaining == 0;
	}
	LogicalOperator &Current() const {
		return *ancestors[remaining - 1].get();
	}
	unique_ptr<LogicalOperator> &CurrentOwner() const {
		return ancestors[remaining - 1].get();
	}
	bool At(LogicalOperatorType type) const {
		return !AtTop() && Current().type == type;
	}
	void Up() {
		remaining--;
	}

private:
	const AncestorPath &ancestors;
	idx_t remaining;
};

void InlineProjection(unique_ptr<Expression> &expression, const LogicalProjection &projection) {
	ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
	    expression, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &owner) {
		    if (column.Binding().table_index == projection.table_index) {
			    owner = projection.GetExpression(column.Binding()).Copy();
		    }
	    });
}

bool TryReadBound(const LogicalLimit &limit, idx_t max_rows, idx_t &bound, DeclineReason &reason) {
	if (limit.limit_val.Type() != LimitNodeType::CONSTANT_VALUE) {
		reason = limit.limit_val.Type() == LimitNodeType::UNSET ? DeclineReason::NO_BOUND
		                                                        : DeclineReason::BOUND_NOT_CONSTANT;
		return false;
	}
	auto rows = limit.limit_val.GetConstantValue();
	idx_t offset = 0;
	if (limit.offset_val.Type() == LimitNodeType::CONSTANT_VALUE) {
		offset = limit.offset_val.GetConstantValue();
	} else if (limit.offset_val.Type() != LimitNodeType::UNSET) {
		reason = DeclineReason::BOUND_NOT_CONSTANT;
		return false;
	}
	if (rows == 0) {
		reason = DeclineReason::BOUND_IS_ZERO;
		return false;
	}
	if (rows > max_rows || offset > max_rows - rows) {
		reason = DeclineReason::BOUND_TOO_LARGE;
		return false;
	}
	bound = rows + offset;
	return true;
}

//! With nothing but projections left up to the top, the query simply has no LIMIT; else some operator is in the way.
DeclineReason WhyNoMatch(Ascent ascent, bool ordered) {
	while (ascent.At(LogicalOperatorType::LOGICAL_PROJECTION) || ascent.At(LogicalOperatorType::LOGICAL_ORDER_BY)) {
		ascent.Up();
	}
	if (ascent.At(LogicalOperatorType::LOGICAL_LIMIT) && !ordered) {
		return DeclineReason::NO_ORDER;
	}
	return ascent.AtTop() ? DeclineReason::NO_BOUND : DeclineReason::UNSUPPORTED_OPERATOR;
}

} // namespace

void BoundedAggregate::CollectColumns(const Expression &expression, column_binding_set_t &columns) {
	ExpressionIterator::VisitExpression<BoundColumnRefExpression>(
	    expression, [&](const BoundColumnRefExpression &column) { columns.insert(column.Binding()); });
}

bool BoundedAggregate::TryMatch(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner, idx_t max_rows,
                                BoundedAggregate &result, DeclineReason &reason) {
	Ascent ascent(ancestors);
	result.slot = owner;
	result.aggregate = owner->Cast<LogicalAggregate>();

	if (ascent.At(LogicalOperatorType::LOGICAL_FILTER) && !ascent.Current().HasProjectionMap()) {
		for (auto &condition : ascent.Current().expressions) {
			result.having.push_back(condition->Copy());
		}
		result.slot = ascent.CurrentOwner();
		ascent.Up();
	}

	vector<reference<LogicalProjection>> projections;
	while (ascent.At(LogicalOperatorType::LOGICAL_PROJECTION)) {
		projections.push_back(ascent.Current().Cast<LogicalProjection>());
		ascent.Up();
	}
	if (!ascent.At(LogicalOperatorType::LOGICAL_ORDER_BY) || ascent.Current().HasProjectionMap()) {
		reason = WhyNoMatch(ascent, false);
		return false;
	}
	auto &order = ascent.Current().Cast<LogicalOrder>();
	ascent.Up();
	while (ascent.At(LogicalOperatorType::LOGICAL_PROJECTION)) {
		ascent.Up();
	}
	if (!ascent.At(LogicalOperatorType::LOGICAL_LIMIT)) {
		reason = WhyNoMatch(ascent, true);
		return false;
	}
	if (!TryReadBound(ascent.Current().Cast<LogicalLimit>(), max_rows, result.bound, reason)) {
		return false;
	}

	for (auto &node : order.orders) {
		result.orders.push_back(node.Copy());
		auto &expression = result.orders.back().expression;
		for (auto projection = projections.rbegin(); projection != projections.rend(); ++projection) {
			InlineProjection(expression, *projection);
		}
	}
	if (projections.empty()) {
		for (auto &binding : result.aggregate->GetColumnBindings()) {
			result.displayed.insert(binding);
		}
	} else {
		for (auto &expression : projections.front().get().expressions) {
			CollectColumns(*expression, result.displayed);
		}
	}
	return true;
}

} // namespace merganser
