#include "open_database.hpp"
#include "stages/order_needs.hpp"

#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/optimizer/optimizer.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/planner.hpp"

namespace merganser {

using namespace duckdb;

namespace {

void FindScans(LogicalOperator &op, const OrderNeeds &needs, map<string, OrderNeed> &result) {
	if (op.type == LogicalOperatorType::LOGICAL_GET && op.Cast<LogicalGet>().GetTable()) {
		result[op.Cast<LogicalGet>().GetTable()->name.GetIdentifierName()] = needs.Of(op);
	}
	for (auto &child : op.children) {
		FindScans(*child, needs, result);
	}
}

//! How the order of each table is seen by the optimised query.
map<string, OrderNeed> Needs(const string &sql, bool preserve_insertion_order = true) {
	OpenDatabase database;
	for (auto name : {"a", "b"}) {
		database.Run(StringUtil::Format("CREATE TABLE %s AS SELECT i, i %% 3 AS g FROM range(10000) r(i)", name));
	}
	database.Run(StringUtil::Format("SET preserve_insertion_order = %s", preserve_insertion_order ? "true" : "false"));
	map<string, OrderNeed> result;
	auto &context = *database.connection.context;
	Connection parsing(database.database);
	context.RunFunctionInTransaction([&]() {
		Planner planner(context);
		planner.CreatePlan(std::move(parsing.ExtractStatements(sql)[0]));
		auto plan = Optimizer(*planner.binder, context).Optimize(std::move(planner.plan));
		FindScans(*plan, OrderNeeds(context, *plan), result);
	});
	return result;
}

using Tables = map<string, OrderNeed>;

const string UNION_ALL = "(SELECT i, g FROM a WHERE i <> 7 UNION ALL SELECT i + 1, g FROM b)";

} // namespace

TEST_CASE("A result and LIMIT see the order of rows", "[order_needs]") {
	Tables rows {{"a", OrderNeed::ROWS}, {"b", OrderNeed::ROWS}};
	REQUIRE(Needs("SELECT i FROM " + UNION_ALL) == rows);
	REQUIRE(Needs("SELECT sum(i) FROM (SELECT i FROM " + UNION_ALL + " LIMIT 9)") == rows);
	REQUIRE(Needs("WITH c AS MATERIALIZED (FROM " + UNION_ALL + ") SELECT i FROM c UNION ALL SELECT g FROM c") == rows);
}

TEST_CASE("Aggregates and windows see it as rows arrive, where it changes what they return", "[order_needs]") {
	Tables stream {{"a", OrderNeed::STREAM}, {"b", OrderNeed::STREAM}};
	Tables none {{"a", OrderNeed::NONE}, {"b", OrderNeed::NONE}};
	for (auto function : {"list(i)", "first(i)", "string_agg(i, ',')", "arg_min(i, g)", "count(*), any_value(i)"}) {
		REQUIRE(Needs(StringUtil::Format("SELECT %s FROM %s", function, UNION_ALL)) == stream);
	}
	for (auto window : {"row_number() OVER ()", "sum(i) OVER (PARTITION BY g ROWS UNBOUNDED PRECEDING)",
	                    "list(i) OVER (PARTITION BY g)", "lag(i) OVER (PARTITION BY g)"}) {
		REQUIRE(Needs(StringUtil::Format("SELECT i, %s FROM %s", window, UNION_ALL)) == stream);
	}
	REQUIRE(Needs("SELECT i, sum(i) OVER (PARTITION BY g) FROM " + UNION_ALL) == none);
	REQUIRE(Needs("WITH c AS MATERIALIZED (FROM " + UNION_ALL +
	              ") SELECT count(*) FROM c UNION ALL "
	              "SELECT list(i)[1] FROM c") == stream);
	for (auto function : {"sum(i)", "avg(i)", "min(i), max(g)", "count(DISTINCT i)", "stddev(i)", "median(i)"}) {
		REQUIRE(Needs(StringUtil::Format("SELECT %s FROM %s", function, UNION_ALL)) == none);
	}
}

TEST_CASE("Above a join by equal keys, GROUP BY and DISTINCT nothing of it is left to see", "[order_needs]") {
	Tables none {{"a", OrderNeed::NONE}, {"b", OrderNeed::NONE}};
	REQUIRE(Needs("SELECT a.i FROM a JOIN b ON a.i = b.i + 1 LIMIT 3") == none);
	REQUIRE(Needs("SELECT g, count(*) FROM " + UNION_ALL + " GROUP BY g LIMIT 3") == none);
	REQUIRE(Needs("SELECT DISTINCT g FROM " + UNION_ALL + " LIMIT 3") == none);
	Tables beside {{"a", OrderNeed::ROWS}, {"b", OrderNeed::NONE}};
	REQUIRE(Needs("SELECT g FROM a UNION ALL SELECT g FROM b GROUP BY g") == beside);
	REQUIRE(Needs("SELECT a.i FROM a, (SELECT max(i) AS i FROM b) x WHERE a.i < x.i") == beside);
}

TEST_CASE("Without preserve_insertion_order only what is sorted is seen in order", "[order_needs]") {
	Tables none {{"a", OrderNeed::NONE}, {"b", OrderNeed::NONE}};
	REQUIRE(Needs("SELECT list(i) FROM " + UNION_ALL, false) == none);
	REQUIRE(Needs("SELECT i FROM " + UNION_ALL + " LIMIT 3", false) == none);
}

} // namespace merganser
