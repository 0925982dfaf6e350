#include "report/stages_function.hpp"

#include "listed_rows.hpp"
#include "report/statement_to_plan.hpp"
#include "runners/run_in_stages.hpp"
#include "runners/staged_query.hpp"
#include "stages/stages_pause.hpp"

#include "duckdb/main/extension/extension_loader.hpp"
#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

namespace {

const char *const NAME = "merganser_stages";

unique_ptr<FunctionData> Bind(ClientContext &context, TableFunctionBindInput &input, vector<LogicalType> &types,
                              vector<Identifier> &names) {
	names = {Identifier("stage"), Identifier("partitioning"), Identifier("inputs"),
	         Identifier("tasks"), Identifier("sql"),          Identifier("reason")};
	types = {LogicalType::UBIGINT, LogicalType::VARCHAR, LogicalType::VARCHAR,
	         LogicalType::UBIGINT, LogicalType::VARCHAR, LogicalType::VARCHAR};
	StatementToPlan statement(context, NAME, input.inputs[0]);
	auto is_copy = statement.Type() == StatementType::COPY_STATEMENT;
	if (!is_copy && statement.Type() != StatementType::SELECT_STATEMENT) {
		throw BinderException("%s takes one query, or one COPY of a query to files, not %s", NAME,
		                      StatementTypeToString(statement.Type()));
	}
	StagesPause pause(context);
	Planner planner(context);
	statement.Bind(planner);
	if (is_copy && planner.plan->type != LogicalOperatorType::LOGICAL_COPY_TO_FILE) {
		throw BinderException("%s does not know this COPY; give it the query", NAME);
	}
	Optimizer optimizer(*planner.binder, context);
	auto plan = optimizer.Optimize(std::move(planner.plan));
	auto result = make_uniq<ListedRows>();
	string reason;
	if (!RunInStages::TryReplace(context, *planner.binder, plan, reason)) {
		result->rows.push_back(
		    {Value::UBIGINT(1), Value("gather"), Value(""), Value::UBIGINT(1), Value(statement.Sql()), Value(reason)});
		return std::move(result);
	}
	for (auto &stage : RunInStages::StagesOf(*plan).stages) {
		result->rows.push_back({Value::UBIGINT(stage->number), Value(stage->PartitioningText()),
		                        Value(stage->InputsText()), Value::UBIGINT(stage->tasks), Value(stage->Sql()),
		                        Value(stage->ReasonText())});
	}
	return std::move(result);
}

} // namespace

void StagesFunction::Register(ExtensionLoader &loader) {
	loader.RegisterFunction(ListedRows::Function(NAME, {LogicalType::VARCHAR}, Bind));
}

} // namespace merganser
