#include "stages/range_partition.hpp"

#include "operator_export.hpp"

namespace merganser {

namespace {

//! Sort keys each task contributes to the sample.
const idx_t SAMPLED_ROWS = 1000;

vector<string> Modifiers(const vector<BoundOrderByNode> &orders) {
	vector<string> result;
	for (auto &order : orders) {
		result.push_back(string(order.type == OrderType::DESCENDING ? "DESC" : "ASC") +
		                 (order.null_order == OrderByNullType::NULLS_FIRST ? " NULLS FIRST" : " NULLS LAST"));
	}
	return result;
}

using TextResult = LogicalPlanVerificationResult<string>;

//! create_sort_key(…) over the columns of the last child. Keys of up to eight bytes would be integers, and the plan
//! does not know which: it has compressed columns where the SQL has whole ones. A text behind them, always the same,
//! makes a BLOB of every key and changes no order.
TextResult SortKey(LogicalOperator &op, const vector<string> &modifiers, LogicalPlanSQLExportContext &context,
                   const OperatorExport::Input &input, const LogicalPlanVerificationPath &path) {
	auto expressions = OperatorExport::ExportExpressions(op, modifiers.size(), input, context, path);
	if (expressions.HasError()) {
		return TextResult::Failure(expressions);
	}
	vector<string> arguments;
	for (idx_t i = 0; i < modifiers.size(); i++) {
		arguments.push_back(expressions.GetValue()[i]->ToString() + ", '" + modifiers[i] + "'");
	}
	return TextResult::Success("create_sort_key(" + StringUtil::Join(arguments, ", ") + ", '', 'ASC NULLS FIRST')");
}

string Bounds(idx_t ranges) {
	vector<string> fractions;
	for (idx_t i = 1; i < ranges; i++) {
		fractions.push_back(StringUtil::Format("%llu / %llu.0::DOUBLE", i, ranges));
	}
	return "[" + StringUtil::Join(fractions, ", ") + "]";
}

string NumberOfRange(idx_t ranges) {
	vector<string> terms;
	for (idx_t i = 1; i < ranges; i++) {
		terms.push_back(StringUtil::Format("(k.sort_key > b.bounds[%llu])::BIGINT", i));
	}
	return StringUtil::Join(terms, " + ");
}

} // namespace

LogicalSortKeySample::LogicalSortKeySample(TableIndex table_index, const vector<BoundOrderByNode> &orders)
    : ExportedOperator("SORT_KEY_SAMPLE"), table_index(table_index), modifiers(Modifiers(orders)) {
	for (auto &order : orders) {
		expressions.push_back(order.expression->Copy());
	}
}

vector<ColumnBinding> LogicalSortKeySample::GetColumnBindings() {
	return {ColumnBinding(table_index, ProjectionIndex(0))};
}

void LogicalSortKeySample::ResolveTypes() {
	types = {LogicalType::BLOB};
}

LogicalPlanSQLExportResult LogicalSortKeySample::ToSQL(LogicalPlanSQLExportContext &context,
                                                       const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto key = SortKey(*this, modifiers, context, input, path);
	if (key.HasError()) {
		return LogicalPlanSQLExportResult::Failure(key);
	}
	auto rows = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(input.children[0]));
	auto sql = "SELECT " + key.GetValue() + " AS c0 FROM " + rows->ToString() +
	           StringUtil::Format(" USING SAMPLE reservoir(%llu ROWS) REPEATABLE (1)", SAMPLED_ROWS);
	return OperatorExport::Result(context, sql, std::move(input));
}

LogicalRangeNumber::LogicalRangeNumber(TableIndex table_index, const vector<BoundOrderByNode> &orders, idx_t ranges)
    : ExportedOperator("RANGE_NUMBER"), table_index(table_index), modifiers(Modifiers(orders)), ranges(ranges) {
	for (auto &order : orders) {
		expressions.push_back(order.expression->Copy());
	}
}

vector<ColumnBinding> LogicalRangeNumber::GetColumnBindings() {
	auto result = children[1]->GetColumnBindings();
	result.push_back(Number());
	return result;
}

void LogicalRangeNumber::ResolveTypes() {
	types = children[1]->types;
	types.push_back(LogicalType::BIGINT);
}

LogicalPlanSQLExportResult LogicalRangeNumber::ToSQL(LogicalPlanSQLExportContext &context,
                                                     const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto key = SortKey(*this, modifiers, context, input, path);
	if (key.HasError()) {
		return LogicalPlanSQLExportResult::Failure(key);
	}
	vector<string> columns;
	for (idx_t i = 0; i + 1 < input.fields.size(); i++) {
		columns.push_back("k.c" + to_string(i) + " AS c" + to_string(i));
	}
	auto rows = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(input.children[1]));
	auto keys = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(input.children[0]));
	auto sql = "SELECT " + StringUtil::Join(columns, ", ") + ", " + NumberOfRange(ranges) + " AS c" +
	           to_string(columns.size()) + " FROM (SELECT *, " + key.GetValue() + " AS sort_key FROM " +
	           rows->ToString() + ") AS k, (SELECT quantile_disc(c0, " + Bounds(ranges) + ") AS bounds FROM " +
	           keys->ToString() + ") AS b";
	return OperatorExport::Result(context, sql, std::move(input));
}

} // namespace merganser
