//===----------------------------------------------------------------------===//
//                         Merganser
//
// operator_export.hpp
//
// What every ToSQL of our operators begins with: the children and the operator's own expressions as SQL. Errors: the
// issues DuckDB's exporter found below, handed on unchanged.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb/planner/sql_export/logical_plan_sql_exporter_internal.hpp"

namespace merganser {

using namespace duckdb;

struct OperatorExport {
	//! The columns an operator will deliver and its children as queries, in their order.
	struct Input {
		vector<LogicalPlanSQLExportField> fields;
		vector<LogicalPlanSQLExportedChild> children;
	};
	using InputResult = LogicalPlanVerificationResult<Input>;
	using ExpressionsResult = LogicalPlanVerificationResult<vector<unique_ptr<ParsedExpression>>>;

	static InputResult ExportInput(LogicalOperator &op, LogicalPlanSQLExportContext &context,
	                               const LogicalPlanVerificationPath &path);
	//! The first `count` expressions of the operator, over the columns of its last child.
	static ExpressionsResult ExportExpressions(LogicalOperator &op, idx_t count, const Input &input,
	                                           LogicalPlanSQLExportContext &context,
	                                           const LogicalPlanVerificationPath &path);
	//! A query in text as the operator's result.
	static LogicalPlanSQLExportResult Result(LogicalPlanSQLExportContext &context, const string &sql, Input input);
};

} // namespace merganser
