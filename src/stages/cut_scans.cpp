#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/planner/operator/list.hpp"

namespace merganser {

Partitioning StagePlanner::CutScan(Slot &op) {
	if (!op->children.empty()) {
		return OneTask(op, op->GetName() + " runs in one task");
	}
	auto &get = op->Cast<LogicalGet>();
	auto scan = SlicedFiles::TrySlice(context, get);
	if (!scan) {
		Send(op, ReadMode::PARTITION);
		return {Distribution::SPLIT, {}};
	}
	idx_t width = 0;
	for (auto &column : get.GetColumnIds()) {
		width += PlanColumns::Width(get.GetColumnType(column));
	}
	input_bytes += scan->Rows() * width;
	scan->name = SlicedFiles::Relation(get);
	sliced.emplace(op.get(), std::move(*scan));
	SlicedFiles::ReadSlice(get);
	return {Distribution::SPLIT, {}};
}

Partitioning StagePlanner::CutSessionRows(Slot &op) {
	Send(op, ReadMode::PARTITION);
	return {Distribution::SPLIT, {}};
}

void StagePlanner::Send(Slot &op, ReadMode mode) {
	op->ResolveOperatorTypes();
	input_bytes += Bytes(*op);
	SentInput sent;
	sent.types = op->types;
	StageInput input;
	input.sent = result->sent.size();
	input.mode = mode;
	auto rows = op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	auto exchange = make_uniq<LogicalExchange>(std::move(input), op->GetColumnBindings(), sent.types, sent.types);
	exchange->SetEstimatedCardinality(rows);
	result->sent.push_back(std::move(sent));
	sent_plans.push_back(std::move(op));
	op = std::move(exchange);
	op->ResolveOperatorTypes();
}

} // namespace merganser
