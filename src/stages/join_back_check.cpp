#include "stages/join_back_check.hpp"

#include "late_materialization/join_back_guard.hpp"

#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/planner/sql_export/logical_plan_sql_exporter_internal.hpp"

namespace merganser {

namespace {

const char *const NAME = "JOIN_BACK_CHECK";

string Literal(const string &text) {
	return Value(text).ToSQLString();
}

unique_ptr<ParsedExpression> Condition(ClientContext &context, const string &row_number, const string &found,
                                       const string &key, const string &table) {
	auto missing = "(count(*) OVER () - count(" + found + ") OVER ())";
	auto text = "CASE WHEN count(*) OVER () > count(DISTINCT " + row_number + ") OVER () THEN error(" +
	            Literal(LogicalJoinBackGuard::DuplicateMessage(key, table)) + ") WHEN " + missing + " > 0 THEN error(" +
	            Literal(LogicalJoinBackGuard::MissingMessageStart(key)) + " || " + missing +
	            " || ' of ' || count(*) OVER () || " + Literal(LogicalJoinBackGuard::MissingMessageEnd(table)) +
	            ") ELSE true END";
	return Parser(context).ParseSingleExpression(text);
}

} // namespace

LogicalJoinBackCheck::LogicalJoinBackCheck(const LogicalJoinBackGuard &guard, unique_ptr<Expression> found,
                                           vector<ColumnBinding> bindings, vector<LogicalType> types)
    : bindings(std::move(bindings)), guard_types(std::move(types)), key(guard.Key()), table(guard.Table()) {
	expressions.push_back(guard.RowNumber().Copy());
	expressions.push_back(std::move(found));
}

vector<ColumnBinding> LogicalJoinBackCheck::GetColumnBindings() {
	return bindings;
}

void LogicalJoinBackCheck::ResolveTypes() {
	types = guard_types;
}

string LogicalJoinBackCheck::GetName() const {
	return NAME;
}

string LogicalJoinBackCheck::GetExtensionName() const {
	return "merganser_join_back_check";
}

PhysicalOperator &LogicalJoinBackCheck::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("%s belongs to the plan of a stage, which is exported, not executed", NAME);
}

LogicalPlanSQLExportResult LogicalJoinBackCheck::ToSQL(LogicalPlanSQLExportContext &context,
                                                       const LogicalPlanVerificationPath &path) {
	auto fields = LogicalPlanSQLExportHelpers::CreateFields(*this, path);
	if (fields.HasError()) {
		return LogicalPlanSQLExportResult::Failure(fields);
	}
	auto exported = context.ExportChild(*children[0], LogicalPlanSQLExportHelpers::PlanChildPath(path, 0));
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &child = exported.GetValue();
	LogicalPlanSQLExportHelpers::PropagateSemanticTypes(fields.GetValue(), {child});
	auto columns = LogicalPlanSQLExportHelpers::CreateBindingContext(context.GetClientContext(), {child});
	vector<string> checked;
	auto all = LogicalPlanSQLExportHelpers::CollectExpressions(*this);
	for (idx_t i = 0; i < all.size(); i++) {
		auto expression = context.ExportExpression(*this, all, i, columns, path);
		if (expression.HasError()) {
			return LogicalPlanSQLExportResult::Failure(expression);
		}
		checked.push_back(expression.GetValue()->ToString());
	}
	auto select = context.ForwardFields(child, fields.GetValue());
	select->qualify = Condition(context.GetClientContext(), checked[0], checked[1], key, table);
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(fields.GetValue())});
}

} // namespace merganser
