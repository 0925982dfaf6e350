#include "late_materialization/shapes/bounded_top_n.hpp"

#include "duckdb/planner/operator/logical_limit.hpp"
#include "duckdb/planner/operator/logical_order.hpp"

namespace merganser {

namespace {

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

bool BoundedTopN::TryMatch(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner, idx_t max_rows,
                           AggregateShape &result, DeclineReason &reason) {
	Ascent ascent(ancestors);
	result.TakeAggregate(ascent, owner);
	vector<reference<LogicalOperator>> projections;
	while (ascent.At(LogicalOperatorType::LOGICAL_PROJECTION)) {
		projections.push_back(ascent.Current());
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
	idx_t bound;
	if (!TryReadBound(ascent.Current().Cast<LogicalLimit>(), max_rows, bound, reason)) {
		return false;
	}
	result.bound = bound;
	for (auto &node : order.orders) {
		result.orders.push_back(node.Copy());
		AggregateShape::InlineProjections(result.orders.back().expression, projections);
	}
	return true;
}

} // namespace merganser
