#include "stages/logical_exchange.hpp"

#include "duckdb/parser/expression/columnref_expression.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/planner/logical_plan_sql_export_context.hpp"

namespace merganser {

LogicalExchange::LogicalExchange(StageInput input, vector<ColumnBinding> bindings, vector<LogicalType> planned_types,
                                 vector<LogicalType> sql_types)
    : input(input), bindings(std::move(bindings)), planned_types(std::move(planned_types)),
      sql_types(std::move(sql_types)) {
}

unique_ptr<LogicalExchange> LogicalExchange::ReadAgain(TableIndex table_index) const {
	vector<ColumnBinding> again;
	for (idx_t i = 0; i < bindings.size(); i++) {
		again.emplace_back(table_index, ProjectionIndex(i));
	}
	return ReadAs(std::move(again));
}

unique_ptr<LogicalExchange> LogicalExchange::ReadAs(vector<ColumnBinding> others) const {
	auto result = make_uniq<LogicalExchange>(input, std::move(others), planned_types, sql_types);
	result->ResolveOperatorTypes();
	result->SetEstimatedCardinality(estimated_cardinality);
	return result;
}

vector<ColumnBinding> LogicalExchange::GetColumnBindings() {
	return bindings;
}

void LogicalExchange::ResolveTypes() {
	types = planned_types;
}

string LogicalExchange::GetName() const {
	return "EXCHANGE";
}

string LogicalExchange::GetExtensionName() const {
	return "merganser_exchange";
}

PhysicalOperator &LogicalExchange::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("An exchange belongs to the plan of a stage, which is exported, not executed");
}

LogicalPlanSQLExportResult LogicalExchange::ToSQL(LogicalPlanSQLExportContext &context,
                                                  const LogicalPlanVerificationPath &path) {
	LogicalPlanSQLExportRelation relation;
	auto select = make_uniq<SelectNode>();
	for (idx_t i = 0; i < bindings.size(); i++) {
		select->select_list.push_back(make_uniq<ColumnRefExpression>(Identifier("c" + to_string(i))));
		LogicalPlanSQLExportField field;
		field.source_binding = bindings[i];
		field.type = sql_types[i];
		if (!sql_types[i].EqualsIncludingCollation(planned_types[i])) {
			field.optimizer_type = planned_types[i];
		}
		relation.fields.push_back(std::move(field));
	}
	auto table = make_uniq<BaseTableRef>();
	table->SetTable(Identifier(input.Name()));
	select->from_table = std::move(table);
	relation.query = std::move(select);
	return LogicalPlanSQLExportResult::Success(std::move(relation));
}

} // namespace merganser
