#include "grouping/table_function_sql.hpp"

#include "table_functions/table_function_binding.hpp"

#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/planner/sql_export/logical_plan_sql_exporter_internal.hpp"

namespace merganser {

namespace {

string Quoted(const string &name) {
	return "\"" + StringUtil::Replace(name, "\"", "\"\"") + "\"";
}

string TextList(const vector<string> &texts) {
	vector<Value> values;
	for (auto &text : texts) {
		values.emplace_back(text);
	}
	return Value::LIST(LogicalType::VARCHAR, std::move(values)).ToSQLString();
}

string OrderText(const OrderItem &item, const vector<string> &names) {
	return names[item.column] + (item.direction == OrderType::DESCENDING ? " DESC" : " ASC") +
	       (item.null_order == OrderByNullType::NULLS_FIRST ? " NULLS FIRST" : " NULLS LAST");
}

string Arguments(const LogicalTableFunction &function) {
	auto names = function.ExpressionNames();
	string result;
	if (!function.partition_columns.empty()) {
		vector<string> columns;
		for (auto column : function.partition_columns) {
			columns.push_back(names[column]);
		}
		result += string(", ") + TableFunctionBinding::PartitionByArgument() + " := " + TextList(columns);
	}
	if (!function.ordering.empty()) {
		vector<string> items;
		for (auto &item : function.ordering) {
			items.push_back(OrderText(item, names));
		}
		result += string(", ") + TableFunctionBinding::OrderByArgument() + " := " + TextList(items);
	}
	for (auto &parameter : function.definition.parameters) {
		auto entry = function.passed.find(parameter.name);
		if (entry != function.passed.end()) {
			result += ", " + Quoted(parameter.name) + " := " + entry->second.ToSQLString();
		}
	}
	return result;
}

//! How many of the proper columns stand before the other columns.
idx_t ProperFirst(const LogicalTableFunction &function) {
	auto &before = function.bound->proper_before_partition_columns;
	return !function.definition.pass_through && before.IsValid() ? before.GetIndex() : function.bound->names.size();
}

idx_t OtherColumns(const LogicalTableFunction &function) {
	return function.definition.pass_through ? function.ArgumentColumnCount() : function.partition_columns.size();
}

//! Position of an output among all columns the written call delivers.
idx_t Position(const LogicalTableFunction &function, const LogicalTableFunction::Output &output) {
	auto first = ProperFirst(function);
	if (output.source != ProcessorLayout::Source::PROPER) {
		return first + output.index;
	}
	return output.index < first ? output.index : output.index + OtherColumns(function);
}

} // namespace

LogicalPlanSQLExportResult TableFunctionSql::Export(LogicalTableFunction &function,
                                                    LogicalPlanSQLExportContext &context,
                                                    const LogicalPlanVerificationPath &path) {
	auto fields = LogicalPlanSQLExportHelpers::CreateFields(function, path);
	if (fields.HasError()) {
		return LogicalPlanSQLExportResult::Failure(fields);
	}
	auto exported = context.ExportChild(*function.children[0], LogicalPlanSQLExportHelpers::PlanChildPath(path, 0));
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &child = exported.GetValue();
	auto columns = LogicalPlanSQLExportHelpers::CreateBindingContext(context.GetClientContext(), {child});
	auto input = make_uniq<SelectNode>();
	auto names = function.ExpressionNames();
	auto expressions = LogicalPlanSQLExportHelpers::CollectExpressions(function);
	for (idx_t i = 0; i < function.ArgumentColumnCount(); i++) {
		auto expression = context.ExportExpression(function, expressions, i, columns, path);
		if (expression.HasError()) {
			return LogicalPlanSQLExportResult::Failure(expression);
		}
		expression.GetValue()->SetAlias(Identifier(names[i]));
		input->select_list.push_back(std::move(expression.GetValue()));
	}
	input->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));

	vector<string> selected;
	for (idx_t i = 0; i < function.outputs.size(); i++) {
		selected.push_back(StringUtil::Format("f.c%llu AS c%llu", Position(function, function.outputs[i]), i));
	}
	vector<string> delivered;
	for (idx_t i = 0; i < function.bound->names.size() + OtherColumns(function); i++) {
		delivered.push_back("c" + to_string(i));
	}
	auto sql = "SELECT " + StringUtil::Join(selected, ", ") + " FROM " + StringUtil::Lower(function.definition.name) +
	           "((" + input->ToString() + ")" + Arguments(function) + ") AS f(" + StringUtil::Join(delivered, ", ") +
	           ")";
	LogicalPlanSQLExportRelation relation;
	relation.query = Parser(context.GetClientContext()).ParseSelectNode(sql);
	relation.fields = std::move(fields.GetValue());
	return LogicalPlanSQLExportResult::Success(std::move(relation));
}

} // namespace merganser
