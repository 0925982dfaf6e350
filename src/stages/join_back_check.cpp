#include "stages/join_back_check.hpp"

#include "late_materialization/join_back_guard.hpp"
#include "operator_export.hpp"

#include "duckdb/parser/parser.hpp"

namespace merganser {

namespace {

string Literal(const string &text) {
	return Value(text).ToSQLString();
}

string IsMissing(const string &found, const string &sought, FoundRows promised) {
	switch (promised) {
	case FoundRows::ONE:
		return found + " IS NULL";
	case FoundRows::ONE_UNLESS_NULL:
		return found + " IS NULL AND " + sought + " IS NOT NULL";
	case FoundRows::AT_MOST_ONE:
		break;
	}
	return "false";
}

unique_ptr<ParsedExpression> Condition(ClientContext &context, const string &row_number, const string &is_missing,
                                       const JoinBackPromise &promise) {
	auto text = "CASE WHEN " + is_missing + " THEN error(" + Literal(promise.MissingMessage()) +
	            ") WHEN count(*) OVER () > max(" + row_number + ") OVER () + 1 THEN error(" +
	            Literal(promise.DuplicateMessage()) + ") ELSE true END";
	return Parser(context).ParseSingleExpression(text);
}

} // namespace

LogicalJoinBackCheck::LogicalJoinBackCheck(const LogicalJoinBackGuard &guard, unique_ptr<Expression> found,
                                           unique_ptr<Expression> sought, vector<ColumnBinding> bindings,
                                           vector<LogicalType> types)
    : ExportedOperator("JOIN_BACK_CHECK"), bindings(std::move(bindings)), guard_types(std::move(types)),
      promise(guard.Promise()) {
	expressions.push_back(guard.RowNumber().Copy());
	expressions.push_back(std::move(found));
	expressions.push_back(std::move(sought));
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
	auto is_missing = IsMissing(checked.GetValue()[1]->ToString(), checked.GetValue()[2]->ToString(), promise.found);
	auto &child = input.children[0];
	auto select = context.ForwardFields(child, input.fields);
	select->qualify = Condition(context.GetClientContext(), row_number, is_missing, promise);
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(input.fields)});
}

} // namespace merganser
