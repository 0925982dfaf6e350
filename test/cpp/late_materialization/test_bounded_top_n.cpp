#include "bound_plan.hpp"

using namespace merganser; // NOLINT

namespace {

//! The code of the reason why the query's aggregate is no bounded top-N, or "" where it is one.
string WhyNot(OpenDatabase &database, const string &sql, idx_t max_rows = 100) {
	string result;
	WithBoundPlan(database, sql, [&](BoundPlan &plan) {
		AggregateShape query;
		DeclineReason reason;
		result = plan.TryMatch(max_rows, query, reason) ? "" : DeclineReasons::Code(reason);
	});
	return result;
}

OpenDatabase &WithTable(OpenDatabase &database) {
	database.Run("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c INTEGER)");
	return database;
}

} // namespace

TEST_CASE("A top-N above an aggregate is matched with its bound, order and HAVING", "[bounded_top_n]") {
	OpenDatabase database;
	WithTable(database);
	auto sql = "SELECT a, b, sum(c) AS s FROM t GROUP BY a, b HAVING sum(c) > 1 AND a < 9 "
	           "ORDER BY s DESC NULLS LAST, a + 1 LIMIT 7 OFFSET 3";
	WithBoundPlan(database, sql, [&](BoundPlan &plan) {
		AggregateShape query;
		DeclineReason reason;
		REQUIRE(plan.TryMatch(10, query, reason));
		REQUIRE(query.bound == 10);
		REQUIRE(&*query.aggregate == &plan.Aggregate());
		REQUIRE(query.slot->get()->type == LogicalOperatorType::LOGICAL_FILTER);
		REQUIRE(query.orders.size() == 2);
		REQUIRE(query.orders[0].type == OrderType::DESCENDING);
		REQUIRE(query.orders[0].null_order == OrderByNullType::NULLS_LAST);

		// the order is told in the aggregate's own columns, whatever projections lie between
		auto &aggregate = plan.Aggregate();
		column_binding_set_t by_sum, by_group;
		AggregateShape::CollectColumns(*query.orders[0].expression, by_sum);
		AggregateShape::CollectColumns(*query.orders[1].expression, by_group);
		REQUIRE(by_sum == column_binding_set_t {ColumnBinding(aggregate.aggregate_index, ProjectionIndex(0))});
		REQUIRE(by_group == column_binding_set_t {ColumnBinding(aggregate.group_index, ProjectionIndex(0))});
		REQUIRE(query.displayed.size() == 3);

		REQUIRE_FALSE(plan.TryMatch(9, query, reason));
		REQUIRE(reason == DeclineReason::BOUND_TOO_LARGE);
	});
}

TEST_CASE("Only columns that are read above the aggregate count as displayed", "[bounded_top_n]") {
	OpenDatabase database;
	WithTable(database);
	WithBoundPlan(database, "SELECT b FROM t GROUP BY a, b ORDER BY sum(c) LIMIT 3", [&](BoundPlan &plan) {
		AggregateShape query;
		DeclineReason reason;
		REQUIRE(plan.TryMatch(10, query, reason));
		auto group = [&](idx_t i) {
			return ColumnBinding(plan.Aggregate().group_index, ProjectionIndex(i));
		};
		REQUIRE(query.displayed.count(group(0)) == 0);
		REQUIRE(query.displayed.count(group(1)) == 1);
	});
}

TEST_CASE("What is no bounded top-N says why", "[bounded_top_n]") {
	OpenDatabase database;
	WithTable(database);
	string grouped = "SELECT a, b, sum(c) AS s FROM t GROUP BY a, b ";
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 100").empty());
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 101") == "bound_too_large");
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 60 OFFSET 41") == "bound_too_large");
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 5 OFFSET 9223372036854775807") == "bound_too_large");
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 0") == "bound_is_zero");
	REQUIRE(WhyNot(database, grouped + "ORDER BY s LIMIT 10%") == "bound_not_constant");
	REQUIRE(WhyNot(database, grouped + "ORDER BY s") == "no_bound");
	REQUIRE(WhyNot(database, grouped + "LIMIT 5") == "no_order");
	REQUIRE(WhyNot(database, "SELECT DISTINCT b FROM (" + grouped + ") ORDER BY b LIMIT 5") == "unsupported_operator");
	REQUIRE(WhyNot(database, grouped + "QUALIFY row_number() OVER (ORDER BY s) < 3 ORDER BY s LIMIT 5") ==
	        "unsupported_operator");
}
