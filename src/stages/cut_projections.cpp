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
	auto hashed = delivered.distribution == Distribution::HASHED;
	return delivered.Renamed([&](const ColumnBinding &key) {
		for (idx_t i = 0; i < op->expressions.size(); i++) {
			auto &expression = *op->expressions[i];
			// Equal values of another type may have another hash.
			auto column = hashed ? PlanColumns::ColumnOf(expression) : PlanColumns::ColumnOfValue(expression);
			if (column == key) {
				return optional<ColumnBinding>(outputs[i]);
			}
		}
		return optional<ColumnBinding>();
	});
}

} // namespace merganser
