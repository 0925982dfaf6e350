#include "stages/stage_planner.hpp"

#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

Partitioning StagePlanner::CutTopN(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto &top = op->Cast<LogicalTopN>();
	vector<BoundOrderByNode> orders;
	for (auto &order : top.orders) {
		orders.push_back(order.Copy());
	}
	auto local = make_uniq<LogicalTopN>(std::move(orders), top.limit + top.offset, 0);
	local->children.push_back(std::move(op->children[0]));
	op->children[0] = std::move(local);
	Gather(op->children[0], delivered, "the first rows of each task, for the first of all");
	return {};
}

Partitioning StagePlanner::CutLimit(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto &limit = op->Cast<LogicalLimit>();
	auto offset_is_known =
	    limit.offset_val.Type() == LimitNodeType::UNSET || limit.offset_val.Type() == LimitNodeType::CONSTANT_VALUE;
	if (limit.limit_val.Type() == LimitNodeType::CONSTANT_VALUE && offset_is_known) {
		auto offset = limit.offset_val.Type() == LimitNodeType::UNSET ? 0 : limit.offset_val.GetConstantValue();
		auto rows = limit.limit_val.GetConstantValue() + offset;
		auto local =
		    make_uniq<LogicalLimit>(BoundLimitNode::ConstantValue(NumericCast<int64_t>(rows)), BoundLimitNode());
		local->children.push_back(std::move(op->children[0]));
		op->children[0] = std::move(local);
	}
	Gather(op->children[0], delivered, "LIMIT counts all rows in one task");
	return {};
}

} // namespace merganser
