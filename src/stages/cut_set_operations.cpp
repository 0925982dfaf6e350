#include "stages/stage_planner.hpp"

#include "stages/checked_rows.hpp"
#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"

#include "duckdb/planner/operator/list.hpp"

#include <algorithm>

namespace merganser {

Partitioning StagePlanner::CutUnion(Slot &op) {
	auto &set_operation = op->Cast<LogicalSetOperation>();
	if (!set_operation.setop_all) {
		return CutSetOperation(op);
	}
	if (LogicalCheckedRows::IsIn(set_operation)) {
		return CutCheckedRows(op);
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
	auto in_order = needs->Of(*op) != OrderNeed::NONE;
	idx_t shares = 0;
	for (idx_t i = 0; i < op->children.size(); i++) {
		if (delivered[i].IsOneTask()) {
			Exchange(op->children[i], delivered[i], {}, ReadMode::PARTITION, "an input of UNION ALL in even shares");
		}
		if (in_order) {
			Place(*op->children[i], shares);
			shares += delivered[i].shares > 0 ? delivered[i].shares : tasks;
		}
	}
	if (!in_order) {
		return {Distribution::SPLIT, {}};
	}
	pending_reasons.push_back("the inputs of UNION ALL one after another");
	return {Distribution::SPLIT, {}, RowOrder::AsProduced(RowOrder::Scope::ALL_ROWS), shares};
}

Partitioning StagePlanner::CutCheckedRows(Slot &op) {
	auto rows = Cut(op->children.back());
	for (idx_t i = 0; i + 1 < op->children.size(); i++) {
		auto lies = Cut(op->children[i]);
		if (!rows.IsOneTask() || !lies.IsOneTask()) {
			Exchange(op->children[i], lies, {}, ReadMode::ALL, "the check of a declared key, before the rows");
		}
	}
	auto outputs = op->GetColumnBindings();
	auto inputs = op->children.back()->GetColumnBindings();
	for (auto &key : rows.keys) {
		auto position = std::find(inputs.begin(), inputs.end(), key) - inputs.begin();
		key = outputs[NumericCast<idx_t>(position)];
	}
	auto estimate = op->children.back()->estimated_cardinality;
	auto checked = make_uniq<LogicalCheckedRows>(std::move(outputs));
	checked->children = std::move(op->children);
	checked->SetEstimatedCardinality(estimate);
	op = std::move(checked);
	op->ResolveOperatorTypes();
	return rows;
}

//! In the other shares of the stage, what is read by shares is empty, and so is the branch: a piece of plan that is
//! divided has no rows where it reads none.
void StagePlanner::Place(LogicalOperator &op, idx_t first) {
	auto place = [&](Placement &placement) {
		placement.first += first;
		placement.count = placement.Count(tasks);
	};
	// A side computed by the tasks of a join would be placed with it.
	late_broadcasts.erase(&op);
	auto exchange = dynamic_cast<LogicalExchange *>(&op);
	auto scan = sliced.find(&op);
	if (exchange) {
		place(exchange->input.placement);
	} else if (scan != sliced.end()) {
		place(scan->second.placement);
	}
	for (auto &child : op.children) {
		Place(*child, first);
	}
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
