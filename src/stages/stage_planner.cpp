#include "stages/stage_planner.hpp"

#include "stages/logical_exchange.hpp"
#include "stages/sliced_files.hpp"
#include "stages/two_phase_aggregate.hpp"

#include "duckdb/common/type_visitor.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/logical_plan_sql_exporter.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

//! Bytes a value of this type takes on its way, about.
idx_t Width(const LogicalType &type) {
	auto physical = type.InternalType();
	return TypeIsConstantSize(physical) ? GetTypeIdSize(physical) : 24;
}

bool CanHash(const LogicalType &type) {
	return !TypeVisitor::Contains(type, [](const LogicalType &inner) {
		return inner.id() == LogicalTypeId::VARIANT || inner.id() == LogicalTypeId::GEOMETRY ||
		       inner.id() == LogicalTypeId::LAMBDA;
	});
}

bool CanHash(const vector<unique_ptr<Expression>> &keys) {
	for (auto &key : keys) {
		if (!CanHash(key->GetReturnType()) || key->IsVolatile()) {
			return false;
		}
	}
	return !keys.empty();
}

vector<unique_ptr<Expression>> Copies(const vector<unique_ptr<Expression>> &expressions) {
	vector<unique_ptr<Expression>> result;
	for (auto &expression : expressions) {
		result.push_back(expression->Copy());
	}
	return result;
}

//! The columns the expressions are, or none where one of them computes something.
vector<ColumnBinding> PlainColumns(const vector<unique_ptr<Expression>> &expressions) {
	vector<ColumnBinding> result;
	for (auto &expression : expressions) {
		if (expression->GetExpressionClass() != ExpressionClass::BOUND_COLUMN_REF) {
			return {};
		}
		result.push_back(expression->Cast<BoundColumnRefExpression>().Binding());
	}
	return result;
}

vector<unique_ptr<Expression>> AllColumns(LogicalOperator &op) {
	op.ResolveOperatorTypes();
	vector<unique_ptr<Expression>> result;
	auto bindings = op.GetColumnBindings();
	for (idx_t i = 0; i < bindings.size(); i++) {
		result.push_back(make_uniq<BoundColumnRefExpression>(op.types[i], bindings[i]));
	}
	return result;
}

bool Contains(const vector<ColumnBinding> &bindings, const ColumnBinding &binding) {
	return std::find(bindings.begin(), bindings.end(), binding) != bindings.end();
}

//! Rows stay where they are; the keys are still there only if their columns are.
Partitioning KeepAvailable(Partitioning delivered, LogicalOperator &op) {
	if (delivered.distribution != Distribution::HASHED) {
		return delivered;
	}
	auto bindings = op.GetColumnBindings();
	for (auto &key : delivered.keys) {
		if (!Contains(bindings, key)) {
			return {Distribution::SPLIT, {}};
		}
	}
	return delivered;
}

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
		if (left.GetReturnType() == right.GetReturnType() && CanHash(left.GetReturnType()) && !left.IsVolatile() &&
		    !right.IsVolatile()) {
			result.left.push_back(left.Copy());
			result.right.push_back(right.Copy());
		}
	}
	return result;
}

//! Volatile, yet the same in every task: each row is computed once, in one of them.
bool MayRunInTask(const string &function) {
	static const unordered_set<string> names {"random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "error"};
	return names.count(function) > 0;
}

//! Constant within a query because the session says so, other than by settings, which tasks have too.
bool AsksTheSession(const string &function) {
	static const unordered_set<string> names {"now",
	                                          "today",
	                                          "get_current_timestamp",
	                                          "get_current_time",
	                                          "current_date",
	                                          "current_localtime",
	                                          "current_localtimestamp",
	                                          "transaction_timestamp",
	                                          "txid_current",
	                                          "age",
	                                          "current_schema",
	                                          "current_schemas",
	                                          "current_database",
	                                          "current_setting",
	                                          "getvariable",
	                                          "in_search_path"};
	return names.count(function) > 0;
}

bool IsBoundToSession(const BoundScalarFunction &function) {
	auto name = function.GetName().GetIdentifierName();
	switch (function.GetStability()) {
	case FunctionStability::CONSISTENT:
		return false;
	case FunctionStability::CONSISTENT_WITHIN_QUERY:
		return AsksTheSession(name);
	default:
		return !MayRunInTask(name);
	}
}

//! A function whose value depends on the session or changes it must not run elsewhere.
string FindBoundToSession(LogicalOperator &op) {
	string found;
	LogicalOperatorVisitor::EnumerateExpressions(op, [&](unique_ptr<Expression> *expression) {
		ExpressionIterator::VisitExpressionMutable<BoundFunctionExpression>(
		    *expression, [&](BoundFunctionExpression &function, unique_ptr<Expression> &) {
			    if (IsBoundToSession(function.Function())) {
				    found = function.Function().GetName().GetIdentifierName();
			    }
		    });
	});
	for (auto &child : op.children) {
		if (found.empty()) {
			found = FindBoundToSession(*child);
		}
	}
	return found;
}

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

StagePlanner::StagePlanner(ClientContext &context, Binder &binder)
    : context(context), binder(binder), tasks(Settings::Tasks(context)),
      broadcast_bytes(Settings::BroadcastMaxBytes(context)), distribute_bytes(Settings::DistributeMinBytes(context)) {
}

idx_t StagePlanner::Bytes(LogicalOperator &op) {
	op.ResolveOperatorTypes();
	idx_t width = 0;
	for (auto &type : op.types) {
		width += Width(type);
	}
	auto rows = op.has_estimated_cardinality ? op.estimated_cardinality : op.EstimateCardinality(context);
	return rows > NumericLimits<idx_t>::Maximum() / MaxValue<idx_t>(width, 1) ? NumericLimits<idx_t>::Maximum()
	                                                                          : rows * width;
}

unique_ptr<QueryStages> StagePlanner::Plan(unique_ptr<LogicalOperator> plan, string &reason) {
	result = make_uniq<QueryStages>();
	auto function = FindBoundToSession(*plan);
	if (!function.empty()) {
		reason = "the function " + function + " belongs to the session";
		return nullptr;
	}
	plan->ResolveOperatorTypes();
	root = plan;
	auto delivered = Cut(plan);
	if (delivered.IsOneTask() && result->stages.empty()) {
		reason =
		    pending_reasons.empty() ? "no input can be divided among tasks" : StringUtil::Join(pending_reasons, "; ");
		return nullptr;
	}
	if (input_bytes < distribute_bytes) {
		reason =
		    StringUtil::Format("the input, about %llu bytes, is smaller than merganser_distribute_min_bytes = %llu",
			                   input_bytes, distribute_bytes);
		return nullptr;
	}
	AddStage(std::move(plan), delivered, {}, 1, "returns the rows of the query");
	return std::move(result);
}

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

Partitioning StagePlanner::Cut(Slot &op) {
	switch (op->type) {
	case LogicalOperatorType::LOGICAL_GET:
		return CutScan(op);
	case LogicalOperatorType::LOGICAL_PROJECTION:
		return CutProjection(op);
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_UNNEST:
		return CutUnary(op);
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
		return CutAggregate(op);
	case LogicalOperatorType::LOGICAL_DISTINCT:
		return CutDistinct(op);
	case LogicalOperatorType::LOGICAL_WINDOW:
		return CutWindow(op);
	case LogicalOperatorType::LOGICAL_TOP_N:
		return CutTopN(op);
	case LogicalOperatorType::LOGICAL_LIMIT:
		return CutLimit(op);
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
	case LogicalOperatorType::LOGICAL_ASOF_JOIN:
		return CutJoin(op);
	case LogicalOperatorType::LOGICAL_UNION:
		return CutUnion(op);
	case LogicalOperatorType::LOGICAL_EXCEPT:
	case LogicalOperatorType::LOGICAL_INTERSECT:
		return CutSetOperation(op);
	case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
		return CutSharedQuery(op);
	case LogicalOperatorType::LOGICAL_CTE_REF:
		return CutSharedReference(op);
	case LogicalOperatorType::LOGICAL_ORDER_BY:
		return OneTask(op, "ORDER BY sorts all rows in one task");
	case LogicalOperatorType::LOGICAL_DUMMY_SCAN:
	case LogicalOperatorType::LOGICAL_EXPRESSION_GET:
	case LogicalOperatorType::LOGICAL_EMPTY_RESULT:
	case LogicalOperatorType::LOGICAL_CHUNK_GET:
	case LogicalOperatorType::LOGICAL_DELIM_GET:
		return {};
	case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN:
	case LogicalOperatorType::LOGICAL_RECURSIVE_CTE:
		KeepWhole(op);
		pending_reasons.push_back(op->GetName() + " needs all its rows in their order, in one task");
		return {};
	default:
		return OneTask(op, op->GetName() + " runs in one task");
	}
}

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
		width += Width(get.GetColumnType(column));
	}
	input_bytes += scan->Rows() * width;
	scan->name = SlicedFiles::Relation(get);
	sliced.emplace(op.get(), std::move(*scan));
	SlicedFiles::ReadSlice(get);
	return {Distribution::SPLIT, {}};
}

Partitioning StagePlanner::CutUnary(Slot &op) {
	auto delivered = Cut(op->children[0]);
	return KeepAvailable(std::move(delivered), *op);
}

Partitioning StagePlanner::CutProjection(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.distribution != Distribution::HASHED) {
		return delivered;
	}
	auto outputs = op->GetColumnBindings();
	vector<ColumnBinding> keys;
	for (auto &key : delivered.keys) {
		for (idx_t i = 0; i < op->expressions.size(); i++) {
			auto &expression = *op->expressions[i];
			if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF &&
			    expression.Cast<BoundColumnRefExpression>().Binding() == key) {
				keys.push_back(outputs[i]);
				break;
			}
		}
	}
	if (keys.size() != delivered.keys.size()) {
		return {Distribution::SPLIT, {}};
	}
	return {Distribution::HASHED, std::move(keys)};
}

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
	auto groups = PlainColumns(aggregate.groups);
	if (!groups.empty() && delivered.KeepsTogether(groups)) {
		Partitioning kept {Distribution::HASHED, {}};
		for (auto &key : delivered.keys) {
			auto place = std::find(groups.begin(), groups.end(), key) - groups.begin();
			kept.keys.push_back(outputs[NumericCast<idx_t>(place)]);
		}
		return kept;
	}
	auto can_hash = CanHash(aggregate.groups);
	auto &child = *op->children[0];
	auto reduces = aggregate.groups.empty() || !op->has_estimated_cardinality || !child.has_estimated_cardinality ||
	               op->estimated_cardinality < child.estimated_cardinality / 2;
	if (TwoPhaseAggregate::IsPossible(aggregate) && (reduces || !can_hash)) {
		auto combine = TwoPhaseAggregate::Split(context, binder, *root, op);
		auto &lower = combine.get().children[0];
		auto keys = Copies(combine.get().Cast<LogicalAggregate>().groups);
		Partitioning below {Distribution::SPLIT, {}};
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
	Hash(op->children[0], delivered, Copies(aggregate.groups), "rows by their groups");
	outputs.resize(aggregate.groups.size());
	return {Distribution::HASHED, std::move(outputs)};
}

Partitioning StagePlanner::CutDistinct(Slot &op) {
	auto delivered = Cut(op->children[0]);
	auto &targets = op->Cast<LogicalDistinct>().distinct_targets;
	auto columns = PlainColumns(targets);
	if (delivered.IsOneTask() || (!columns.empty() && delivered.KeepsTogether(columns))) {
		return delivered;
	}
	if (!CanHash(targets)) {
		Gather(op->children[0], delivered, "DISTINCT needs all rows in one task");
		return {};
	}
	auto hashed = Hash(op->children[0], delivered, Copies(targets), "rows by what DISTINCT compares");
	return KeepAvailable(std::move(hashed), *op);
}

Partitioning StagePlanner::CutWindow(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	vector<unique_ptr<Expression>> common;
	auto first = true;
	for (auto &expression : op->expressions) {
		if (expression->GetExpressionClass() != ExpressionClass::BOUND_WINDOW) {
			common.clear();
			break;
		}
		auto &partitions = expression->Cast<BoundWindowExpression>().Partitions();
		if (first) {
			common = Copies(partitions);
			first = false;
			continue;
		}
		vector<unique_ptr<Expression>> kept;
		for (auto &key : common) {
			for (auto &partition : partitions) {
				if (key->Equals(*partition)) {
					kept.push_back(std::move(key));
					break;
				}
			}
		}
		common = std::move(kept);
	}
	auto columns = PlainColumns(common);
	if (!columns.empty() && delivered.KeepsTogether(columns)) {
		return delivered;
	}
	if (!CanHash(common)) {
		Gather(op->children[0], delivered, "a window without a common PARTITION BY needs all rows in one task");
		return {};
	}
	return Hash(op->children[0], delivered, std::move(common), "rows by PARTITION BY of the windows");
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
	auto local = make_uniq<LogicalTopN>(std::move(orders), top.limit + top.offset, 0);
	local->children.push_back(std::move(op->children[0]));
	op->children[0] = std::move(local);
	Gather(op->children[0], delivered, "the first rows of each task, for the first of all");
	return {};
}

Partitioning StagePlanner::CutLimit(Slot &op) {
	auto delivered = Cut(op->children[0]);
	if (delivered.IsOneTask()) {
		return delivered;
	}
	auto &limit = op->Cast<LogicalLimit>();
	auto offset_is_known =
	    limit.offset_val.Type() == LimitNodeType::UNSET || limit.offset_val.Type() == LimitNodeType::CONSTANT_VALUE;
	if (limit.limit_val.Type() == LimitNodeType::CONSTANT_VALUE && offset_is_known) {
		auto offset = limit.offset_val.Type() == LimitNodeType::UNSET ? 0 : limit.offset_val.GetConstantValue();
		auto rows = limit.limit_val.GetConstantValue() + offset;
		auto local =
		    make_uniq<LogicalLimit>(BoundLimitNode::ConstantValue(NumericCast<int64_t>(rows)), BoundLimitNode());
		local->children.push_back(std::move(op->children[0]));
		op->children[0] = std::move(local);
	}
	Gather(op->children[0], delivered, "LIMIT counts all rows in one task");
	return {};
}

Partitioning StagePlanner::CutJoin(Slot &op) {
	if (!IsSelfContained(*op->children[0]) || !IsSelfContained(*op->children[1])) {
		return OneTask(op, "a join inside a correlated subquery runs in one task");
	}
	auto left = Cut(op->children[0]);
	auto right = Cut(op->children[1]);
	if (left.IsOneTask() && right.IsOneTask()) {
		return {};
	}
	auto kind = KindOf(*op);
	auto keys = EqualKeys(*op);
	auto asof = op->type == LogicalOperatorType::LOGICAL_ASOF_JOIN;
	auto right_fits = EveryRowMayGoToAllTasks(kind, true) && !left.IsOneTask();
	auto left_fits = EveryRowMayGoToAllTasks(kind, false) && !right.IsOneTask() && !asof;
	auto left_bytes = Bytes(*op->children[0]);
	auto right_bytes = Bytes(*op->children[1]);
	auto can_hash = CanHash(keys.left);
	auto small = [&](idx_t bytes) {
		return broadcast_bytes > 0 && bytes <= broadcast_bytes;
	};
	if (right_fits && (small(right_bytes) || !can_hash) && (right_bytes <= left_bytes || !left_fits)) {
		Exchange(op->children[1], right, {}, ReadMode::ALL,
		         StringUtil::Format("right side of the join to all tasks, about %llu bytes", right_bytes));
		return KeepAvailable(std::move(left), *op);
	}
	if (left_fits && (small(left_bytes) || !can_hash)) {
		Exchange(op->children[0], left, {}, ReadMode::ALL,
		         StringUtil::Format("left side of the join to all tasks, about %llu bytes", left_bytes));
		return KeepAvailable(std::move(right), *op);
	}
	if (!can_hash) {
		Gather(op->children[0], left, "this kind of join without an equality needs all rows in one task");
		Gather(op->children[1], right, "this kind of join without an equality needs all rows in one task");
		return {};
	}
	auto left_columns = PlainColumns(keys.left);
	auto right_columns = PlainColumns(keys.right);
	auto left_lies_right = left.distribution == Distribution::HASHED && left.keys == left_columns;
	auto right_lies_right = right.distribution == Distribution::HASHED && right.keys == right_columns;
	if (!left_lies_right) {
		Hash(op->children[0], left, std::move(keys.left), "left side of the join by its keys");
	}
	if (!right_lies_right) {
		Hash(op->children[1], right, std::move(keys.right), "right side of the join by its keys");
	}
	auto left_survives = kind != JoinType::RIGHT && kind != JoinType::OUTER && !left_columns.empty();
	auto right_survives = kind == JoinType::RIGHT && !right_columns.empty();
	if (!left_survives && !right_survives) {
		return {Distribution::SPLIT, {}};
	}
	return KeepAvailable({Distribution::HASHED, left_survives ? left_columns : right_columns}, *op);
}

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
		can_hash = can_hash && CanHash(AllColumns(*child));
	}
	if (!several) {
		return {};
	}
	for (idx_t i = 0; i < op->children.size(); i++) {
		if (can_hash) {
			Hash(op->children[i], delivered[i], AllColumns(*op->children[i]), "rows by all their columns");
		} else {
			Gather(op->children[i], delivered[i], "a set operation on columns without a hash");
		}
	}
	if (!can_hash) {
		return {};
	}
	return {Distribution::HASHED, op->GetColumnBindings()};
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
	StageInput input;
	input.stage = entry->second.stage;
	input.mode = ReadMode::PARTITION;
	auto exchange =
	    make_uniq<LogicalExchange>(input, op->GetColumnBindings(), reference.chunk_types, entry->second.sql_types);
	if (op->has_estimated_cardinality) {
		exchange->SetEstimatedCardinality(op->estimated_cardinality);
	}
	op = std::move(exchange);
	op->ResolveOperatorTypes();
	return {Distribution::SPLIT, {}};
}

Partitioning StagePlanner::OneTask(Slot &op, const string &reason) {
	for (auto &child : op->children) {
		if (IsSelfContained(*child)) {
			auto delivered = Cut(child);
			Gather(child, delivered, reason);
		} else {
			OneTask(child, reason);
		}
	}
	if (std::find(pending_reasons.begin(), pending_reasons.end(), reason) == pending_reasons.end()) {
		pending_reasons.push_back(reason);
	}
	return {};
}

void StagePlanner::KeepWhole(Slot &op) {
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

void StagePlanner::Gather(Slot &op, const Partitioning &delivered, const string &reason) {
	if (!delivered.IsOneTask()) {
		Exchange(op, delivered, {}, ReadMode::ALL, reason);
	}
}

Partitioning StagePlanner::Hash(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys,
                                const string &reason) {
	auto columns = PlainColumns(keys);
	Exchange(op, delivered, std::move(keys), ReadMode::PARTITION, reason);
	if (columns.empty()) {
		return {Distribution::SPLIT, {}};
	}
	return {Distribution::HASHED, std::move(columns)};
}

void StagePlanner::Exchange(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys, ReadMode mode,
                            const string &reason) {
	auto exchange = dynamic_cast<LogicalExchange *>(op.get());
	if (exchange && mode == ReadMode::ALL) {
		exchange->input.mode = mode;
		return;
	}
	op->ResolveOperatorTypes();
	auto bindings = op->GetColumnBindings();
	auto types = op->types;
	auto rows = op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	auto &stage = AddStage(std::move(op), delivered, std::move(keys), mode == ReadMode::ALL ? 1 : tasks, reason);
	StageInput input;
	input.stage = stage.number;
	input.mode = mode;
	op = make_uniq<LogicalExchange>(std::move(input), std::move(bindings), std::move(types), stage.sql_types);
	op->SetEstimatedCardinality(rows);
	op->ResolveOperatorTypes();
}

Stage &StagePlanner::AddStage(Slot op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys,
                              idx_t partitions, const string &reason) {
	auto stage = make_uniq<Stage>();
	op->ResolveOperatorTypes();
	stage->columns = op->types.size();
	if (stage->columns == 0) {
		throw NotImplementedException("%s delivers no columns", op->GetName());
	}
	stage->types = op->types;
	stage->keys = keys.size();
	stage->tasks = delivered.IsOneTask() ? 1 : tasks;
	stage->partitions = partitions;
	stage->estimated_rows =
	    op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	stage->reasons = std::move(pending_reasons);
	pending_reasons.clear();
	stage->reasons.push_back(reason);
	if (!keys.empty()) {
		auto columns = AllColumns(*op);
		for (auto &key : keys) {
			columns.push_back(std::move(key));
		}
		auto projection = make_uniq<LogicalProjection>(binder.GenerateTableIndex(), std::move(columns));
		projection->children.push_back(std::move(op));
		op = std::move(projection);
	}
	stage->plan = std::move(op);
	stage->number = result->stages.size() + 1;
	CollectInputs(*stage->plan, *stage);
	ExportStage(context, *stage);
	result->stages.push_back(std::move(stage));
	return *result->stages.back();
}

void StagePlanner::CollectInputs(LogicalOperator &op, Stage &stage) {
	auto exchange = dynamic_cast<LogicalExchange *>(&op);
	if (exchange) {
		auto name = exchange->input.Name();
		auto same = [&](const StageInput &input) {
			return input.Name() == name;
		};
		if (std::none_of(stage.inputs.begin(), stage.inputs.end(), same)) {
			stage.inputs.push_back(exchange->input);
		}
	}
	auto scan = sliced.find(&op);
	if (scan != sliced.end()) {
		stage.scans.push_back(std::move(scan->second));
		sliced.erase(scan);
	}
	for (auto &child : op.children) {
		CollectInputs(*child, stage);
	}
}

void StagePlanner::ExportStage(ClientContext &context, Stage &stage) {
	stage.plan->ResolveOperatorTypes();
	LogicalPlanSQLExportOptions options;
	vector<Identifier> names;
	for (idx_t i = 0; i < stage.plan->types.size(); i++) {
		names.emplace_back("c" + to_string(i));
	}
	options.output_names = std::move(names);
	auto exported = LogicalPlanSQLExporter::Export(context, *stage.plan, options);
	if (exported.HasError()) {
		vector<string> messages;
		for (auto &issue : exported.GetIssues()) {
			messages.push_back(issue.message);
		}
		throw NotImplementedException("DuckDB cannot write this piece of plan as SQL: %s",
		                              StringUtil::Join(messages, "; "));
	}
	auto &relation = exported.GetValue();
	stage.sql_types.clear();
	for (idx_t i = 0; i < stage.columns; i++) {
		stage.sql_types.push_back(relation.fields[i].type);
	}
	stage.query = std::move(relation.query);
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
