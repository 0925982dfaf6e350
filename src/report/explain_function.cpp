#include "report/explain_function.hpp"

#include "decision_log.hpp"
#include "listed_rows.hpp"
#include "report/statement_to_plan.hpp"

#include "duckdb/main/client_context.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

namespace merganser {

namespace {

void AddRow(ListedRows &result, const char *section, const string &item, const string &text) {
	result.rows.push_back({Value(section), Value(item), Value(text)});
}

void AddDecisions(const DecisionLog &log, ListedRows &result) {
	for (auto &decision : log.Decisions()) {
		AddRow(result, "decision", decision.rule, decision.reason + ": " + decision.explanation);
		if (!decision.remedy.empty()) {
			AddRow(result, "remedy", decision.rule, decision.remedy);
		}
		for (auto &fact : decision.facts) {
			AddRow(result, "fact", fact.first, fact.second);
		}
		AddRow(result, "timing", decision.rule, StringUtil::Format("%llu microseconds", idx_t(decision.microseconds)));
	}
}

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	types = {LogicalType::VARCHAR, LogicalType::VARCHAR, LogicalType::VARCHAR};
	names = {"section", "item", "text"};
	StatementToPlan statement(context, "merganser_explain", input.inputs[0]);
	auto result = make_uniq<ListedRows>();
	string before;
	{
		RulesOff without_rules(context);
		before = statement.Optimize(context);
	}
	auto &log = DecisionLog::Get(context);
	string after;
	{
		OnlyShown shown(context);
		after = statement.Optimize(context);
	}
	AddDecisions(log, *result);
	AddRow(*result, "plan", "before", before);
	AddRow(*result, "plan", "after", after);
	log.Clear();
	return std::move(result);
}

} // namespace

void ExplainFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(ListedRows::Function("merganser_explain", {LogicalType::VARCHAR}, Bind));
}

} // namespace merganser
