#include "stages/stage_planner.hpp"

#include "stages/plan_columns.hpp"
#include "stages/two_phase_aggregate.hpp"

#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

//! How many rows of a group, by DuckDB's estimate, make exchanging partial states cheaper than anything else.
const idx_t MANY_ROWS_OF_A_GROUP = 8;

bool ReducesToFew(const LogicalOperator &op) {
	auto &child = *op.children[0];
	return TwoPhaseAggregate::IsPossible(op.Cast<LogicalAggregate>()) && op.has_estimated_cardinality &&
	       child.has_estimated_cardinality &&
	       op.estimated_cardinality < child.estimated_cardinality / MANY_ROWS_OF_A_GROUP;
}

} // namespace

Partitioning StagePlanner::CutAggregate(Slot &op) {
	auto &aggregate = op->Cast<LogicalAggregate>();
	if (aggregate.grouping_sets.size() > 1 || !aggregate.grouping_functions.empty()) {
		return OneTask(op, "grouping sets need all rows in one task");
	}
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto outputs = op->GetColumnBindings();
	auto groups = PlanColumns::Plain(aggregate.groups);
	auto by_group = [&]() {
		Partitioning kept {delivered.distribution, delivered.keys};
		return kept.Renamed([&](const ColumnBinding &key) {
			auto place = NumericCast<idx_t>(std::find(groups.begin(), groups.end(), key) - groups.begin());
			return place < groups.size() ? optional<ColumnBinding>(outputs[place]) : optional<ColumnBinding>();
		});
	};
	if (!groups.empty() && KeepsTogether(*op->children[0], delivered, groups)) {
		return by_group();
	}
	auto can_hash = PlanColumns::CanHash(aggregate.groups);
	auto &child = *op->children[0];
	if (!ReducesToFew(*op) && ReadInRanges(child, delivered, groups)) {
		return by_group();
	}
	// Half as many groups as rows, or about as many, is what DuckDB estimates where it knows nothing of the groups.
	auto reduces = aggregate.groups.empty() || !op->has_estimated_cardinality || !child.has_estimated_cardinality ||
	               op->estimated_cardinality <= (child.estimated_cardinality + 1) / 2 ||
	               op->estimated_cardinality >= child.estimated_cardinality - child.estimated_cardinality / 20;
	if (TwoPhaseAggregate::IsPossible(aggregate) && (reduces || !can_hash)) {
		auto sees_order = needs->Of(*op->children[0]) == OrderNeed::STREAM;
		auto combine = TwoPhaseAggregate::Split(context, binder, *root, op);
		auto &lower = combine.get().children[0];
		needs->Set(*lower, sees_order ? OrderNeed::STREAM : OrderNeed::NONE);
		auto keys = PlanColumns::Copies(combine.get().Cast<LogicalAggregate>().groups);
		auto below = delivered.WithoutColumns();
		if (!can_hash) {
			Gather(lower, below, "partial states of the aggregates");
			return {};
		}
		auto hashed = Hash(lower, below, std::move(keys), "partial states of the aggregates by their groups");
		// The projection above the combining aggregate delivers the groups first, in their order.
		auto bindings = op->GetColumnBindings();
		hashed.keys.assign(bindings.begin(), bindings.begin() + NumericCast<int64_t>(hashed.keys.size()));
		return hashed;
	}
	if (!can_hash) {
		Gather(op->children[0], delivered, "the aggregates need all rows in one task");
		return {};
	}
	Hash(op->children[0], delivered, PlanColumns::Copies(aggregate.groups), "rows by their groups");
	outputs.resize(aggregate.groups.size());
	return {Distribution::HASHED, std::move(outputs)};
}

Partitioning StagePlanner::CutDistinct(Slot &op) {
	auto delivered = Cut(op->children[0]);
	auto &targets = op->Cast<LogicalDistinct>().distinct_targets;
	auto columns = PlanColumns::Plain(targets);
	if (delivered.IsOneTask() || (!columns.empty() && KeepsTogether(*op->children[0], delivered, columns))) {
		return delivered;
	}
	if (ReadInRanges(*op->children[0], delivered, columns)) {
		return PlanColumns::KeepAvailable(delivered, *op);
	}
	if (!PlanColumns::CanHash(targets)) {
		Gather(op->children[0], delivered, "DISTINCT needs all rows in one task");
		return {};
	}
	auto hashed = Hash(op->children[0], delivered, PlanColumns::Copies(targets), "rows by what DISTINCT compares");
	return PlanColumns::KeepAvailable(std::move(hashed), *op);
}

} // namespace merganser
