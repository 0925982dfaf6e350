#include "operator_export.hpp"

#include "duckdb/parser/parser.hpp"

namespace merganser {

OperatorExport::InputResult OperatorExport::ExportInput(LogicalOperator &op, LogicalPlanSQLExportContext &context,
                                                        const LogicalPlanVerificationPath &path) {
	auto fields = LogicalPlanSQLExportHelpers::CreateFields(op, path);
	if (fields.HasError()) {
		return InputResult::Failure(fields);
	}
	Input result;
	result.fields = std::move(fields.GetValue());
	for (idx_t i = 0; i < op.children.size(); i++) {
		auto child = context.ExportChild(*op.children[i], LogicalPlanSQLExportHelpers::PlanChildPath(path, i));
		if (child.HasError()) {
			return InputResult::Failure(child);
		}
		LogicalPlanSQLExportHelpers::PropagateSemanticTypes(result.fields, {child.GetValue()});
		result.children.push_back(std::move(child.GetValue()));
	}
	return InputResult::Success(std::move(result));
}

OperatorExport::ExpressionsResult OperatorExport::ExportExpressions(LogicalOperator &op, idx_t count,
                                                                    const Input &input,
                                                                    LogicalPlanSQLExportContext &context,
                                                                    const LogicalPlanVerificationPath &path) {
	auto columns =
	    LogicalPlanSQLExportHelpers::CreateBindingContext(context.GetClientContext(), {input.children.back()});
	auto expressions = LogicalPlanSQLExportHelpers::CollectExpressions(op);
	vector<unique_ptr<ParsedExpression>> result;
	for (idx_t i = 0; i < count; i++) {
		auto expression = context.ExportExpression(op, expressions, i, columns, path);
		if (expression.HasError()) {
			return ExpressionsResult::Failure(expression);
		}
		result.push_back(std::move(expression.GetValue()));
	}
	return ExpressionsResult::Success(std::move(result));
}

LogicalPlanSQLExportResult OperatorExport::Result(LogicalPlanSQLExportContext &context, const string &sql,
                                                  Input input) {
	return LogicalPlanSQLExportResult::Success(
	    {Parser(context.GetClientContext()).ParseSelectNode(sql), std::move(input.fields)});
}

} // namespace merganser
