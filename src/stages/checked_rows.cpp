#include "stages/checked_rows.hpp"

#include "late_materialization/key_check.hpp"
#include "operator_export.hpp"

#include "duckdb/parser/expression/conjunction_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/select_statement.hpp"

namespace merganser {

namespace {

bool IsCheck(LogicalOperator &op) {
	if (dynamic_cast<LogicalKeyCheck *>(&op)) {
		return true;
	}
	return op.children.size() == 1 && IsCheck(*op.children[0]);
}

//! (SELECT count(*) FROM <check>) = 0
unique_ptr<ParsedExpression> Holds(ClientContext &context, LogicalPlanSQLExportedChild check) {
	auto condition = Parser(context).ParseSingleExpression("(SELECT count(*) FROM checked) = 0");
	ParsedExpressionIterator::EnumerateChildren(*condition, [&](unique_ptr<ParsedExpression> &child) {
		if (child->GetExpressionClass() == ExpressionClass::SUBQUERY) {
			auto &statement = *child->Cast<SubqueryExpression>().SubqueryMutable();
			statement.node->Cast<SelectNode>().from_table =
			    LogicalPlanSQLExportHelpers::CreateSubquery(std::move(check));
		}
	});
	return condition;
}

} // namespace

LogicalCheckedRows::LogicalCheckedRows(vector<ColumnBinding> bindings)
    : ExportedOperator("CHECKED_ROWS"), bindings(std::move(bindings)) {
}

bool LogicalCheckedRows::IsIn(const LogicalSetOperation &set_operation) {
	return !set_operation.allow_out_of_order && IsCheck(*set_operation.children[0]);
}

vector<ColumnBinding> LogicalCheckedRows::GetColumnBindings() {
	return bindings;
}

void LogicalCheckedRows::ResolveTypes() {
	types = children.back()->types;
}

LogicalPlanSQLExportResult LogicalCheckedRows::ToSQL(LogicalPlanSQLExportContext &context,
                                                     const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto &rows = input.children.back();
	auto select = context.ForwardFields(rows, rows.relation.fields);
	vector<unique_ptr<ParsedExpression>> conditions;
	for (idx_t i = 0; i + 1 < input.children.size(); i++) {
		conditions.push_back(Holds(context.GetClientContext(), std::move(input.children[i])));
	}
	select->where_clause = conditions.size() == 1 ? std::move(conditions[0])
	                                              : make_uniq_base<ParsedExpression, ConjunctionExpression>(
	                                                    ExpressionType::CONJUNCTION_AND, std::move(conditions));
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(rows));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(input.fields)});
}

} // namespace merganser
