#include "stages/stage_planner.hpp"

#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

Partitioning StagePlanner::CutUnion(Slot &op) {
	auto &set_operation = op->Cast<LogicalSetOperation>();
	if (!set_operation.setop_all) {
		return CutSetOperation(op);
	}
	vector<Partitioning> delivered;
	auto several = false;
	for (auto &child : op->children) {
		delivered.push_back(Cut(child));
		several = several || !delivered.back().IsOneTask();
	}
	if (!several) {
		return {};
	}
	for (idx_t i = 0; i < op->children.size(); i++) {
		if (delivered[i].IsOneTask()) {
			Exchange(op->children[i], delivered[i], {}, ReadMode::PARTITION, "an input of UNION ALL in even shares");
		}
	}
	return {Distribution::SPLIT, {}};
}

Partitioning StagePlanner::CutSetOperation(Slot &op) {
	vector<Partitioning> delivered;
	auto several = false;
	auto can_hash = true;
	for (auto &child : op->children) {
		delivered.push_back(Cut(child));
		several = several || !delivered.back().IsOneTask();
		can_hash = can_hash && PlanColumns::CanHash(PlanColumns::All(*child));
	}
	if (!several) {
		return {};
	}
	for (idx_t i = 0; i < op->children.size(); i++) {
		if (can_hash) {
			Hash(op->children[i], delivered[i], PlanColumns::All(*op->children[i]), "rows by all their columns");
		} else {
			Gather(op->children[i], delivered[i], "a set operation on columns without a hash");
		}
	}
	if (!can_hash) {
		return {};
	}
	return {Distribution::HASHED, op->GetColumnBindings()};
}

} // namespace merganser
