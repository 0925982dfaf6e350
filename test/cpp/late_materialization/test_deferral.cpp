#include "bound_plan.hpp"
#include "late_materialization/deferral.hpp"

using namespace merganser; // NOLINT

namespace {

struct Found {
	//! Code of the reason, "" if columns are deferred.
	string declined;
	//! Output columns that stay in the narrow plan.
	vector<idx_t> retained;
	//! "customer.c_id ... " of the chain: relation and key.
	vector<string> chain;
};

Found Find(OpenDatabase &database, const string &sql, idx_t max_chain = 4) {
	Found result;
	WithBoundPlan(database, sql, [&](BoundPlan &plan) {
		auto &context = *database.connection.context;
		Optimizer optimizer(*plan.planner.binder, context);
		RelationKeys keys(optimizer);
		AggregateInput input(context, keys, *plan.Aggregate().children[0]);
		AggregateShape query;
		DeclineReason reason;
		REQUIRE(plan.TryMatch(100, query, reason));
		Deferral deferral(input, query);
		if (!deferral.TryFind(max_chain, reason)) {
			result.declined = DeclineReasons::Code(reason);
			return;
		}
		for (idx_t i = 0; i < deferral.Columns().size(); i++) {
			if (deferral.Columns()[i].retained) {
				result.retained.push_back(i);
			}
		}
		for (auto &link : deferral.Chain()) {
			result.chain.push_back(input.Relations()[link.relation].keys[link.key].name);
		}
	});
	return result;
}

void CreateSnowflake(OpenDatabase &database) {
	database.Run("CREATE TABLE region (r_id INTEGER PRIMARY KEY, r_name VARCHAR)");
	database.Run("CREATE TABLE nation (n_id INTEGER PRIMARY KEY, n_name VARCHAR, n_region INTEGER)");
	database.Run("CREATE TABLE customer (c_id INTEGER PRIMARY KEY, c_name VARCHAR, c_nation INTEGER, c_code INTEGER "
	             "UNIQUE)");
	database.Run("CREATE TABLE orders (o_customer INTEGER, o_value INTEGER, o_site INTEGER, o_day INTEGER)");
	database.Run("CREATE TABLE shift (h_site INTEGER, h_day INTEGER, h_lead VARCHAR, PRIMARY KEY (h_site, h_day))");
}

} // namespace

TEST_CASE("The closure follows keys and equalities through several tables", "[deferral]") {
	OpenDatabase database;
	CreateSnowflake(database);
	string joined = "FROM orders JOIN customer ON o_customer = c_id JOIN nation ON c_nation = n_id "
	                "JOIN region ON n_region = r_id ";
	auto sql = "SELECT c_id, c_name, n_name, r_name, sum(o_value) AS s " + joined + "GROUP BY ALL ORDER BY s LIMIT 5";
	auto found = Find(database, sql);
	REQUIRE(found.declined.empty());
	REQUIRE(found.retained == vector<idx_t> {0, 4});
	REQUIRE(found.chain == vector<string> {"customer (c_id)", "nation (n_id)", "region (r_id)"});
	REQUIRE(Find(database, sql, 2).declined == "chain_too_long");

	// grouped by the other side of the equality
	found =
	    Find(database, "SELECT o_customer, c_name, sum(o_value) AS s " + joined + "GROUP BY ALL ORDER BY s LIMIT 5");
	REQUIRE(found.retained == vector<idx_t> {0, 2});
	REQUIRE(found.chain == vector<string> {"customer (c_id)"});
}

TEST_CASE("A table that an outer join supplies with NULL is found by its key, or by what ON compares", "[deferral]") {
	OpenDatabase database;
	CreateSnowflake(database);
	string rest = " GROUP BY ALL ORDER BY s LIMIT 5";
	string joined = " FROM orders LEFT JOIN customer ON o_customer = c_id LEFT JOIN nation ON c_nation = n_id";
	auto found = Find(database, "SELECT c_id, c_name, n_name, sum(o_value) AS s" + joined + rest);
	REQUIRE(found.retained == vector<idx_t> {0, 3});
	REQUIRE(found.chain == vector<string> {"customer (c_id)", "nation (n_id)"});
	found = Find(database, "SELECT o_customer, c_name, n_name, sum(o_value) AS s" + joined + rest);
	REQUIRE(found.retained == vector<idx_t> {0, 3});
	REQUIRE(found.chain == vector<string> {"customer (c_id)", "nation (n_id)"});

	// the key finds the row whatever else ON asks for; the other side's column does not
	joined = " FROM orders LEFT JOIN customer ON o_customer = c_id AND o_value > 7";
	REQUIRE(Find(database, "SELECT c_id, c_name, o_customer, sum(o_value) AS s" + joined + rest).retained ==
	        vector<idx_t> {0, 2, 3});
	REQUIRE(Find(database, "SELECT o_customer, c_name, sum(o_value) AS s" + joined + rest).declined ==
	        "outer_joined_column");
	joined = " FROM orders FULL JOIN customer ON o_customer = c_id";
	REQUIRE(Find(database, "SELECT o_customer, c_name, sum(o_value) AS s" + joined + rest).declined ==
	        "outer_joined_column");
}

TEST_CASE("A composite key needs all of its columns, by value or by constant", "[deferral]") {
	OpenDatabase database;
	CreateSnowflake(database);
	string joined = "FROM orders JOIN shift ON o_site = h_site AND o_day = h_day ";
	string rest = "GROUP BY ALL ORDER BY s LIMIT 5";
	REQUIRE(Find(database, "SELECT h_site, h_day, h_lead, sum(o_value) AS s " + joined + rest).retained ==
	        vector<idx_t> {0, 1, 3});
	REQUIRE(Find(database, "SELECT h_site, h_lead, sum(o_value) AS s " + joined + rest).declined ==
	        "no_determined_column");
	REQUIRE(Find(database, "SELECT h_site, h_lead, sum(o_value) AS s " + joined + "WHERE h_day = 3 " + rest).retained ==
	        vector<idx_t> {0, 2});
}

TEST_CASE("A key that cannot serve says why", "[deferral]") {
	OpenDatabase database;
	CreateSnowflake(database);
	string rest = ", sum(o_value) AS s FROM orders JOIN customer ON o_customer = c_id GROUP BY ALL ORDER BY s LIMIT 5";
	REQUIRE(Find(database, "SELECT c_code, c_name" + rest).declined == "nullable_key");
	REQUIRE(Find(database, "SELECT o_customer, c_name, sum(o_value) AS s FROM orders LEFT JOIN customer "
	                       "ON o_customer = c_id AND o_value > 7 GROUP BY ALL ORDER BY s LIMIT 5")
	            .declined == "outer_joined_column");
	REQUIRE(Find(database, "SELECT c_id, c_name, sum(o_value) AS s FROM orders JOIN customer ON o_customer = c_id "
	                       "GROUP BY ALL ORDER BY c_name, s LIMIT 5")
	            .declined == "order_needs_column");
	database.Run("CREATE TABLE measured (m_at DOUBLE PRIMARY KEY, m_note VARCHAR)");
	REQUIRE(
	    Find(database, "SELECT m_at, m_note, count(*) AS s FROM measured GROUP BY ALL ORDER BY s LIMIT 5").declined ==
	    "inexact_key");
}
