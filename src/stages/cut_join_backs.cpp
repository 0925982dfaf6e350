#include "stages/stage_planner.hpp"

#include "late_materialization/join_back_guard.hpp"
#include "stages/join_back_check.hpp"
#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"

#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/logical_comparison_join.hpp"

namespace merganser {

namespace {

//! The join of a join-back, whichever of its sides DuckDB put first.
struct JoinBackParts {
	bool narrow_first;
	//! What the guard delivers.
	vector<ColumnBinding> bindings;
	vector<LogicalType> types;
	unique_ptr<LogicalOperator> narrow;
	unique_ptr<LogicalOperator> wide;
	vector<unique_ptr<Expression>> narrow_keys;
	vector<unique_ptr<Expression>> wide_keys;
};

//! DuckDB may compute columns of the wide side above the join: the guard, which looks at row numbers only, goes below.
void LowerGuard(unique_ptr<LogicalOperator> &guard) {
	auto projection = std::move(guard->children[0]);
	auto row_number = guard->Cast<LogicalJoinBackGuard>().RowNumber().Cast<BoundColumnRefExpression>().Binding();
	guard->expressions[0] = projection->expressions[row_number.column_index.GetIndex()]->Copy();
	guard->children[0] = std::move(projection->children[0]);
	projection->children[0] = std::move(guard);
	guard = std::move(projection);
}

LogicalComparisonJoin &JoinOf(LogicalJoinBackGuard &guard) {
	auto &join = *guard.children[0];
	auto understood = join.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN &&
	                  join.Cast<LogicalComparisonJoin>().join_type == JoinType::INNER;
	if (understood) {
		for (auto &condition : join.Cast<LogicalComparisonJoin>().conditions) {
			understood = understood && condition.IsComparison() &&
			             condition.GetComparisonType() == ExpressionType::COMPARE_EQUAL;
		}
	}
	if (!understood) {
		throw NotImplementedException("the join-back to %s is no longer a join by its key", guard.Promise().table);
	}
	return join.Cast<LogicalComparisonJoin>();
}

bool IsNarrowFirst(const LogicalJoinBackGuard &guard, LogicalComparisonJoin &join) {
	auto row_number = guard.RowNumber().Cast<BoundColumnRefExpression>().Binding();
	return PlanColumns::Contains(join.children[0]->GetColumnBindings(), row_number);
}

JoinBackParts TakeApart(LogicalJoinBackGuard &guard, LogicalComparisonJoin &join) {
	guard.ResolveOperatorTypes();
	auto narrow_first = IsNarrowFirst(guard, join);
	JoinBackParts result;
	result.narrow_first = narrow_first;
	result.bindings = guard.GetColumnBindings();
	result.types = guard.types;
	result.narrow = std::move(join.children[narrow_first ? 0 : 1]);
	result.wide = std::move(join.children[narrow_first ? 1 : 0]);
	for (auto &condition : join.conditions) {
		result.narrow_keys.push_back((narrow_first ? condition.GetLHS() : condition.GetRHS()).Copy());
		result.wide_keys.push_back((narrow_first ? condition.GetRHS() : condition.GetLHS()).Copy());
	}
	return result;
}

unique_ptr<LogicalOperator> Join(JoinType type, unique_ptr<LogicalOperator> left, unique_ptr<LogicalOperator> right,
                                 const vector<unique_ptr<Expression>> &left_keys,
                                 const vector<unique_ptr<Expression>> &right_keys, idx_t rows) {
	auto result = make_uniq<LogicalComparisonJoin>(type);
	for (idx_t i = 0; i < left_keys.size(); i++) {
		result->conditions.emplace_back(left_keys[i]->Copy(), right_keys[i]->Copy(), ExpressionType::COMPARE_EQUAL);
	}
	result->children.push_back(std::move(left));
	result->children.push_back(std::move(right));
	result->SetEstimatedCardinality(rows);
	result->ResolveOperatorTypes();
	return std::move(result);
}

//! Filters DuckDB derived from the join and put above the narrow rows. They would hide a row the join does not find.
void DropDerivedFilters(unique_ptr<LogicalOperator> &narrow, const string &table) {
	while (narrow->type == LogicalOperatorType::LOGICAL_FILTER) {
		narrow = std::move(narrow->children[0]);
	}
	if (narrow->type == LogicalOperatorType::LOGICAL_PROJECTION) {
		DropDerivedFilters(narrow->children[0], table);
		return;
	}
	if (!dynamic_cast<LogicalNarrowRows *>(narrow.get()) && !dynamic_cast<LogicalJoinBackGuard *>(narrow.get())) {
		throw NotImplementedException("the join-back to %s no longer stands directly above its narrow rows", table);
	}
}

} // namespace

Partitioning StagePlanner::CutNarrowRows(Slot &op) {
	auto delivered = Cut(op->children[0]);
	Gather(op->children[0], delivered, "the narrow rows of a late materialisation are numbered in one task");
	return {};
}

//! The narrow rows go to all tasks; each keeps the rows of its slice that have one of their keys; one task joins.
Partitioning StagePlanner::CutJoinBack(Slot &op) {
	if (op->children[0]->type == LogicalOperatorType::LOGICAL_PROJECTION) {
		LowerGuard(op);
		return Cut(op);
	}
	auto &guard = op->Cast<LogicalJoinBackGuard>();
	auto &join = JoinOf(guard);
	DropDerivedFilters(join.children[IsNarrowFirst(guard, join) ? 0 : 1], guard.Promise().table);
	auto left = Cut(join.children[0]);
	auto right = Cut(join.children[1]);
	auto parts = TakeApart(guard, join);
	auto &delivered = parts.narrow_first ? right : left;
	Gather(parts.narrow, parts.narrow_first ? left : right, "the narrow rows of a late materialisation");
	auto rows = guard.estimated_cardinality;
	if (!delivered.IsOneTask()) {
		Exchange(parts.narrow, {}, {}, ReadMode::ALL, "the narrow rows of a late materialisation, to all tasks");
		auto &narrow = parts.narrow->Cast<LogicalExchange>();
		auto again = narrow.ReadAgain(binder.GenerateTableIndex());
		auto again_keys = PlanColumns::Over(parts.narrow_keys, narrow.GetColumnBindings(), again->GetColumnBindings());
		parts.wide = Join(JoinType::SEMI, std::move(parts.wide), std::move(again), parts.wide_keys, again_keys, rows);
		Gather(parts.wide, delivered, "the determined columns of the narrow rows, from " + guard.Promise().table);
	}
	auto check = make_uniq<LogicalJoinBackCheck>(guard, parts.wide_keys[0]->Copy(), parts.bindings, parts.types);
	check->children.push_back(
	    Join(JoinType::LEFT, std::move(parts.narrow), std::move(parts.wide), parts.narrow_keys, parts.wide_keys, rows));
	check->SetEstimatedCardinality(rows);
	op = std::move(check);
	op->ResolveOperatorTypes();
	return {};
}

} // namespace merganser
