#include "stages/stage_check.hpp"

#include "session_connection.hpp"

#include "duckdb/common/types/column/column_data_collection.hpp"
#include "duckdb/parser/expression/star_expression.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/parser/query_node/select_node.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/column_data_ref.hpp"
#include "duckdb/planner/binder.hpp"

namespace merganser {

namespace {

//! `SELECT *` of an empty relation.
unique_ptr<CommonTableExpressionInfo> Empty(ClientContext &context, vector<Identifier> names,
                                            const vector<LogicalType> &types) {
	auto rows = make_uniq<ColumnDataCollection>(context, types);
	auto table =
	    make_uniq<ColumnDataRef>(optionally_owned_ptr<ColumnDataCollection>(std::move(rows)), std::move(names));
	table->alias = Identifier("merganser_rows");
	auto select = make_uniq<SelectNode>();
	select->select_list.push_back(make_uniq<StarExpression>());
	select->from_table = std::move(table);
	auto result = make_uniq<CommonTableExpressionInfo>();
	result->query_node = std::move(select);
	result->materialized = CTEMaterialize::CTE_MATERIALIZE_NEVER;
	return result;
}

vector<Identifier> Numbered(idx_t count) {
	vector<Identifier> result;
	for (idx_t i = 0; i < count; i++) {
		result.emplace_back("c" + to_string(i));
	}
	return result;
}

void AddInputs(ClientContext &context, const QueryStages &stages, const Stage &stage, QueryNode &query) {
	for (auto &scan : stage.scans) {
		query.cte_map.map[Identifier(scan.name)] = Empty(context, scan.column_names, scan.column_types);
	}
	for (auto &input : stage.inputs) {
		auto &types = input.stage.IsValid() ? stages.Get(input.stage.GetIndex()).sql_types
		                                    : stages.sent[input.sent.GetIndex()].types;
		query.cte_map.map[Identifier(input.Name())] = Empty(context, Numbered(types.size()), types);
	}
}

vector<LogicalType> TypesOf(ClientContext &context, const QueryStages &stages, const Stage &stage) {
	SelectStatement statement;
	statement.node = Parser(context).ParseSelectNode(stage.query->ToString());
	AddInputs(context, stages, stage, *statement.node);
	SQLStatement &query = statement;
	return Binder::CreateBinder(context)->Bind(query).types;
}

void CheckStage(ClientContext &context, const QueryStages &stages, const Stage &stage) {
	auto types = TypesOf(context, stages, stage);
	for (idx_t i = 0; i < stage.columns; i++) {
		if (i >= types.size() || types[i] != stage.sql_types[i]) {
			throw NotImplementedException("stage %llu would return %s where the plan has %s", stage.number,
			                              i < types.size() ? types[i].ToString() : "no column",
			                              stage.sql_types[i].ToString());
		}
	}
}

} // namespace

void StageCheck::Check(ClientContext &session, const QueryStages &stages) {
	auto connection = SessionConnection::Open(session);
	connection->context->RunFunctionInTransaction([&]() {
		for (auto &stage : stages.stages) {
			CheckStage(*connection->context, stages, *stage);
		}
	});
}

} // namespace merganser
