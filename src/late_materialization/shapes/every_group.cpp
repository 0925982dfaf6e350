#include "late_materialization/shapes/every_group.hpp"

namespace merganser {

namespace {

//! A LIMIT does not read on when it has enough, nor a join whose other side is empty.
bool IsReadToEnd(Ascent ascent) {
	for (; !ascent.AtTop(); ascent.Up()) {
		switch (ascent.Current().type) {
		case LogicalOperatorType::LOGICAL_ORDER_BY:
		case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
			return true;
		case LogicalOperatorType::LOGICAL_PROJECTION:
		case LogicalOperatorType::LOGICAL_FILTER:
		case LogicalOperatorType::LOGICAL_WINDOW:
		case LogicalOperatorType::LOGICAL_DISTINCT:
		case LogicalOperatorType::LOGICAL_UNION:
		case LogicalOperatorType::LOGICAL_CREATE_TABLE:
		case LogicalOperatorType::LOGICAL_INSERT:
		case LogicalOperatorType::LOGICAL_UPDATE:
		case LogicalOperatorType::LOGICAL_DELETE:
		case LogicalOperatorType::LOGICAL_MERGE_INTO:
		case LogicalOperatorType::LOGICAL_COPY_TO_FILE:
		case LogicalOperatorType::LOGICAL_EXPLAIN:
			break;
		default:
			return false;
		}
	}
	return true;
}

} // namespace

AggregateShape EveryGroup::Of(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner) {
	Ascent ascent(ancestors);
	AggregateShape result;
	result.read_to_end = IsReadToEnd(ascent);
	result.TakeAggregate(ascent, owner);
	vector<reference<LogicalOperator>> projections;
	for (; !ascent.AtTop(); ascent.Up()) {
		auto &op = ascent.Current();
		if (op.type == LogicalOperatorType::LOGICAL_PROJECTION) {
			projections.push_back(op);
		} else if (op.type == LogicalOperatorType::LOGICAL_FILTER) {
			for (auto &condition : op.expressions) {
				auto inlined = condition->Copy();
				AggregateShape::InlineProjections(inlined, projections);
				if (!inlined->IsVolatile() && !inlined->CanThrow()) {
					result.having.push_back(std::move(inlined));
				}
			}
		} else if (op.type != LogicalOperatorType::LOGICAL_ORDER_BY) {
			break;
		}
	}
	return result;
}

} // namespace merganser
