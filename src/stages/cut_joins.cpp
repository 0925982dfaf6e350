#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"
#include "stages/sliced_files.hpp"

#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

//! What every task may read again for itself rather than from an exchange.
const idx_t MOST_REPEATED_ROWS = 2048;
//! How much larger a side must be for its rows that match nothing to be left out before it is exchanged.
const idx_t WORTH_MATCHING = 8;

const char *const LEFT_BY_KEYS = "left side of the join by its keys";
const char *const RIGHT_BY_KEYS = "right side of the join by its keys";

bool EveryRowMayGoToAllTasks(JoinType type, bool right_side) {
	switch (type) {
	case JoinType::INNER:
		return true;
	case JoinType::LEFT:
	case JoinType::SEMI:
	case JoinType::ANTI:
	case JoinType::MARK:
	case JoinType::SINGLE:
		return right_side;
	case JoinType::RIGHT:
	case JoinType::RIGHT_SEMI:
	case JoinType::RIGHT_ANTI:
		return !right_side;
	default:
		return false;
	}
}

JoinType KindOf(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT ? JoinType::INNER : op.Cast<LogicalJoin>().join_type;
}

struct JoinKeys {
	vector<unique_ptr<Expression>> left;
	vector<unique_ptr<Expression>> right;
	vector<ExpressionType> comparisons;
};

//! The comparisons that only rows with equal values pass. None for MARK: its NULL depends on all rows of the right
//! side.
JoinKeys EqualKeys(LogicalOperator &op) {
	JoinKeys result;
	auto is_comparison =
	    op.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN || op.type == LogicalOperatorType::LOGICAL_ASOF_JOIN;
	if (!is_comparison || KindOf(op) == JoinType::MARK) {
		return result;
	}
	for (auto &condition : op.Cast<LogicalComparisonJoin>().conditions) {
		if (!condition.IsComparison()) {
			continue;
		}
		auto comparison = condition.GetComparisonType();
		if (comparison != ExpressionType::COMPARE_EQUAL && comparison != ExpressionType::COMPARE_NOT_DISTINCT_FROM) {
			continue;
		}
		auto &left = condition.GetLHS();
		auto &right = condition.GetRHS();
		if (left.GetReturnType() == right.GetReturnType() && PlanColumns::CanHash(left.GetReturnType()) &&
		    !left.IsVolatile() && !right.IsVolatile()) {
			result.left.push_back(left.Copy());
			result.right.push_back(right.Copy());
			result.comparisons.push_back(comparison);
		}
	}
	return result;
}

} // namespace

Partitioning StagePlanner::CutJoin(Slot &op) {
	if (!IsSelfContained(*op->children[0]) || !IsSelfContained(*op->children[1])) {
		return OneTask(op, "a join inside a correlated subquery runs in one task");
	}
	if (needs->JoinsOneChunk(*op)) {
		return OneTask(op, "joins so few rows in one task, in the order they come");
	}
	auto kind = KindOf(*op);
	auto repeat_right = EveryRowMayGoToAllTasks(kind, true) && MayRepeat(*op->children[1]);
	auto left = Cut(op->children[0]);
	if (repeat_right && !left.IsOneTask()) {
		Repeat(op->children[1]);
		return PlanColumns::KeepAvailable(std::move(left), *op);
	}
	auto asof = op->type == LogicalOperatorType::LOGICAL_ASOF_JOIN;
	auto right = Cut(op->children[1]);
	if (left.IsOneTask() && right.IsOneTask()) {
		return {};
	}
	if (needs->Of(*op) != OrderNeed::NONE) {
		return KeepOrderOfLeftSide(op, left, right);
	}
	auto keys = EqualKeys(*op);
	auto in_ranges = JoinInRanges(*op, left, right, keys.left, keys.right);
	if (in_ranges) {
		return std::move(*in_ranges);
	}
	auto can_hash = PlanColumns::CanHash(keys.left);
	auto left_bytes = Bytes(*op->children[0]);
	auto right_bytes = Bytes(*op->children[1]);
	auto small = [&](idx_t bytes) {
		return broadcast_bytes > 0 && bytes <= broadcast_bytes;
	};
	for (auto small_is_right : {false, true}) {
		auto &lies = small_is_right ? right : left;
		auto bytes = small_is_right ? right_bytes : left_bytes;
		auto other_bytes = small_is_right ? left_bytes : right_bytes;
		auto only_matches_count =
		    EveryRowMayGoToAllTasks(kind, !small_is_right) && !EveryRowMayGoToAllTasks(kind, small_is_right) && !asof;
		if (can_hash && only_matches_count && !left.IsOneTask() && !right.IsOneTask() && small(bytes) &&
		    bytes <= other_bytes / WORTH_MATCHING && lies.distribution != Distribution::HASHED &&
		    LeavesOutRows(*op->children[small_is_right ? 1 : 0])) {
			lies = KeepMatching(op, small_is_right, lies);
			return HashBothSides(op, left, right, std::move(keys.left), std::move(keys.right));
		}
	}
	auto left_fits = EveryRowMayGoToAllTasks(kind, false) && !right.IsOneTask() && !asof;
	auto right_fits = EveryRowMayGoToAllTasks(kind, true) && !left.IsOneTask();
	if (right_fits && (small(right_bytes) || !can_hash) && (right_bytes <= left_bytes || !left_fits)) {
		Exchange(op->children[1], right, {}, ReadMode::ALL,
		         StringUtil::Format("right side of the join to all tasks, about %llu bytes", right_bytes));
		return PlanColumns::KeepAvailable(std::move(left), *op);
	}
	if (left_fits && (small(left_bytes) || !can_hash)) {
		Exchange(op->children[0], left, {}, ReadMode::ALL,
		         StringUtil::Format("left side of the join to all tasks, about %llu bytes", left_bytes));
		right.order = RowOrder();
		return PlanColumns::KeepAvailable(std::move(right), *op);
	}
	if (!can_hash) {
		Gather(op->children[0], left, "this kind of join without an equality needs all rows in one task");
		Gather(op->children[1], right, "this kind of join without an equality needs all rows in one task");
		return {};
	}
	return HashBothSides(op, left, right, std::move(keys.left), std::move(keys.right));
}

//! Joins without an equality deliver rows in the order of their left side, and so of their tasks.
Partitioning StagePlanner::KeepOrderOfLeftSide(Slot &op, const Partitioning &left, const Partitioning &right) {
	if (!left.IsOneTask() && EveryRowMayGoToAllTasks(KindOf(*op), true)) {
		Exchange(op->children[1], right, {}, ReadMode::ALL,
		         "right side of the join to all tasks, which keep the order of the left side");
		return PlanColumns::KeepAvailable(left, *op);
	}
	Gather(op->children[0], left, "a join whose rows keep the order of its left side");
	Gather(op->children[1], right, "a join whose rows keep the order of its left side");
	return {};
}

Partitioning StagePlanner::HashBothSides(Slot &op, const Partitioning &left, const Partitioning &right,
                                         vector<unique_ptr<Expression>> left_keys,
                                         vector<unique_ptr<Expression>> right_keys) {
	auto kind = KindOf(*op);
	auto left_columns = PlanColumns::Plain(left_keys);
	auto right_columns = PlanColumns::Plain(right_keys);
	auto left_lies_so = left.distribution == Distribution::HASHED && left.keys == left_columns;
	auto right_lies_so = right.distribution == Distribution::HASHED && right.keys == right_columns;
	if (left_lies_so) {
		RelyOnHash(*op->children[0]);
	}
	if (right_lies_so) {
		RelyOnHash(*op->children[1]);
	}
	if (!left_lies_so && !right_lies_so) {
		HashSmallerSideFirst(op, left, right, std::move(left_keys), std::move(right_keys));
	} else if (!left_lies_so) {
		Hash(op->children[0], left, std::move(left_keys), LEFT_BY_KEYS);
	} else if (!right_lies_so) {
		Hash(op->children[1], right, std::move(right_keys), RIGHT_BY_KEYS);
	}
	auto left_survives = kind != JoinType::RIGHT && kind != JoinType::OUTER && !left_columns.empty();
	auto right_survives = kind == JoinType::RIGHT && !right_columns.empty();
	if (!left_survives && !right_survives) {
		return {Distribution::SPLIT, {}};
	}
	return PlanColumns::KeepAvailable({Distribution::HASHED, left_survives ? left_columns : right_columns}, *op);
}

bool StagePlanner::LeavesOutRows(LogicalOperator &op) {
	reference<LogicalOperator> scan = op;
	while (scan.get().type == LogicalOperatorType::LOGICAL_PROJECTION ||
	       scan.get().type == LogicalOperatorType::LOGICAL_FILTER) {
		scan = *scan.get().children[0];
	}
	auto entry = sliced.find(&scan.get());
	return entry == sliced.end() || op.estimated_cardinality < entry->second.Rows() / 2;
}

//! SELECT large.* FROM large SEMI JOIN small USING (keys): what matches nothing is not exchanged. For kinds of join in
//! which a row of the large side counts only by its matches.
Partitioning StagePlanner::KeepMatching(Slot &op, bool small_is_right, const Partitioning &small_lies) {
	auto keys = EqualKeys(*op);
	auto &small_keys = small_is_right ? keys.right : keys.left;
	auto &large_keys = small_is_right ? keys.left : keys.right;
	auto &small = op->children[small_is_right ? 1 : 0];
	auto &large = op->children[small_is_right ? 0 : 1];
	Hash(small, small_lies, PlanColumns::Copies(small_keys), small_is_right ? RIGHT_BY_KEYS : LEFT_BY_KEYS);

	auto again = small->Cast<LogicalExchange>().ReadAgain(binder.GenerateTableIndex());
	again->input.mode = ReadMode::ALL;
	auto keys_again = PlanColumns::Over(small_keys, small->GetColumnBindings(), again->GetColumnBindings());
	auto matching = make_uniq<LogicalComparisonJoin>(JoinType::SEMI);
	for (idx_t i = 0; i < large_keys.size(); i++) {
		matching->conditions.emplace_back(large_keys[i]->Copy(), std::move(keys_again[i]), keys.comparisons[i]);
	}
	auto rows = MinValue(large->estimated_cardinality, small->estimated_cardinality);
	matching->children.push_back(std::move(large));
	matching->children.push_back(std::move(again));
	matching->SetEstimatedCardinality(rows);
	matching->ResolveOperatorTypes();
	large = std::move(matching);
	pending_reasons.push_back("without the rows that match nothing on the small side");
	return {Distribution::HASHED, PlanColumns::Plain(small_keys)};
}

void StagePlanner::HashSmallerSideFirst(Slot &op, const Partitioning &left, const Partitioning &right,
                                        vector<unique_ptr<Expression>> left_keys,
                                        vector<unique_ptr<Expression>> right_keys) {
	auto kind = KindOf(*op);
	auto asof = op->type == LogicalOperatorType::LOGICAL_ASOF_JOIN;
	auto left_bytes = Bytes(*op->children[0]);
	auto right_bytes = Bytes(*op->children[1]);
	auto left_may_go = EveryRowMayGoToAllTasks(kind, false) && !right.IsOneTask() && !asof;
	auto right_may_go = EveryRowMayGoToAllTasks(kind, true) && !left.IsOneTask();
	auto left_first = left_may_go && (!right_may_go || left_bytes <= right_bytes);
	auto hash_left = [&]() {
		Hash(op->children[0], left, std::move(left_keys), LEFT_BY_KEYS);
	};
	if (left_first) {
		hash_left();
	}
	Hash(op->children[1], right, std::move(right_keys), RIGHT_BY_KEYS);
	if (!left_first) {
		hash_left();
	}
	auto usual_shares = left.shares == 0 && right.shares == 0;
	if (broadcast_bytes > 0 && tasks > 1 && usual_shares && (left_may_go || right_may_go)) {
		LateBroadcast late;
		late.other = result->stages.size();
		late.small = late.other - 1;
		late.max_bytes = MinValue(broadcast_bytes, left_first ? right_bytes : left_bytes);
		late_broadcasts.emplace(op.get(), late);
	}
}

bool StagePlanner::MayRepeat(const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_PROJECTION || op.type == LogicalOperatorType::LOGICAL_FILTER) {
		for (auto &expression : op.expressions) {
			if (expression->IsVolatile()) {
				return false;
			}
		}
		return MayRepeat(*op.children[0]);
	}
	if (op.type != LogicalOperatorType::LOGICAL_GET || !op.children.empty()) {
		return false;
	}
	auto scan = SlicedFiles::TrySlice(context, op.Cast<LogicalGet>());
	return scan && scan->rows_are_known && scan->Rows() <= MOST_REPEATED_ROWS && scan->files.size() == 1 &&
	       broadcast_bytes > 0;
}

//! Cheaper than a stage of its own for so few rows.
void StagePlanner::Repeat(Slot &op) {
	KeepWhole(op);
	pending_reasons.push_back("each task reads a whole file of few rows");
}

} // namespace merganser
