#include "stages/join_back_check.hpp"

#include "late_materialization/join_back_guard.hpp"
#include "operator_export.hpp"

#include "duckdb/parser/parser.hpp"

namespace merganser {

namespace {

string Literal(const string &text) {
	return Value(text).ToSQLString();
}

unique_ptr<ParsedExpression> Condition(ClientContext &context, const string &row_number, const string &found,
                                       const JoinBackPromise &promise) {
	auto text = "CASE WHEN " + found + " IS NULL THEN error(" + Literal(promise.MissingMessage()) +
	            ") WHEN count(*) OVER () > max(" + row_number + ") OVER () + 1 THEN error(" +
	            Literal(promise.DuplicateMessage()) + ") ELSE true END";
	return Parser(context).ParseSingleExpression(text);
}

} // namespace

LogicalJoinBackCheck::LogicalJoinBackCheck(const LogicalJoinBackGuard &guard, unique_ptr<Expression> found,
                                           vector<ColumnBinding> bindings, vector<LogicalType> types)
    : ExportedOperator("JOIN_BACK_CHECK"), bindings(std::move(bindings)), guard_types(std::move(types)),
      promise(guard.Promise()) {
	expressions.push_back(guard.RowNumber().Copy());
	expressions.push_back(std::move(found));
}

vector<ColumnBinding> LogicalJoinBackCheck::GetColumnBindings() {
	return bindings;
}

void LogicalJoinBackCheck::ResolveTypes() {
	types = guard_types;
}

LogicalPlanSQLExportResult LogicalJoinBackCheck::ToSQL(LogicalPlanSQLExportContext &context,
                                                       const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto checked = OperatorExport::ExportExpressions(*this, expressions.size(), input, context, path);
	if (checked.HasError()) {
		return LogicalPlanSQLExportResult::Failure(checked);
	}
	auto row_number = checked.GetValue()[0]->ToString();
	auto found = checked.GetValue()[1]->ToString();
	auto &child = input.children[0];
	auto select = context.ForwardFields(child, input.fields);
	select->qualify = Condition(context.GetClientContext(), row_number, found, promise);
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(input.fields)});
}

} // namespace merganser
