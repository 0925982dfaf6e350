#include "catch.hpp"

#include "properties/repeatability.hpp"

namespace merganser {

using Level = Repeatability::Level;

TEST_CASE("What is repeatable in order is repeatable", "[repeatability]") {
	REQUIRE(Repeatability::InOrder().Satisfies(Level::ROWS_IN_ORDER));
	REQUIRE(Repeatability::InOrder().Satisfies(Level::ROWS));
	REQUIRE(Repeatability::InOrder().Satisfies(Level::NOTHING));
	REQUIRE_FALSE(Repeatability::InAnyOrder("threads").Satisfies(Level::ROWS_IN_ORDER));
	REQUIRE(Repeatability::InAnyOrder("threads").Satisfies(Level::ROWS));
	REQUIRE_FALSE(Repeatability::None("random()").Satisfies(Level::ROWS));
	REQUIRE(Repeatability::None("random()").Satisfies(Level::NOTHING));
}

TEST_CASE("Nothing is repeatable unless it is shown", "[repeatability]") {
	REQUIRE_FALSE(Repeatability().Satisfies(Level::ROWS));
	REQUIRE(Repeatability().ToString() == "not repeatable: nothing is known of it");
}

TEST_CASE("Rows made of both are as repeatable as the weaker, for its reason", "[repeatability]") {
	auto ordered = Repeatability::InOrder();
	auto rows = Repeatability::InAnyOrder("threads");
	auto none = Repeatability::None("random()");
	REQUIRE(ordered.And(rows).ToString() == "repeatable in any order: threads");
	REQUIRE(rows.And(ordered).ToString() == "repeatable in any order: threads");
	REQUIRE(rows.And(none).ToString() == "not repeatable: random()");
	REQUIRE(none.And(rows).ToString() == "not repeatable: random()");
	REQUIRE(none.And(Repeatability::None("uuid()")).Why() == "random()");
	REQUIRE(ordered.And(ordered).ToString() == "repeatable");
}

TEST_CASE("Losing the order takes nothing else, and gives nothing back", "[repeatability]") {
	REQUIRE(Repeatability::InOrder().WithoutOrder("a join").ToString() == "repeatable in any order: a join");
	REQUIRE(Repeatability::InAnyOrder("threads").WithoutOrder("a join").Why() == "threads");
	REQUIRE_FALSE(Repeatability::None("random()").WithoutOrder("a join").Satisfies(Level::ROWS));
}

} // namespace merganser
