#include "catch.hpp"

#include "properties/arrival_order.hpp"

namespace merganser {

using namespace duckdb;

TEST_CASE("Rows of two pieces have the weaker order", "[arrival_order]") {
	auto none = ArrivalOrder::LostBy("GROUP BY");
	ArrivalOrder produced {ArrivalOrderKind::AS_PRODUCED, ""};
	ArrivalOrder fixed {ArrivalOrderKind::FIXED, ""};
	REQUIRE(ArrivalOrder::Weaker(produced, fixed).kind == ArrivalOrderKind::AS_PRODUCED);
	REQUIRE(ArrivalOrder::Weaker(fixed, produced).kind == ArrivalOrderKind::AS_PRODUCED);
	REQUIRE(ArrivalOrder::Weaker(fixed, none).lost_by == "GROUP BY");
	REQUIRE(ArrivalOrder::Weaker(none, produced).kind == ArrivalOrderKind::NONE);
}

TEST_CASE("Only what is sorted is kept whatever the setting is", "[arrival_order]") {
	for (auto preserve_insertion_order : {false, true}) {
		REQUIRE_FALSE(ArrivalOrder::LostBy("GROUP BY").IsKept(preserve_insertion_order));
		REQUIRE(ArrivalOrder {ArrivalOrderKind::FIXED, ""}.IsKept(preserve_insertion_order));
		REQUIRE(ArrivalOrder {ArrivalOrderKind::AS_PRODUCED, ""}.IsKept(preserve_insertion_order) ==
		        preserve_insertion_order);
	}
}

} // namespace merganser
