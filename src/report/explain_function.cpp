#include "report/explain_function.hpp"

#include "decision_log.hpp"
#include "report/statement_to_plan.hpp"

#include "duckdb/function/table_function.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

namespace {

struct ExplainRow {
	string section;
	string item;
	string text;
};

struct ExplainBindData : public TableFunctionData {
	vector<ExplainRow> rows;
};

struct ExplainState : public GlobalTableFunctionState {
	idx_t position = 0;
};

//! The plan DuckDB would run, as text.
string OptimizedPlan(ClientContext &context, const StatementToPlan &statement) {
	Planner planner(context);
	statement.Bind(planner);
	auto plan = std::move(planner.plan);
	if (plan->RequireOptimizer()) {
		Optimizer optimizer(*planner.binder, context);
		plan = optimizer.Optimize(std::move(plan));
	}
	plan->ResolveOperatorTypes();
	auto text = plan->ToString();
	// some decisions, such as a table function's grouping, are taken only now
	PhysicalPlanGenerator(context).Plan(std::move(plan));
	return text;
}

void AddDecisions(const DecisionLog &log, vector<ExplainRow> &rows) {
	for (auto &decision : log.Decisions()) {
		rows.push_back({"decision", decision.rule, decision.reason + ": " + decision.explanation});
		for (auto &fact : decision.facts) {
			rows.push_back({"fact", fact.first, fact.second});
		}
		rows.push_back(
		    {"timing", decision.rule, StringUtil::Format("%llu microseconds", idx_t(decision.microseconds))});
	}
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR};
	names = {"section", "item", "text"};
	StatementToPlan statement(context, "merganser_explain", input.inputs[0]);
	auto result = make_uniq<ExplainBindData>();
	string before;
	{
		RulesOff without_rules(context);
		before = OptimizedPlan(context, statement);
	}
	auto &log = DecisionLog::Get(context);
	auto after = OptimizedPlan(context, statement);
	AddDecisions(log, result->rows);
	result->rows.push_back({"plan", "before", std::move(before)});
	result->rows.push_back({"plan", "after", std::move(after)});
	log.Clear();
	return std::move(result);
}

unique_ptr<GlobalTableFunctionState> Init(ClientContext &context, TableFunctionInitInput &input) {
	return make_uniq<ExplainState>();
}

void Execute(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto &rows = input.bind_data->Cast<ExplainBindData>().rows;
	auto &state = input.global_state->Cast<ExplainState>();
	auto count = MinValue<idx_t>(STANDARD_VECTOR_SIZE, rows.size() - state.position);
	for (idx_t i = 0; i < count; i++) {
		auto &row = rows[state.position++];
		output.data[0].Append(Value(row.section));
		output.data[1].Append(Value(row.item));
		output.data[2].Append(Value(row.text));
	}
	output.SetChildCardinality(count);
}

} // namespace

void ExplainFunction::Register(ExtensionLoader &loader) {
	TableFunction function("merganser_explain", {LogicalType::VARCHAR}, Execute, Bind, Init);
	loader.RegisterFunction(function);
}

} // namespace merganser
