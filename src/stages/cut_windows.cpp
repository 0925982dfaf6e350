#include "stages/stage_planner.hpp"

#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

Partitioning StagePlanner::CutWindow(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	vector<unique_ptr<Expression>> common;
	auto first = true;
	for (auto &expression : op->expressions) {
		if (expression->GetExpressionClass() != ExpressionClass::BOUND_WINDOW) {
			common.clear();
			break;
		}
		auto &partitions = expression->Cast<BoundWindowExpression>().Partitions();
		if (first) {
			common = PlanColumns::Copies(partitions);
			first = false;
			continue;
		}
		vector<unique_ptr<Expression>> kept;
		for (auto &key : common) {
			for (auto &partition : partitions) {
				if (key->Equals(*partition)) {
					kept.push_back(std::move(key));
					break;
				}
			}
		}
		common = std::move(kept);
	}
	auto columns = PlanColumns::Plain(common);
	if (!columns.empty() && KeepsTogether(*op->children[0], delivered, columns)) {
		return delivered;
	}
	if (ReadInRanges(*op->children[0], delivered, columns)) {
		return delivered;
	}
	if (!PlanColumns::CanHash(common)) {
		Gather(op->children[0], delivered, "a window without a common PARTITION BY needs all rows in one task");
		return {};
	}
	return Hash(op->children[0], delivered, std::move(common), "rows by PARTITION BY of the windows");
}

} // namespace merganser
