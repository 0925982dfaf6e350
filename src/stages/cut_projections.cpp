#include "stages/stage_planner.hpp"

#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

Partitioning StagePlanner::CutUnary(Slot &op) {
	auto delivered = Cut(op->children[0]);
	return PlanColumns::KeepAvailable(std::move(delivered), *op);
}

Partitioning StagePlanner::CutProjection(Slot &op) {
	auto delivered = Cut(op->children[0]);
	delivered.order = delivered.order.WithoutColumns();
	if (delivered.keys.empty()) {
		return delivered;
	}
	auto outputs = op->GetColumnBindings();
	vector<ColumnBinding> keys;
	for (auto &key : delivered.keys) {
		for (idx_t i = 0; i < op->expressions.size(); i++) {
			auto &expression = *op->expressions[i];
			if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF &&
			    expression.Cast<BoundColumnRefExpression>().Binding() == key) {
				keys.push_back(outputs[i]);
				break;
			}
		}
	}
	if (keys.size() != delivered.keys.size()) {
		return delivered.WithoutColumns();
	}
	delivered.keys = std::move(keys);
	return delivered;
}

} // namespace merganser
