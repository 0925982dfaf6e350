#include "grouping/table_function_sql.hpp"

#include "operator_export.hpp"

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
		result += string(", ") + TableArgument::PARTITION_BY + " := " + TextList(columns);
	}
	if (!function.ordering.empty()) {
		vector<string> items;
		for (auto &item : function.ordering) {
			items.push_back(OrderText(item, names));
		}
		result += string(", ") + TableArgument::ORDER_BY + " := " + TextList(items);
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
	auto exported = OperatorExport::ExportInput(function, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto argument = OperatorExport::ExportExpressions(function, function.ArgumentColumnCount(), input, context, path);
	if (argument.HasError()) {
		return LogicalPlanSQLExportResult::Failure(argument);
	}
	SelectNode rows;
	rows.select_list = std::move(argument.GetValue());
	auto names = function.ExpressionNames();
	for (idx_t i = 0; i < rows.select_list.size(); i++) {
		rows.select_list[i]->SetAlias(Identifier(names[i]));
	}
	rows.from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(input.children[0]));

	vector<string> selected;
	for (idx_t i = 0; i < function.outputs.size(); i++) {
		selected.push_back(StringUtil::Format("f.c%llu AS c%llu", Position(function, function.outputs[i]), i));
	}
	vector<string> delivered;
	for (idx_t i = 0; i < function.bound->names.size() + OtherColumns(function); i++) {
		delivered.push_back("c" + to_string(i));
	}
	auto sql = "SELECT " + StringUtil::Join(selected, ", ") + " FROM " + StringUtil::Lower(function.definition.name) +
	           "((" + rows.ToString() + ")" + Arguments(function) + ") AS f(" + StringUtil::Join(delivered, ", ") + ")";
	return OperatorExport::Result(context, sql, std::move(input));
}

} // namespace merganser
