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
	for (auto &expression : guard->expressions) {
		auto column = expression->Cast<BoundColumnRefExpression>().Binding();
		expression = projection->expressions[column.column_index.GetIndex()]->Copy();
	}
	guard->children[0] = std::move(projection->children[0]);
	projection->children[0] = std::move(guard);
	guard = std::move(projection);
}

bool IsNarrowFirst(const LogicalJoinBackGuard &guard, LogicalComparisonJoin &join) {
	auto row_number = guard.RowNumber().Cast<BoundColumnRefExpression>().Binding();
	return PlanColumns::Contains(join.children[0]->GetColumnBindings(), row_number);
}

LogicalComparisonJoin &JoinOf(LogicalJoinBackGuard &guard) {
	auto &join = *guard.children[0];
	auto understood = join.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN;
	if (understood) {
		auto &comparisons = join.Cast<LogicalComparisonJoin>();
		auto kind = comparisons.join_type;
		understood = IsNarrowFirst(guard, comparisons) ? kind == JoinType::LEFT || kind == JoinType::SINGLE
		                                               : kind == JoinType::RIGHT;
		for (auto &condition : comparisons.conditions) {
			understood = understood && condition.IsComparison() &&
			             condition.GetComparisonType() == ExpressionType::COMPARE_EQUAL;
		}
	}
	if (!understood) {
		throw NotImplementedException("the join-back to %s is no longer a join by its key", guard.Promise().table);
	}
	return join.Cast<LogicalComparisonJoin>();
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

//! The first rows of all are numbered in one task; where every group is kept, each task numbers its own.
Partitioning StagePlanner::CutNarrowRows(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (!op->Cast<LogicalNarrowRows>().Bound().IsValid()) {
		return {delivered.distribution, delivered.keys};
	}
	Gather(op->children[0], delivered, "the narrow rows of a late materialisation are numbered in one task");
	return {};
}

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
	auto &narrow_lies = parts.narrow_first ? left : right;
	auto &wide_lies = parts.narrow_first ? right : left;
	Partitioning delivered;
	if (narrow_lies.IsOneTask()) {
		FetchIntoOneTask(guard, parts.narrow, parts.narrow_keys, parts.wide, parts.wide_keys, wide_lies);
	} else {
		FetchIntoEachTask(guard, parts.narrow, narrow_lies, parts.narrow_keys, parts.wide, parts.wide_keys, wide_lies);
		delivered = narrow_lies;
	}
	auto rows = guard.estimated_cardinality;
	auto check = make_uniq<LogicalJoinBackCheck>(guard, parts.wide_keys[0]->Copy(), parts.narrow_keys[0]->Copy(),
	                                             parts.bindings, parts.types);
	check->children.push_back(
	    Join(JoinType::LEFT, std::move(parts.narrow), std::move(parts.wide), parts.narrow_keys, parts.wide_keys, rows));
	check->SetEstimatedCardinality(rows);
	op = std::move(check);
	op->ResolveOperatorTypes();
	return PlanColumns::KeepAvailable(std::move(delivered), *op);
}

//! The narrow rows go to all tasks; each keeps the rows of its slice that have one of their keys; one task joins.
void StagePlanner::FetchIntoOneTask(const LogicalJoinBackGuard &guard, Slot &narrow, const Keys &narrow_keys,
                                    Slot &wide, const Keys &wide_keys, const Partitioning &wide_lies) {
	if (wide_lies.IsOneTask()) {
		return;
	}
	Exchange(narrow, {}, {}, ReadMode::ALL, "the narrow rows of a late materialisation, to all tasks");
	auto &sent = narrow->Cast<LogicalExchange>();
	auto again = sent.ReadAgain(binder.GenerateTableIndex());
	auto again_keys = PlanColumns::Over(narrow_keys, sent.GetColumnBindings(), again->GetColumnBindings());
	wide = Join(JoinType::SEMI, std::move(wide), std::move(again), wide_keys, again_keys, guard.estimated_cardinality);
	Gather(wide, wide_lies, "the determined columns of the narrow rows, from " + guard.Promise().table);
}

//! The narrow rows stay where they are numbered. The rows they look for come to them by the key where the narrow rows
//! lie by it, else to every task.
void StagePlanner::FetchIntoEachTask(const LogicalJoinBackGuard &guard, Slot &narrow, const Partitioning &narrow_lies,
                                     const Keys &narrow_keys, Slot &wide, const Keys &wide_keys,
                                     const Partitioning &wide_lies) {
	auto reason = "the determined columns of the groups, from " + guard.Promise().table;
	auto same_types = true;
	for (idx_t i = 0; i < narrow_keys.size(); i++) {
		same_types = same_types && narrow_keys[i]->GetReturnType() == wide_keys[i]->GetReturnType();
	}
	auto by_key = narrow_lies.distribution == Distribution::HASHED && same_types &&
	              narrow_lies.keys == PlanColumns::Plain(narrow_keys);
	if (!by_key) {
		Exchange(wide, wide_lies, {}, ReadMode::ALL, reason + ", to all tasks");
		return;
	}
	RelyOnHash(*narrow);
	if (wide_lies.distribution == Distribution::HASHED && wide_lies.keys == PlanColumns::Plain(wide_keys)) {
		RelyOnHash(*wide);
	} else {
		Hash(wide, wide_lies, PlanColumns::Copies(wide_keys), reason);
	}
}

} // namespace merganser
