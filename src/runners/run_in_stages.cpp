#include "runners/run_in_stages.hpp"

#include "decision_log.hpp"
#include "runners/exchange_folder.hpp"
#include "runners/process_bound.hpp"
#include "runners/session_settings.hpp"
#include "runners/stage_runner.hpp"
#include "runners/staged_copy.hpp"
#include "stages/offset_warning.hpp"
#include "stages/plan_copy.hpp"
#include "stages/session_functions.hpp"
#include "stages/stage_check.hpp"
#include "stages/stage_planner.hpp"
#include "stages/stages_pause.hpp"

#include "duckdb/main/client_context_state.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/main/prepared_statement_data.hpp"
#include "duckdb/optimizer/optimizer_extension.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"

#include <chrono>

namespace merganser {

namespace {

const char *const RULE_NAME = "stages";

//! A prepared statement with parameters is planned again when it runs: they are known then. Not one that changes a
//! database: DuckDB has already begun its transaction by what it prepared.
struct PreparedStatements : public ClientContextState {
	RebindQueryInfo OnRebindPreparedStatement(ClientContext &context, BindPreparedStatementCallbackInfo &info,
	                                          RebindQueryInfo current) override {
		auto &prepared = info.prepared_statement;
		auto wanted = !Settings::Runner(context).empty() && !prepared.value_map.empty() &&
		              prepared.properties.modified_databases.empty();
		return wanted ? RebindQueryInfo::ATTEMPT_TO_REBIND : current;
	}

	static void Watch(ClientContext &context) {
		context.registered_state->GetOrCreate<PreparedStatements>("merganser_prepared_statements");
	}
};

//! How many plans of a session are being optimised, one inside the other: json_serialize_plan optimises the one it is
//! given while its own statement is, and writes it.
struct Optimising : public ClientContextState {
	idx_t depth = 0;

	void QueryBegin(ClientContext &context) override {
		depth = 0;
	}
	//! Also where an error has left it before it came back.
	void TransactionBegin(MetaTransaction &transaction, ClientContext &context) override {
		depth = 0;
	}

	static Optimising &Get(ClientContext &context) {
		return *context.registered_state->GetOrCreate<Optimising>("merganser_optimising");
	}
};

//! The query whose rows a statement uses: the statement itself, or what INSERT, CREATE TABLE AS and EXPLAIN read; and a
//! COPY with its query.
unique_ptr<LogicalOperator> *FindQuery(unique_ptr<LogicalOperator> &plan) {
	switch (plan->type) {
	case LogicalOperatorType::LOGICAL_INSERT:
	case LogicalOperatorType::LOGICAL_CREATE_TABLE:
	case LogicalOperatorType::LOGICAL_EXPLAIN:
	case LogicalOperatorType::LOGICAL_EXECUTE:
		return plan->children.size() == 1 ? FindQuery(plan->children[0]) : nullptr;
	case LogicalOperatorType::LOGICAL_COPY_TO_FILE:
		return plan->children.size() == 1 && FindQuery(plan->children[0]) ? &plan : nullptr;
	case LogicalOperatorType::LOGICAL_PROJECTION:
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
	case LogicalOperatorType::LOGICAL_WINDOW:
	case LogicalOperatorType::LOGICAL_UNNEST:
	case LogicalOperatorType::LOGICAL_LIMIT:
	case LogicalOperatorType::LOGICAL_ORDER_BY:
	case LogicalOperatorType::LOGICAL_TOP_N:
	case LogicalOperatorType::LOGICAL_DISTINCT:
	case LogicalOperatorType::LOGICAL_SAMPLE:
	case LogicalOperatorType::LOGICAL_PIVOT:
	case LogicalOperatorType::LOGICAL_GET:
	case LogicalOperatorType::LOGICAL_DELIM_JOIN:
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
	case LogicalOperatorType::LOGICAL_POSITIONAL_JOIN:
	case LogicalOperatorType::LOGICAL_ASOF_JOIN:
	case LogicalOperatorType::LOGICAL_UNION:
	case LogicalOperatorType::LOGICAL_EXCEPT:
	case LogicalOperatorType::LOGICAL_INTERSECT:
	case LogicalOperatorType::LOGICAL_RECURSIVE_CTE:
	case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
		return &plan;
	default:
		return nullptr;
	}
}

bool ReadsOnly(LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_INSERT || op.type == LogicalOperatorType::LOGICAL_UPDATE ||
	    op.type == LogicalOperatorType::LOGICAL_DELETE || op.type == LogicalOperatorType::LOGICAL_MERGE_INTO) {
		return false;
	}
	for (auto &child : op.children) {
		if (!ReadsOnly(*child)) {
			return false;
		}
	}
	return true;
}

bool HasParameters(LogicalOperator &op) {
	auto found = false;
	LogicalOperatorVisitor::EnumerateExpressions(
	    op, [&](unique_ptr<Expression> *expression) { found = found || (*expression)->HasParameter(); });
	for (auto &child : op.children) {
		found = found || HasParameters(*child);
	}
	return found;
}

void BeginOptimising(OptimizerExtensionInput &input, unique_ptr<LogicalOperator> &plan) {
	Optimising::Get(input.context).depth++;
}

void Optimize(OptimizerExtensionInput &input, unique_ptr<LogicalOperator> &plan) {
	auto &optimising = Optimising::Get(input.context);
	auto is_inner = optimising.depth > 1;
	optimising.depth -= optimising.depth > 0 ? 1 : 0;
	SessionFunctions::NoticeSeed(input.context, *plan);
	auto runner = Settings::Runner(input.context);
	if (runner.empty() || is_inner || StagesPause::IsActive(input.context) ||
	    DecisionLog::Get(input.context).rules_off) {
		return;
	}
	PreparedStatements::Watch(input.context);
	auto query = FindQuery(plan);
	if (!query) {
		return;
	}
	auto start = std::chrono::steady_clock::now();
	RuleDecision decision;
	decision.rule = RULE_NAME;
	decision.applied = RunInStages::TryReplace(input.context, input.optimizer.binder, *query, decision.explanation);
	decision.reason = decision.applied ? "applied" : "kept_on_one_node";
	std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
	decision.microseconds = elapsed.count();
	if (decision.applied) {
		auto stages = RunInStages::StagesOf(**query).stages.size();
		auto more = decision.explanation.empty() ? "" : "; " + decision.explanation;
		decision.explanation = StringUtil::Format("runs in %llu stages%s", stages, more);
	}
	DecisionLog::Get(input.context).Record(std::move(decision));
}

//! DuckDB can run what cannot be cut, whatever went wrong; but a query that is interrupted ends, and so does one that
//! has no memory left to be planned.
string WhyNotCut(const std::exception &exception) {
	ErrorData error(exception);
	if (error.Type() == ExceptionType::INTERRUPT || error.Type() == ExceptionType::OUT_OF_MEMORY) {
		error.Throw();
	}
	return error.RawMessage();
}

struct CutQuery {
	unique_ptr<StagePlanner> planner;
	unique_ptr<QueryStages> stages;
};

//! Without stages, and with the reason, where the query cannot run in several tasks. It is as before, until the rows
//! that the session sends are taken out of it. `partition_by` as of StagePlanner.
CutQuery Cut(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &query, string &reason,
             const vector<idx_t> &partition_by = {}) {
	CutQuery result;
	if (!ReadsOnly(*query)) {
		reason = "a statement that changes rows runs in DuckDB alone";
		return result;
	}
	if (HasParameters(*query)) {
		reason = "parameters of a prepared statement are not known when it is planned";
		return result;
	}
	auto warns = OffsetWarning::IsDue(context, *query);
	result.planner = make_uniq<StagePlanner>(context, binder);
	result.stages = result.planner->Plan(PlanCopy::Of(context, query), reason, partition_by);
	if (result.stages) {
		StageCheck::Check(context, *result.stages);
		if (!Settings::RunsInThisProcess(context)) {
			ProcessBound::Check(context, *result.stages);
		}
		if (warns) {
			OffsetWarning::Give(context);
		}
	}
	return result;
}

void Replace(unique_ptr<LogicalOperator> &plan, unique_ptr<LogicalStagedQuery> replacement, idx_t rows) {
	replacement->SetEstimatedCardinality(rows);
	plan = std::move(replacement);
	plan->ResolveOperatorTypes();
}

//! `note` is for the last stage.
bool TryReplaceQuery(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &plan, const string &note,
                     string &reason) {
	plan->ResolveOperatorTypes();
	auto bindings = plan->GetColumnBindings();
	auto types = plan->types;
	auto rows = plan->has_estimated_cardinality ? plan->estimated_cardinality : plan->EstimateCardinality(context);
	auto cut = Cut(context, binder, plan, reason);
	if (!cut.stages) {
		return false;
	}
	if (!note.empty()) {
		cut.stages->stages.back()->reasons.push_back(note);
	}
	reason = note;
	Replace(plan,
	        make_uniq<LogicalStagedQuery>(std::move(cut.stages), std::move(bindings), std::move(types),
	                                      cut.planner->TakeSentPlans()),
	        rows);
	return true;
}

bool TryReplaceCopy(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &plan, string &reason) {
	auto &statement = plan->Cast<LogicalCopyToFile>();
	TaskCopy copy(context, statement);
	auto cut = Cut(context, binder, plan->children[0], reason, statement.partition_columns);
	if (!cut.stages) {
		return false;
	}
	copy.WriteRowsOf(*cut.stages);
	reason = "its tasks write the files";
	auto bindings = plan->GetColumnBindings();
	Replace(plan,
	        make_uniq<LogicalStagedCopy>(std::move(copy), std::move(cut.stages), std::move(bindings),
	                                     cut.planner->TakeSentPlans()),
	        1);
	return true;
}

bool TryReplaceAny(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &plan, string &reason) {
	reason = SessionSettings::Restriction(context);
	if (reason.empty()) {
		reason = ExchangeFolder::WhyNot(context);
	}
	if (!reason.empty()) {
		return false;
	}
	if (plan->type != LogicalOperatorType::LOGICAL_COPY_TO_FILE) {
		return TryReplaceQuery(context, binder, plan, string(), reason);
	}
	auto why_not = TaskCopy::WhyNot(context, plan->Cast<LogicalCopyToFile>());
	if (why_not.empty()) {
		return TryReplaceCopy(context, binder, plan, reason);
	}
	return TryReplaceQuery(context, binder, plan->children[0], "the session writes the files: " + why_not, reason);
}

} // namespace

bool RunInStages::TryReplace(ClientContext &context, Binder &binder, unique_ptr<LogicalOperator> &plan,
                             string &reason) {
	try {
		return TryReplaceAny(context, binder, plan, reason);
	} catch (std::exception &exception) {
		reason = WhyNotCut(exception);
		return false;
	}
}

const QueryStages &RunInStages::StagesOf(const LogicalOperator &plan) {
	auto &query = plan.type == LogicalOperatorType::LOGICAL_COPY_TO_FILE ? *plan.children[0] : plan;
	return query.Cast<LogicalStagedQuery>().Stages();
}

void RunInStages::Register(ExtensionLoader &loader) {
	OptimizerExtension extension;
	extension.pre_optimize_function = BeginOptimising;
	extension.optimize_function = Optimize;
	OptimizerExtension::Register(DBConfig::GetConfig(loader.GetDatabaseInstance()), extension);
}

} // namespace merganser
