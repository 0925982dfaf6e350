#include "stages/order_needs.hpp"

#include "grouping/logical_table_function.hpp"
#include "late_materialization/join_back_guard.hpp"
#include "late_materialization/key_check.hpp"
#include "stages/plan_copy.hpp"
#include "stages/two_phase_aggregate.hpp"

#include "duckdb/main/settings.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_window_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

bool IsJoinByHash(LogicalOperator &op) {
	if (op.type != LogicalOperatorType::LOGICAL_COMPARISON_JOIN) {
		return false;
	}
	idx_t ranges;
	return op.Cast<LogicalComparisonJoin>().HasEquality(ranges);
}

//! Joins without an equality go through their left side row by row, unless they return rows of the right side.
bool GoesThroughLeftSide(LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT) {
		return true;
	}
	return !IsJoinByHash(op) && !PropagatesBuildSide(op.Cast<LogicalJoin>().join_type);
}

idx_t EstimatedRows(ClientContext &context, LogicalOperator &op) {
	return op.has_estimated_cardinality ? op.estimated_cardinality : op.EstimateCardinality(context);
}

//! As a scalar subquery has.
bool HasOneRow(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_PROJECTION:
		return HasOneRow(*op.children[0]);
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
		return op.Cast<LogicalAggregate>().groups.empty();
	default:
		return op.type == LogicalOperatorType::LOGICAL_DUMMY_SCAN;
	}
}

//! Whether a row of the left side may come out several times, or one of the right side without any.
bool MixesRows(LogicalOperator &op) {
	auto is_join =
	    op.type == LogicalOperatorType::LOGICAL_ANY_JOIN || op.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN;
	if (!is_join && op.type != LogicalOperatorType::LOGICAL_CROSS_PRODUCT) {
		return false;
	}
	auto kind = is_join ? op.Cast<LogicalJoin>().join_type : JoinType::INNER;
	if (PropagatesBuildSide(kind)) {
		return true;
	}
	auto once = kind != JoinType::INNER && kind != JoinType::LEFT;
	return !IsJoinByHash(op) && !once && !HasOneRow(*op.children[1]);
}

//! The order of the first input that has not its rows' own.
OrderPreservationType First(const vector<OrderPreservationType> &children) {
	for (auto child : children) {
		if (child != OrderPreservationType::INSERTION_ORDER) {
			return child;
		}
	}
	return OrderPreservationType::INSERTION_ORDER;
}

OrderPreservationType FixedByScan(const LogicalOperator &op, const vector<OrderPreservationType> &children) {
	auto session_rows = dynamic_cast<const LogicalSessionRows *>(&op);
	auto &scan = session_rows ? session_rows->Original() : op;
	if (scan.type != LogicalOperatorType::LOGICAL_GET) {
		return OrderPreservationType::INSERTION_ORDER;
	}
	auto own = scan.Cast<LogicalGet>().function.order_preservation_type;
	return children.empty() || own == OrderPreservationType::NO_ORDER ? own : First(children);
}

//! Of branches without an order, their own.
OrderPreservationType FixedByUnion(const vector<OrderPreservationType> &children) {
	auto first = First(children);
	return first == OrderPreservationType::NO_ORDER ? OrderPreservationType::INSERTION_ORDER : first;
}

OrderPreservationType FixedByWindow(const LogicalOperator &op, const vector<OrderPreservationType> &children) {
	auto partitions_all = true;
	auto orders = false;
	for (auto &expression : op.expressions) {
		auto &window = expression->Cast<BoundWindowExpression>();
		partitions_all = partitions_all && !window.Partitions().empty();
		orders = orders || !window.OrderBy().empty();
	}
	if (partitions_all) {
		return OrderPreservationType::NO_ORDER;
	}
	return orders ? OrderPreservationType::FIXED_ORDER : First(children);
}

bool AggregatesSeeOrder(const LogicalOperator &op) {
	for (auto &expression : op.expressions) {
		auto &aggregate = expression->Cast<BoundAggregateExpression>();
		if (TwoPhaseAggregate::SeesOrder(aggregate.Function(), aggregate.GetChildren().size())) {
			return true;
		}
	}
	return false;
}

//! The operators of a join-back: numbers of narrow rows tell them apart and stand in no order.
bool LooksAtRowsAlone(LogicalOperator &op) {
	return dynamic_cast<LogicalNarrowRows *>(&op) || dynamic_cast<LogicalJoinBackGuard *>(&op) ||
	       dynamic_cast<LogicalKeyCheck *>(&op);
}

//! Operators that hand rows on as they come, so that what is seen of theirs is seen of those below. Joins by hash fix
//! no order, so that nothing is seen of them.
bool HandsOnRows(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_PROJECTION:
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_UNNEST:
	case LogicalOperatorType::LOGICAL_UNION:
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
		return true;
	default:
		return false;
	}
}

//! Without ORDER BY all rows of a partition are peers: only the usual frame is all of it.
bool SeesOrder(const BoundWindowExpression &window) {
	auto all_rows = window.WindowStart() == WindowBoundary::UNBOUNDED_PRECEDING &&
	                (window.WindowEnd() == WindowBoundary::UNBOUNDED_FOLLOWING ||
	                 window.WindowEnd() == WindowBoundary::CURRENT_ROW_RANGE);
	auto &aggregate = window.AggregateFunction();
	return window.OrderBy().empty() && !(all_rows && aggregate && !TwoPhaseAggregate::SeesOrder(*aggregate, 1));
}

//! A window without ORDER BY or PARTITION BY hands on rows as they come, one with ORDER BY sorts them.
OrderNeed NeedOfWindows(const LogicalOperator &op, OrderNeed need) {
	for (auto &expression : op.expressions) {
		auto &window = expression->Cast<BoundWindowExpression>();
		if (SeesOrder(window)) {
			return OrderNeed::STREAM;
		}
		need = window.OrderBy().empty() ? need : MaxValue(need, OrderNeed::ROWS);
	}
	return need;
}

} // namespace

OrderNeeds::OrderNeeds(ClientContext &context)
    : context(context), preserve_insertion_order(duckdb::Settings::Get<PreserveInsertionOrderSetting>(context)) {
}

OrderNeeds::OrderNeeds(ClientContext &context, LogicalOperator &plan, bool sees_insertion_order) : OrderNeeds(context) {
	auto is_sorted = FindFixed(plan) == OrderPreservationType::FIXED_ORDER;
	FindNeeds(plan, is_sorted || sees_insertion_order ? OrderNeed::ROWS : OrderNeed::NONE,
	          preserve_insertion_order && sees_insertion_order);
}

bool OrderNeeds::SkipsUnorderedRows(ClientContext &context, LogicalOperator &plan) {
	OrderNeeds as_duckdb(context);
	as_duckdb.keeps_branches = false;
	as_duckdb.FindFixed(plan);
	return as_duckdb.SkipsUnordered(plan);
}

bool OrderNeeds::SkipsUnordered(LogicalOperator &op) const {
	if (op.type == LogicalOperatorType::LOGICAL_LIMIT &&
	    op.Cast<LogicalLimit>().offset_val.Type() != LimitNodeType::UNSET && !IsFixed(fixed.at(op.children[0].get()))) {
		return true;
	}
	for (auto &child : op.children) {
		if (SkipsUnordered(*child)) {
			return true;
		}
	}
	return false;
}

bool OrderNeeds::IsFixed(OrderPreservationType type) const {
	return type == OrderPreservationType::FIXED_ORDER ||
	       (preserve_insertion_order && type == OrderPreservationType::INSERTION_ORDER);
}

bool OrderNeeds::JoinsOneChunk(const LogicalOperator &op) const {
	return joins_of_one_chunk.count(&op) > 0;
}

OrderNeed OrderNeeds::Of(const LogicalOperator &op) const {
	auto entry = needs.find(&op);
	return entry == needs.end() ? OrderNeed::NONE : entry->second;
}

RowOrder OrderNeeds::Required(const LogicalOperator &op) const {
	return Of(op) == OrderNeed::NONE ? RowOrder() : RowOrder::AsProduced(RowOrder::Scope::ALL_ROWS);
}

void OrderNeeds::Set(const LogicalOperator &op, OrderNeed need) {
	needs[&op] = need;
}

//! A shared query before what refers to it.
OrderPreservationType OrderNeeds::FindFixed(LogicalOperator &op) {
	vector<OrderPreservationType> children;
	for (idx_t i = 0; i < op.children.size(); i++) {
		children.push_back(FindFixed(*op.children[i]));
		if (i == 0 && op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
			fixed_of_shared[op.Cast<LogicalCTE>().table_index.index] = children[0];
		}
	}
	return fixed[&op] = FixedAbove(op, children);
}

OrderPreservationType OrderNeeds::FixedAbove(LogicalOperator &op, const vector<OrderPreservationType> &children) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_ORDER_BY:
	case LogicalOperatorType::LOGICAL_TOP_N:
		return OrderPreservationType::FIXED_ORDER;
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
		return op.Cast<LogicalAggregate>().groups.empty() ? OrderPreservationType::INSERTION_ORDER
		                                                  : OrderPreservationType::NO_ORDER;
	case LogicalOperatorType::LOGICAL_DISTINCT:
	case LogicalOperatorType::LOGICAL_EXCEPT:
	case LogicalOperatorType::LOGICAL_INTERSECT:
	case LogicalOperatorType::LOGICAL_DELIM_JOIN:
	case LogicalOperatorType::LOGICAL_DEPENDENT_JOIN:
	case LogicalOperatorType::LOGICAL_ASOF_JOIN:
		return OrderPreservationType::NO_ORDER;
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
		return GoesThroughLeftSide(op) ? First(children) : OrderPreservationType::NO_ORDER;
	case LogicalOperatorType::LOGICAL_UNION:
		if (!op.Cast<LogicalSetOperation>().setop_all) {
			return OrderPreservationType::NO_ORDER;
		}
		return keeps_branches ? FixedByUnion(children) : First(children);
	case LogicalOperatorType::LOGICAL_WINDOW:
		return FixedByWindow(op, children);
	case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
		return children[1];
	case LogicalOperatorType::LOGICAL_CTE_REF: {
		auto shared = fixed_of_shared.find(op.Cast<LogicalCTERef>().cte_index.index);
		return shared == fixed_of_shared.end() ? OrderPreservationType::INSERTION_ORDER : shared->second;
	}
	case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN:
	case LogicalOperatorType::LOGICAL_RECURSIVE_CTE:
		return OrderPreservationType::INSERTION_ORDER;
	case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR: {
		auto function = dynamic_cast<LogicalTableFunction *>(&op);
		if (function && function->definition.semantics != TableSemantics::ROW) {
			return OrderPreservationType::NO_ORDER;
		}
		return children.empty() ? FixedByScan(op, children) : First(children);
	}
	case LogicalOperatorType::LOGICAL_GET:
		return FixedByScan(op, children);
	default:
		return First(children);
	}
}

//! Whether the rows below `op` show the order they come in. A sort shows that of ties only.
bool OrderNeeds::IsShown(const LogicalOperator &op, bool shown) const {
	if (HandsOnRows(op)) {
		return shown;
	}
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_LIMIT:
		return preserve_insertion_order;
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
		return preserve_insertion_order && AggregatesSeeOrder(op);
	default:
		return false;
	}
}

bool OrderNeeds::FitsInOneChunk(LogicalOperator &join) const {
	for (auto &side : join.children) {
		if (EstimatedRows(context, *side) > STANDARD_VECTOR_SIZE) {
			return false;
		}
	}
	return true;
}

void OrderNeeds::FindNeeds(LogicalOperator &op, OrderNeed seen, bool shown) {
	auto need = IsFixed(fixed[&op]) ? seen : OrderNeed::NONE;
	needs[&op] = need;
	if (op.type == LogicalOperatorType::LOGICAL_CTE_REF) {
		auto &of_shared = needs_of_shared[op.Cast<LogicalCTERef>().cte_index.index];
		of_shared = MaxValue(of_shared, need);
		return;
	}
	if (op.type == LogicalOperatorType::LOGICAL_MATERIALIZED_CTE) {
		FindNeeds(*op.children[1], need, shown);
		FindNeeds(*op.children[0], needs_of_shared[op.Cast<LogicalCTE>().table_index.index], false);
		return;
	}
	auto of_child = NeedOfChild(op, need);
	if (shown && MixesRows(op) && FitsInOneChunk(op)) {
		joins_of_one_chunk.insert(&op);
		of_child = OrderNeed::STREAM;
	}
	for (auto &child : op.children) {
		FindNeeds(*child, of_child, IsShown(op, shown));
	}
}

OrderNeed OrderNeeds::NeedOfChild(LogicalOperator &op, OrderNeed need) const {
	if (HandsOnRows(op)) {
		return need;
	}
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_EXCEPT:
	case LogicalOperatorType::LOGICAL_INTERSECT:
	case LogicalOperatorType::LOGICAL_DELIM_JOIN:
	case LogicalOperatorType::LOGICAL_ASOF_JOIN:
		return OrderNeed::NONE;
	case LogicalOperatorType::LOGICAL_LIMIT:
	case LogicalOperatorType::LOGICAL_ORDER_BY:
	case LogicalOperatorType::LOGICAL_TOP_N:
		return OrderNeed::ROWS;
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
		return AggregatesSeeOrder(op) ? OrderNeed::STREAM : OrderNeed::NONE;
	case LogicalOperatorType::LOGICAL_DISTINCT:
		return op.Cast<LogicalDistinct>().distinct_type == DistinctType::DISTINCT_ON ? OrderNeed::STREAM
		                                                                             : OrderNeed::NONE;
	case LogicalOperatorType::LOGICAL_WINDOW:
		return NeedOfWindows(op, need);
	case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR: {
		if (LooksAtRowsAlone(op)) {
			return need;
		}
		auto function = dynamic_cast<LogicalTableFunction *>(&op);
		return function && function->definition.semantics == TableSemantics::ROW ? need : OrderNeed::STREAM;
	}
	default:
		return OrderNeed::STREAM;
	}
}

} // namespace merganser
