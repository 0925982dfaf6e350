#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/plan_columns.hpp"
#include "stages/plan_copy.hpp"
#include "stages/range_partition.hpp"
#include "stages/sliced_tables.hpp"

#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

//! Bounds of ranges are compared with every row.
const idx_t MOST_RANGES = 64;

bool HasSortKeys(const vector<BoundOrderByNode> &orders) {
	for (auto &order : orders) {
		if (!PlanColumns::CanHash(order.expression->GetReturnType()) || order.expression->IsVolatile()) {
			return false;
		}
	}
	return true;
}

RowOrder OrderOf(LogicalOrder &order) {
	auto bindings = order.GetColumnBindings();
	vector<OrderItem> items;
	for (auto &node : order.orders) {
		auto column = node.expression->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF
		                  ? std::find(bindings.begin(), bindings.end(),
		                              node.expression->Cast<BoundColumnRefExpression>().Binding())
		                  : bindings.end();
		if (column == bindings.end()) {
			break;
		}
		items.push_back({NumericCast<idx_t>(column - bindings.begin()), node.type, node.null_order});
	}
	return RowOrder::Sorted(OrderingList(std::move(items)), RowOrder::Scope::ALL_ROWS);
}

//! How many of the first rows of each task may be among those after the offset; nothing where they cannot be counted.
optional_idx RowsOfEachTask(idx_t limit, idx_t offset) {
	auto most = NumericCast<idx_t>(NumericLimits<int64_t>::Maximum());
	return limit > most || offset > most - limit ? optional_idx() : optional_idx(limit + offset);
}

} // namespace

Partitioning StagePlanner::CutOrder(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto &order = op->Cast<LogicalOrder>();
	auto bytes = Bytes(*op->children[0]);
	auto small = broadcast_bytes > 0 && bytes <= broadcast_bytes;
	if (small || tasks == 1 || !HasSortKeys(order.orders)) {
		Gather(op->children[0], delivered, StringUtil::Format("ORDER BY sorts about %llu bytes in one task", bytes));
		return {};
	}
	needs->Set(*op->children[0], OrderNeed::NONE);
	Exchange(op->children[0], delivered, {}, ReadMode::PARTITION, "rows to sort, kept while their order is sampled");
	DivideIntoRanges(op->children[0], order.orders);
	return {Distribution::SPLIT, {}, OrderOf(order)};
}

void StagePlanner::DivideIntoRanges(Slot &op, const vector<BoundOrderByNode> &orders) {
	auto &rows = op->Cast<LogicalExchange>();
	auto bindings = rows.GetColumnBindings();
	auto types = rows.types;
	auto count = rows.estimated_cardinality;
	Slot sample = make_uniq<LogicalSortKeySample>(binder.GenerateTableIndex(), orders);
	sample->children.push_back(rows.ReadAs(bindings));
	sample->SetEstimatedCardinality(MinValue<idx_t>(count, tasks));
	sample->ResolveOperatorTypes();
	Exchange(sample, {Distribution::SPLIT, {}}, {}, ReadMode::ALL, "a sample of the sort keys");

	auto numbered =
	    make_uniq<LogicalRangeNumber>(binder.GenerateTableIndex(), orders, MinValue<idx_t>(tasks, MOST_RANGES));
	vector<unique_ptr<Expression>> number;
	number.push_back(make_uniq<BoundColumnRefExpression>(LogicalType::BIGINT, numbered->Number()));
	numbered->children.push_back(std::move(sample));
	numbered->children.push_back(std::move(op));
	numbered->SetEstimatedCardinality(count);
	numbered->ResolveOperatorTypes();
	auto &stage = AddStage(std::move(numbered), {Distribution::SPLIT, {}}, std::move(number), tasks,
	                       "rows by ranges of the sort key");
	stage.partition_number = stage.keys[0];
	stage.keys.clear();
	StageInput input;
	input.stage = stage.number;
	input.mode = ReadMode::PARTITION;
	auto sql_types = stage.sql_types;
	sql_types.pop_back();
	op = make_uniq<LogicalExchange>(input, std::move(bindings), std::move(types), std::move(sql_types));
	op->SetEstimatedCardinality(count);
	op->ResolveOperatorTypes();
}

Partitioning StagePlanner::CutTopN(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto &top = op->Cast<LogicalTopN>();
	vector<BoundOrderByNode> orders;
	for (auto &order : top.orders) {
		orders.push_back(order.Copy());
	}
	// DuckDB may have left out row groups for the offset; a stage reads them.
	auto offset = top.unpruned_offset.IsValid() ? top.unpruned_offset.GetIndex() : top.offset;
	auto rows = RowsOfEachTask(top.limit, offset);
	if (rows.IsValid()) {
		auto local = make_uniq<LogicalTopN>(std::move(orders), rows.GetIndex(), 0);
		local->children.push_back(std::move(op->children[0]));
		op->children[0] = std::move(local);
	}
	Gather(op->children[0], delivered, "the first rows of each task, for the first of all");
	return {};
}

//! Whether the rows of `op` are those of one scan of the session, row by row and in their order.
static bool StreamsFromTheSession(ClientContext &context, const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_PROJECTION || op.type == LogicalOperatorType::LOGICAL_FILTER) {
		return StreamsFromTheSession(context, *op.children[0]);
	}
	auto session_rows = dynamic_cast<const LogicalSessionRows *>(&op);
	return session_rows && session_rows->Original().type == LogicalOperatorType::LOGICAL_GET &&
	       !SlicedTables::TrySlice(context, session_rows->Original().Cast<LogicalGet>());
}

//! The rows a LIMIT needs, those it skips among them; nothing where that is not known.
static optional_idx NeededRows(const LogicalLimit &limit) {
	auto offset_is_known =
	    limit.offset_val.Type() == LimitNodeType::UNSET || limit.offset_val.Type() == LimitNodeType::CONSTANT_VALUE;
	if (limit.limit_val.Type() != LimitNodeType::CONSTANT_VALUE || !offset_is_known) {
		return optional_idx();
	}
	auto offset = limit.offset_val.Type() == LimitNodeType::UNSET ? 0 : limit.offset_val.GetConstantValue();
	// DuckDB may have left out row groups for the offset; a stage reads them.
	offset = limit.unpruned_offset.IsValid() ? limit.unpruned_offset.GetIndex() : offset;
	return RowsOfEachTask(limit.limit_val.GetConstantValue(), offset);
}

static void KeepFirst(unique_ptr<LogicalOperator> &op, idx_t rows) {
	auto count = op->has_estimated_cardinality ? MinValue(op->estimated_cardinality, rows) : rows;
	auto first = make_uniq<LogicalLimit>(BoundLimitNode::ConstantValue(NumericCast<int64_t>(rows)), BoundLimitNode());
	first->children.push_back(std::move(op));
	first->SetEstimatedCardinality(count);
	op = std::move(first);
}

Partitioning StagePlanner::CutLimit(Slot &op) {
	auto rows = NeededRows(op->Cast<LogicalLimit>());
	if (rows.IsValid() && StreamsFromTheSession(context, *op->children[0])) {
		KeepFirst(op->children[0], rows.GetIndex());
		Send(op->children[0], ReadMode::ALL);
		pending_reasons.push_back("the session makes the rows LIMIT needs, and no others");
		return {};
	}
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	if (rows.IsValid()) {
		auto need = needs->Of(*op->children[0]);
		KeepFirst(op->children[0], rows.GetIndex());
		needs->Set(*op->children[0], need);
	}
	Gather(op->children[0], delivered, "LIMIT counts all rows in one task");
	return {};
}

} // namespace merganser
