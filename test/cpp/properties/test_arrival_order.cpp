#include "catch.hpp"

#include "properties/arrival_order.hpp"

namespace merganser {

using namespace duckdb;

TEST_CASE("Rows of two pieces have the weaker order", "[arrival_order]") {
	auto none = ArrivalOrder::LostBy("GROUP BY");
	ArrivalOrder produced {RowOrder::Kind::AS_PRODUCED, ""};
	ArrivalOrder fixed {RowOrder::Kind::SORTED, ""};
	REQUIRE(ArrivalOrder::Weaker(produced, fixed).kind == RowOrder::Kind::AS_PRODUCED);
	REQUIRE(ArrivalOrder::Weaker(fixed, produced).kind == RowOrder::Kind::AS_PRODUCED);
	REQUIRE(ArrivalOrder::Weaker(fixed, none).lost_by == "GROUP BY");
	REQUIRE(ArrivalOrder::Weaker(none, produced).kind == RowOrder::Kind::NONE);
}

TEST_CASE("Only what is sorted is kept whatever the setting is", "[arrival_order]") {
	for (auto preserve_insertion_order : {false, true}) {
		REQUIRE_FALSE(ArrivalOrder::LostBy("GROUP BY").IsKept(preserve_insertion_order));
		REQUIRE(ArrivalOrder {RowOrder::Kind::SORTED, ""}.IsKept(preserve_insertion_order));
		REQUIRE(ArrivalOrder {RowOrder::Kind::AS_PRODUCED, ""}.IsKept(preserve_insertion_order) ==
		        preserve_insertion_order);
	}
}

} // namespace merganser
