#include "stages/stage_planner.hpp"

#include "grouping/logical_table_function.hpp"
#include "late_materialization/join_back_guard.hpp"
#include "late_materialization/key_check.hpp"
#include "stages/built_in_names.hpp"
#include "stages/constant_arguments.hpp"
#include "stages/key_ranges.hpp"
#include "stages/logical_exchange.hpp"
#include "stages/plan_copy.hpp"
#include "stages/plan_columns.hpp"
#include "stages/session_functions.hpp"
#include "stages/stage_repeatability.hpp"

#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/logical_plan_sql_exporter.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

StagePlanner::StagePlanner(ClientContext &context, Binder &binder)
    : context(context), binder(binder), tasks(Settings::Tasks(context)),
      broadcast_bytes(Settings::BroadcastMaxBytes(context)), distribute_bytes(Settings::DistributeMinBytes(context)),
      send_bytes(Settings::SendMaxBytes(context)) {
}

StagePlanner::~StagePlanner() = default;

unique_ptr<QueryStages> StagePlanner::Plan(unique_ptr<LogicalOperator> plan, string &reason,
                                           const vector<idx_t> &partition_by) {
	result = make_uniq<QueryStages>();
	reason = SessionFunctions::WhyNot(context, *plan);
	if (!reason.empty()) {
		return nullptr;
	}
	ConstantArguments::Restore(context, *plan);
	plan->ResolveOperatorTypes();
	root = plan;
	needs = make_uniq<OrderNeeds>(context, *plan, partition_by.empty());
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
	delivered = BringTogether(plan, std::move(delivered), partition_by);
	AddStage(std::move(plan), delivered, {}, 1, "returns the rows of the query");
	StageRepeatability::Mark(context, *result);
	return std::move(result);
}

static void TakeOriginals(unique_ptr<LogicalOperator> &plan) {
	auto session_rows = dynamic_cast<LogicalSessionRows *>(plan.get());
	if (session_rows) {
		plan = session_rows->TakeOriginal();
		return;
	}
	for (auto &child : plan->children) {
		TakeOriginals(child);
	}
}

vector<unique_ptr<LogicalOperator>> StagePlanner::TakeSentPlans() {
	for (auto &plan : sent_plans) {
		TakeOriginals(plan);
	}
	return std::move(sent_plans);
}

idx_t StagePlanner::Bytes(LogicalOperator &op) {
	op.ResolveOperatorTypes();
	idx_t width = 0;
	for (auto &type : op.types) {
		width += PlanColumns::Width(type);
	}
	auto rows = op.has_estimated_cardinality ? op.estimated_cardinality : op.EstimateCardinality(context);
	return rows > NumericLimits<idx_t>::Maximum() / MaxValue<idx_t>(width, 1) ? NumericLimits<idx_t>::Maximum()
	                                                                          : rows * width;
}

Partitioning StagePlanner::Cut(Slot &op) {
	auto need = needs->Of(*op);
	auto required = needs->Required(*op);
	auto name = op->GetName();
	auto delivered = CutOperator(op);
	needs->Set(*op, need);
	if (delivered.IsOneTask()) {
		// DuckDB's own operator, over inputs that come in the order they must.
		delivered.order = required;
	}
	if (!delivered.order.Satisfies(required)) {
		throw NotImplementedException("the order of the rows of %s, which the query shows, would be lost", name);
	}
	return delivered;
}

Partitioning StagePlanner::CutOperator(Slot &op) {
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
		return CutOrder(op);
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
	case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR:
		return CutExtension(op);
	default:
		return OneTask(op, op->GetName() + " runs in one task");
	}
}

Partitioning StagePlanner::CutExtension(Slot &op) {
	if (dynamic_cast<LogicalSessionRows *>(op.get())) {
		return CutSessionRows(op);
	}
	if (dynamic_cast<LogicalTableFunction *>(op.get())) {
		return CutTableFunction(op);
	}
	if (dynamic_cast<LogicalNarrowRows *>(op.get())) {
		return CutNarrowRows(op);
	}
	if (dynamic_cast<LogicalJoinBackGuard *>(op.get())) {
		return CutJoinBack(op);
	}
	if (dynamic_cast<LogicalKeyCheck *>(op.get())) {
		return CutUnary(op);
	}
	return OneTask(op, op->GetName() + " runs in one task");
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

void StagePlanner::Gather(Slot &op, const Partitioning &delivered, const string &reason) {
	if (!delivered.IsOneTask()) {
		Exchange(op, delivered, {}, ReadMode::ALL, reason);
	}
}

Partitioning StagePlanner::Hash(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys,
                                const string &reason) {
	auto columns = PlanColumns::Plain(keys);
	Exchange(op, delivered, std::move(keys), ReadMode::PARTITION, reason);
	if (columns.empty()) {
		return {Distribution::SPLIT, {}};
	}
	return {Distribution::HASHED, std::move(columns)};
}

Partitioning StagePlanner::BringTogether(Slot &op, Partitioning delivered, const vector<idx_t> &columns) {
	op->ResolveOperatorTypes();
	auto all = PlanColumns::All(*op);
	vector<unique_ptr<Expression>> keys;
	for (auto column : columns) {
		keys.push_back(std::move(all[column]));
	}
	if (!PlanColumns::CanHash(keys) || KeepsTogether(*op, delivered, PlanColumns::Plain(keys))) {
		return delivered;
	}
	if (needs->Of(*op) != OrderNeed::NONE) {
		// Several threads of a task would write what they read in any order.
		needs->Set(*op, OrderNeed::STREAM);
	}
	return Hash(op, delivered, std::move(keys), "rows of a partition to the task that writes its files");
}

void StagePlanner::Exchange(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys, ReadMode mode,
                            const string &reason) {
	auto need = needs->Of(*op);
	auto exchange = dynamic_cast<LogicalExchange *>(op.get());
	if (exchange && mode == ReadMode::ALL) {
		exchange->input.mode = mode;
		exchange->input.ordered = need == OrderNeed::STREAM;
		return;
	}
	if (mode == ReadMode::PARTITION && keys.empty() && need != OrderNeed::NONE) {
		mode = ReadMode::CONSECUTIVE;
	}
	op->ResolveOperatorTypes();
	auto bindings = op->GetColumnBindings();
	auto types = op->types;
	auto rows = op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	auto &stage = AddStage(std::move(op), delivered, std::move(keys), mode == ReadMode::ALL ? 1 : tasks, reason);
	StageInput input;
	input.stage = stage.number;
	input.mode = mode;
	input.ordered = need == OrderNeed::STREAM;
	op = make_uniq<LogicalExchange>(input, std::move(bindings), std::move(types), stage.sql_types);
	op->SetEstimatedCardinality(rows);
	op->ResolveOperatorTypes();
}

StagePlanner::Slot StagePlanner::WithKeys(Slot op, vector<unique_ptr<Expression>> keys, vector<idx_t> &positions) {
	auto bindings = op->GetColumnBindings();
	auto columns = PlanColumns::All(*op);
	for (auto &key : keys) {
		auto plain = key->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF;
		auto found = plain
		                 ? std::find(bindings.begin(), bindings.end(), key->Cast<BoundColumnRefExpression>().Binding())
		                 : bindings.end();
		if (found != bindings.end()) {
			positions.push_back(NumericCast<idx_t>(found - bindings.begin()));
			continue;
		}
		positions.push_back(columns.size());
		columns.push_back(std::move(key));
	}
	if (columns.size() == bindings.size()) {
		return op;
	}
	auto projection = make_uniq<LogicalProjection>(binder.GenerateTableIndex(), std::move(columns));
	projection->children.push_back(std::move(op));
	return std::move(projection);
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
	stage->tasks = delivered.IsOneTask() ? 1 : tasks;
	stage->shares = delivered.shares > 0 ? delivered.shares : stage->tasks;
	stage->order = needs->Required(*op);
	stage->partitions = partitions;
	stage->estimated_rows =
	    op->has_estimated_cardinality ? op->estimated_cardinality : op->EstimateCardinality(context);
	stage->reasons = std::move(pending_reasons);
	pending_reasons.clear();
	stage->reasons.push_back(reason);
	op = WithKeys(std::move(op), std::move(keys), stage->keys);
	stage->plan = std::move(op);
	stage->number = result->stages.size() + 1;
	CollectInputs(*stage->plan, *stage);
	CheckPlacements(*stage);
	ExportStage(context, *stage);
	result->stages.push_back(std::move(stage));
	return *result->stages.back();
}

bool StagePlanner::KeepsTogether(LogicalOperator &op, const Partitioning &delivered,
                                 const vector<ColumnBinding> &columns) {
	if (!delivered.KeepsTogether(columns)) {
		return false;
	}
	RelyOnHash(op);
	return true;
}

void StagePlanner::RelyOnHash(LogicalOperator &op) {
	late_broadcasts.erase(&op);
	for (auto &child : op.children) {
		RelyOnHash(*child);
	}
}

//! A share that no task computes would be rows that are missing.
void StagePlanner::CheckPlacements(const Stage &stage) const {
	auto fit = true;
	for (auto &scan : stage.scans) {
		fit = fit && scan.placement.Fits(stage.tasks, stage.shares);
	}
	for (auto &input : stage.inputs) {
		fit = fit && (input.mode == ReadMode::ALL || input.placement.Fits(stage.tasks, stage.shares));
	}
	if (!fit) {
		throw NotImplementedException("the shares of the branches of UNION ALL do not fit their stage");
	}
}

void StagePlanner::CollectInputs(LogicalOperator &op, Stage &stage) {
	auto exchange = dynamic_cast<LogicalExchange *>(&op);
	if (exchange) {
		auto name = exchange->input.Name();
		auto same = [&](const StageInput &input) {
			return input.Name() == name;
		};
		auto known = std::find_if(stage.inputs.begin(), stage.inputs.end(), same);
		if (known == stage.inputs.end()) {
			stage.inputs.push_back(exchange->input);
		} else {
			known->ordered = known->ordered || exchange->input.ordered;
		}
	}
	auto scan = sliced.find(&op);
	if (scan != sliced.end()) {
		stage.scans.push_back(std::move(scan->second));
		sliced.erase(scan);
	}
	auto late = late_broadcasts.find(&op);
	if (late != late_broadcasts.end()) {
		late->second.reader = stage.number;
		result->stages[late->second.other - 1]->reasons.push_back(
		    StringUtil::Format("computed inside stage %llu where stage %llu turns out to have at most %llu bytes",
			                   stage.number, late->second.small, late->second.max_bytes));
		result->late_broadcasts.push_back(late->second);
		late_broadcasts.erase(late);
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
	BuiltInNames::Qualify(*stage.query);
}

} // namespace merganser
