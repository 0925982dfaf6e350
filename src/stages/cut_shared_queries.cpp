#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/plan_copy.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

void FindReferences(LogicalOperator &op, unordered_set<idx_t> &defined, unordered_set<idx_t> &used, bool &delim_get,
                    bool in_delim_join) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
	case LogicalOperatorType::LOGICAL_RECURSIVE_CTE:
		defined.insert(op.Cast<LogicalCTE>().table_index.index);
		break;
	case LogicalOperatorType::LOGICAL_CTE_REF:
		used.insert(op.Cast<LogicalCTERef>().cte_index.index);
		break;
	case LogicalOperatorType::LOGICAL_DELIM_GET:
		delim_get = delim_get || !in_delim_join;
		break;
	case LogicalOperatorType::LOGICAL_DELIM_JOIN:
		in_delim_join = true;
		break;
	default:
		break;
	}
	for (auto &child : op.children) {
		FindReferences(*child, defined, used, delim_get, in_delim_join);
	}
}

} // namespace

bool StagePlanner::IsSelfContained(LogicalOperator &op) {
	unordered_set<idx_t> defined;
	unordered_set<idx_t> used;
	auto delim_get = false;
	FindReferences(op, defined, used, delim_get, false);
	for (auto index : used) {
		if (!defined.count(index) && !shared.count(index)) {
			return false;
		}
	}
	return !delim_get;
}

Partitioning StagePlanner::CutSharedQuery(Slot &op) {
	if (!IsSelfContained(*op->children[0])) {
		return OneTask(op, "a shared query inside a correlated subquery runs in one task");
	}
	auto index = op->Cast<LogicalMaterializedCTE>().table_index.index;
	auto delivered = Cut(op->children[0]);
	auto consumer = std::move(op->children[1]);
	auto &stage = AddStage(std::move(op->children[0]), delivered, {}, tasks, "a shared query, computed once");
	shared[index] = {stage.number, stage.types, stage.sql_types};
	op = std::move(consumer);
	return Cut(op);
}

Partitioning StagePlanner::CutSharedReference(Slot &op) {
	auto &reference = op->Cast<LogicalCTERef>();
	auto entry = shared.find(reference.cte_index.index);
	if (entry == shared.end()) {
		return {};
	}
	auto need = needs->Of(*op);
	StageInput input;
	input.stage = entry->second.stage;
	input.mode = need == OrderNeed::NONE ? ReadMode::PARTITION : ReadMode::CONSECUTIVE;
	input.ordered = need == OrderNeed::STREAM;
	auto exchange =
	    make_uniq<LogicalExchange>(input, op->GetColumnBindings(), reference.chunk_types, entry->second.sql_types);
	if (op->has_estimated_cardinality) {
		exchange->SetEstimatedCardinality(op->estimated_cardinality);
	}
	auto required = needs->Required(*op);
	op = std::move(exchange);
	op->ResolveOperatorTypes();
	return {Distribution::SPLIT, {}, required};
}

void StagePlanner::KeepWhole(Slot &op) {
	if (dynamic_cast<LogicalSessionRows *>(op.get())) {
		Send(op, ReadMode::ALL);
		return;
	}
	if (op->type == LogicalOperatorType::LOGICAL_GET && op->children.empty()) {
		auto &get = op->Cast<LogicalGet>();
		if (!SlicedFiles::TrySlice(context, get)) {
			Send(op, ReadMode::ALL);
		}
		return;
	}
	if (op->type == LogicalOperatorType::LOGICAL_CTE_REF) {
		auto is_shared = shared.count(op->Cast<LogicalCTERef>().cte_index.index) > 0;
		CutSharedReference(op);
		if (is_shared) {
			op->Cast<LogicalExchange>().input.mode = ReadMode::ALL;
		}
		return;
	}
	for (auto &child : op->children) {
		KeepWhole(child);
	}
}

} // namespace merganser
