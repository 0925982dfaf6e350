#include "stages/range_partition.hpp"

#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/planner/sql_export/logical_plan_sql_exporter_internal.hpp"

namespace merganser {

namespace {

const char *const SAMPLE_NAME = "SORT_KEY_SAMPLE";
const char *const NUMBER_NAME = "RANGE_NUMBER";

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

//! create_sort_key(…) over the columns of `child`.
TextResult SortKey(LogicalOperator &op, const vector<string> &modifiers, LogicalPlanSQLExportContext &context,
                   const LogicalPlanSQLExportedChild &child, const LogicalPlanVerificationPath &path) {
	auto columns = LogicalPlanSQLExportHelpers::CreateBindingContext(context.GetClientContext(), {child});
	auto all = LogicalPlanSQLExportHelpers::CollectExpressions(op);
	vector<string> arguments;
	for (idx_t i = 0; i < all.size(); i++) {
		auto expression = context.ExportExpression(op, all, i, columns, path);
		if (expression.HasError()) {
			return TextResult::Failure(expression);
		}
		arguments.push_back(expression.GetValue()->ToString() + ", '" + modifiers[i] + "'");
	}
	return TextResult::Success("create_sort_key(" + StringUtil::Join(arguments, ", ") + ")");
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
    : table_index(table_index), modifiers(Modifiers(orders)) {
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

string LogicalSortKeySample::GetName() const {
	return SAMPLE_NAME;
}

optional_ptr<const string> LogicalSortKeySample::GetTypeBindingVerificationIdentifier() const noexcept {
	static const string IDENTIFIER = "merganser_sort_key_sample";
	return IDENTIFIER;
}

string LogicalSortKeySample::GetExtensionName() const {
	return "merganser_sort_key_sample";
}

PhysicalOperator &LogicalSortKeySample::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("%s belongs to the plan of a stage, which is exported, not executed", SAMPLE_NAME);
}

LogicalPlanSQLExportResult LogicalSortKeySample::ToSQL(LogicalPlanSQLExportContext &context,
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
	auto key = SortKey(*this, modifiers, context, child, path);
	if (key.HasError()) {
		return LogicalPlanSQLExportResult::Failure(key);
	}
	auto rows = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	auto sql = "SELECT " + key.GetValue() + " AS c0 FROM " + rows->ToString() +
	           StringUtil::Format(" USING SAMPLE reservoir(%llu ROWS) REPEATABLE (1)", SAMPLED_ROWS);
	return LogicalPlanSQLExportResult::Success(
	    {Parser(context.GetClientContext()).ParseSelectNode(sql), std::move(fields.GetValue())});
}

LogicalRangeNumber::LogicalRangeNumber(TableIndex table_index, const vector<BoundOrderByNode> &orders, idx_t ranges)
    : table_index(table_index), modifiers(Modifiers(orders)), ranges(ranges) {
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

string LogicalRangeNumber::GetName() const {
	return NUMBER_NAME;
}

optional_ptr<const string> LogicalRangeNumber::GetTypeBindingVerificationIdentifier() const noexcept {
	static const string IDENTIFIER = "merganser_range_number";
	return IDENTIFIER;
}

string LogicalRangeNumber::GetExtensionName() const {
	return "merganser_range_number";
}

PhysicalOperator &LogicalRangeNumber::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("%s belongs to the plan of a stage, which is exported, not executed", NUMBER_NAME);
}

LogicalPlanSQLExportResult LogicalRangeNumber::ToSQL(LogicalPlanSQLExportContext &context,
                                                     const LogicalPlanVerificationPath &path) {
	auto fields = LogicalPlanSQLExportHelpers::CreateFields(*this, path);
	if (fields.HasError()) {
		return LogicalPlanSQLExportResult::Failure(fields);
	}
	auto samples = context.ExportChild(*children[0], LogicalPlanSQLExportHelpers::PlanChildPath(path, 0));
	if (samples.HasError()) {
		return LogicalPlanSQLExportResult::Failure(samples);
	}
	auto exported = context.ExportChild(*children[1], LogicalPlanSQLExportHelpers::PlanChildPath(path, 1));
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &child = exported.GetValue();
	LogicalPlanSQLExportHelpers::PropagateSemanticTypes(fields.GetValue(), {child});
	auto key = SortKey(*this, modifiers, context, child, path);
	if (key.HasError()) {
		return LogicalPlanSQLExportResult::Failure(key);
	}
	vector<string> columns;
	for (idx_t i = 0; i < child.relation.fields.size(); i++) {
		columns.push_back("k.c" + to_string(i) + " AS c" + to_string(i));
	}
	auto rows = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	auto keys = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(samples.GetValue()));
	auto sql = "SELECT " + StringUtil::Join(columns, ", ") + ", " + NumberOfRange(ranges) + " AS c" +
	           to_string(columns.size()) + " FROM (SELECT *, " + key.GetValue() + " AS sort_key FROM " +
	           rows->ToString() + ") AS k, (SELECT quantile_disc(c0, " + Bounds(ranges) + ") AS bounds FROM " +
	           keys->ToString() + ") AS b";
	return LogicalPlanSQLExportResult::Success(
	    {Parser(context.GetClientContext()).ParseSelectNode(sql), std::move(fields.GetValue())});
}

} // namespace merganser
