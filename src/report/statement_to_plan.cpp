#include "report/statement_to_plan.hpp"

#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/statement/create_statement.hpp"

namespace merganser {

namespace {

const char *const PLANNED = "SELECT, INSERT, UPDATE, DELETE, MERGE INTO, COPY, CREATE TABLE or CREATE VIEW";

bool HoldsQuery(const SQLStatement &statement) {
	switch (statement.type) {
	case StatementType::SELECT_STATEMENT:
	case StatementType::INSERT_STATEMENT:
	case StatementType::UPDATE_STATEMENT:
	case StatementType::DELETE_STATEMENT:
	case StatementType::MERGE_INTO_STATEMENT:
	case StatementType::COPY_STATEMENT:
		return true;
	case StatementType::CREATE_STATEMENT: {
		auto created = statement.Cast<CreateStatement>().info->type;
		return created == CatalogType::TABLE_ENTRY || created == CatalogType::VIEW_ENTRY;
	}
	default:
		return false;
	}
}

vector<unique_ptr<SQLStatement>> Parse(ClientContext &context, const string &sql) {
	Parser parser(context);
	parser.ParseQuery(sql);
	return std::move(parser.statements);
}

} // namespace

StatementToPlan::StatementToPlan(ClientContext &context, const char *function, const Value &text) : function(function) {
	if (text.IsNull()) {
		throw BinderException("%s takes the text of a statement, not NULL", function);
	}
	sql = text.GetValue<string>();
	auto statements = Parse(context, sql);
	if (statements.size() != 1) {
		throw BinderException("%s takes exactly one statement, but the text has %llu", function, statements.size());
	}
	statement = std::move(statements[0]);
	if (!HoldsQuery(*statement)) {
		throw BinderException("%s %s", function, Refusal());
	}
}

string StatementToPlan::Refusal() const {
	switch (statement->type) {
	case StatementType::MULTI_STATEMENT:
		return "takes one statement, but this text becomes several: a PIVOT first reads the values it makes columns "
		       "of. "
		       "List them: PIVOT ... ON c IN (a, b)";
	case StatementType::EXPLAIN_STATEMENT:
		return "takes the statement itself: leave EXPLAIN out";
	default:
		return StringUtil::Format("plans a statement without running it, and takes %s, not %s", PLANNED,
		                          StatementTypeToString(statement->type));
	}
}

void StatementToPlan::Bind(Planner &planner) const {
	planner.CreatePlan(statement->Copy());
	if (!planner.plan || !planner.properties.bound_all_parameters) {
		throw BinderException("%s cannot plan a parameter whose type the statement does not tell: write a value in its "
		                      "place, or its type, as in $1::INTEGER",
		                      function);
	}
}

string StatementToPlan::Optimize(ClientContext &context) const {
	Planner planner(context);
	Bind(planner);
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

} // namespace merganser
