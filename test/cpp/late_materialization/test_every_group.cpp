#include "bound_plan.hpp"

using namespace merganser; // NOLINT

namespace {

//! Names of the group columns (a, b) and aggregates (s) that are read above the query's aggregate.
string Read(OpenDatabase &database, const string &sql) {
	string result;
	WithBoundPlan(database, sql, [&](BoundPlan &plan) {
		auto &aggregate = plan.Aggregate();
		auto read = ColumnsRead::Of(plan.ancestors, aggregate);
		const char *names[] = {"a", "b"};
		for (idx_t i = 0; i < aggregate.groups.size(); i++) {
			result += read.count(ColumnBinding(aggregate.group_index, ProjectionIndex(i))) ? names[i] : "";
		}
		for (idx_t i = 0; i < aggregate.expressions.size(); i++) {
			result += read.count(ColumnBinding(aggregate.aggregate_index, ProjectionIndex(i))) ? "s" : "";
		}
	});
	return result;
}

//! How many conditions the narrow plan is given.
idx_t Conditions(OpenDatabase &database, const string &sql) {
	idx_t result = 0;
	WithBoundPlan(database, sql, [&](BoundPlan &plan) {
		auto shape = plan.EveryGroupShape();
		REQUIRE_FALSE(shape.bound.IsValid());
		REQUIRE(shape.orders.empty());
		result = shape.having.size();
	});
	return result;
}

const string GROUPED = "SELECT a, b, sum(c) AS s FROM t GROUP BY a, b";

} // namespace

TEST_CASE("What is read of an aggregate is what the whole plan above it reads", "[every_group]") {
	OpenDatabase database;
	database.Run("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c INTEGER)");
	REQUIRE(Read(database, GROUPED) == "abs");
	REQUIRE(Read(database, "SELECT a FROM (" + GROUPED + ")") == "a");
	REQUIRE(Read(database, "SELECT a FROM (" + GROUPED + ") ORDER BY s") == "as");
	REQUIRE(Read(database, "SELECT upper(x) FROM (SELECT a, b AS x, s FROM (" + GROUPED + ")) WHERE a > 1") == "ab");
	REQUIRE(Read(database, "SELECT max(s) FROM (" + GROUPED + ")") == "s");
	REQUIRE(Read(database, "SELECT a, rank() OVER (ORDER BY s) FROM (" + GROUPED + ")") == "as");
	REQUIRE(Read(database, "SELECT q.a FROM (" + GROUPED + ") q JOIN t ON q.b = t.b") == "ab");
	REQUIRE(Read(database, "SELECT a FROM (SELECT DISTINCT * FROM (" + GROUPED + "))") == "abs");
	REQUIRE(Read(database, "SELECT a FROM (" + GROUPED + " UNION ALL SELECT 1, 'x', 2)") == "abs");
}

TEST_CASE("Filters further up are added to HAVING, unless they are volatile or can fail", "[every_group]") {
	OpenDatabase database;
	database.Run("CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c INTEGER)");
	auto from = " FROM (" + GROUPED + " HAVING sum(c) > 1) ";
	REQUIRE(Conditions(database, "SELECT *" + from) == 1);
	REQUIRE(Conditions(database, "SELECT *" + from + "WHERE a = 5") == 2);
	REQUIRE(Conditions(database, "SELECT * FROM (SELECT a AS x, s" + from + "ORDER BY s) WHERE x = 5") == 2);
	REQUIRE(Conditions(database, "SELECT *" + from + "WHERE random() < 0.5") == 1);
	REQUIRE(Conditions(database, "SELECT *" + from + "WHERE b::INTEGER = 5") == 1);
	REQUIRE(Conditions(database, "SELECT * FROM (SELECT *" + from + "LIMIT 3) WHERE a = 5") == 1);
	REQUIRE(Conditions(database, "SELECT * FROM (SELECT *, rank() OVER (ORDER BY s) r" + from + ") WHERE a = 5") == 1);
}
