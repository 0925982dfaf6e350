#include "catch.hpp"

#include "properties/partitioning.hpp"

namespace merganser {

namespace {

OrderItem Ascending(idx_t column) {
	return OrderItem {column, OrderType::ASCENDING, OrderByNullType::NULLS_LAST};
}

OrderItem Descending(idx_t column) {
	return OrderItem {column, OrderType::DESCENDING, OrderByNullType::NULLS_LAST};
}

} // namespace

TEST_CASE("Clustering is satisfied by the same set only", "[partitioning]") {
	ClusteringSet clustered({0, 1, 2});
	REQUIRE(clustered.Satisfies(ClusteringSet({2, 0, 1})));
	REQUIRE(clustered.Satisfies(ClusteringSet({1, 1, 2, 0})));
	// rows that agree on (0, 1) are in several clusters, and these need not follow each other
	REQUIRE_FALSE(clustered.Satisfies(ClusteringSet({0, 1})));
	// a cluster of (0, 1, 2) is no cluster of more columns
	REQUIRE_FALSE(clustered.Satisfies(ClusteringSet({0, 1, 2, 3})));
	REQUIRE_FALSE(clustered.Satisfies(ClusteringSet(vector<idx_t>())));
	REQUIRE_FALSE(ClusteringSet(vector<idx_t>()).Satisfies(clustered));
	REQUIRE(ClusteringSet(vector<idx_t>()).Satisfies(ClusteringSet(vector<idx_t>())));
}

TEST_CASE("An ordering satisfies its prefixes", "[partitioning]") {
	OrderingList sorted({Ascending(0), Descending(1), Ascending(2)});
	REQUIRE(sorted.Satisfies(OrderingList(), {}));
	REQUIRE(sorted.Satisfies(OrderingList({Ascending(0), Descending(1)}), {}));
	REQUIRE(sorted.Satisfies(sorted, {}));
	REQUIRE_FALSE(sorted.Satisfies(OrderingList({Descending(1)}), {}));
	REQUIRE_FALSE(sorted.Satisfies(OrderingList({Ascending(0), Ascending(2)}), {}));
	REQUIRE_FALSE(sorted.Satisfies(OrderingList({Ascending(0), Descending(1), Ascending(2), Ascending(3)}), {}));
	REQUIRE_FALSE(OrderingList().Satisfies(OrderingList({Ascending(0)}), {}));
}

TEST_CASE("An ordering has directions and places for NULL", "[partitioning]") {
	OrderItem nulls_first {0, OrderType::ASCENDING, OrderByNullType::NULLS_FIRST};
	REQUIRE_FALSE(OrderingList({Ascending(0)}).Satisfies(OrderingList({Descending(0)}), {}));
	REQUIRE_FALSE(OrderingList({Ascending(0)}).Satisfies(OrderingList({nulls_first}), {}));
	REQUIRE(OrderingList({nulls_first}).Satisfies(OrderingList({nulls_first}), {}));
}

TEST_CASE("Columns that are constant in a cluster do not count in an ordering", "[partitioning]") {
	OrderingList sorted({Ascending(0), Ascending(1), Ascending(2)});
	REQUIRE(sorted.Satisfies(OrderingList({Ascending(2)}), {0, 1}));
	REQUIRE(sorted.Satisfies(OrderingList({Ascending(2), Descending(0)}), {0, 1}));
	REQUIRE(OrderingList({Ascending(2)}).Satisfies(OrderingList({Ascending(0), Ascending(2)}), {0}));
	// only one of the two columns before it is constant
	REQUIRE_FALSE(sorted.Satisfies(OrderingList({Ascending(2)}), {0}));
	// constant elsewhere does not help
	REQUIRE_FALSE(sorted.Satisfies(OrderingList({Ascending(1)}), {2}));
}

TEST_CASE("Regions that are local by some columns are local by more, never by fewer", "[partitioning]") {
	RegionLocalSet local({0, 1});
	REQUIRE(local.Satisfies(ClusteringSet({1, 0})));
	REQUIRE(local.Satisfies(ClusteringSet({2, 1, 0})));
	REQUIRE_FALSE(local.Satisfies(ClusteringSet({0})));
	REQUIRE_FALSE(local.Satisfies(ClusteringSet({0, 2})));
	REQUIRE_FALSE(local.Satisfies(ClusteringSet(vector<idx_t>())));
	// all rows in one region
	REQUIRE(RegionLocalSet(vector<idx_t>()).Satisfies(ClusteringSet({3})));
}

TEST_CASE("Being local does not make rows follow each other", "[partitioning]") {
	// regions hold whole groups of (0), so whole groups of (0, 1) too
	RegionLocalSet local({0});
	ClusteringSet partition({0, 1});
	REQUIRE(local.Satisfies(partition));
	// but sorted by (0, 2) the rows of one (0, 1) are apart, and sorted by (2, 0, 1) they are as well
	REQUIRE_FALSE(LeadingColumnsAre(OrderingList({Ascending(0), Ascending(2)}), partition));
	REQUIRE_FALSE(LeadingColumnsAre(OrderingList({Ascending(2), Ascending(0), Ascending(1)}), partition));
	REQUIRE(LeadingColumnsAre(OrderingList({Ascending(1), Descending(0), Ascending(2)}), partition));
}

TEST_CASE("A sort order clusters by the set of its leading columns", "[partitioning]") {
	OrderingList sorted({Ascending(2), Ascending(0), Ascending(1)});
	REQUIRE(LeadingColumnsAre(sorted, ClusteringSet({0, 2})));
	REQUIRE(LeadingColumnsAre(sorted, ClusteringSet({2})));
	REQUIRE(LeadingColumnsAre(sorted, ClusteringSet({0, 1, 2})));
	REQUIRE_FALSE(LeadingColumnsAre(sorted, ClusteringSet({0})));
	REQUIRE_FALSE(LeadingColumnsAre(sorted, ClusteringSet({0, 1})));
	REQUIRE_FALSE(LeadingColumnsAre(sorted, ClusteringSet({0, 1, 2, 3})));
	REQUIRE(LeadingColumnsAre(OrderingList(), ClusteringSet(vector<idx_t>())));
	// a column named twice takes one place
	REQUIRE(LeadingColumnsAre(OrderingList({Ascending(2), Ascending(2), Ascending(0)}), ClusteringSet({0, 2})));
}

TEST_CASE("Properties print as in plans", "[partitioning]") {
	vector<string> names {"plant", "device", "time"};
	REQUIRE(ClusteringSet({1, 0}).ToString(names) == "{plant, device}");
	REQUIRE(RegionLocalSet({1}).ToString(names) == "{device}");
	OrderItem nulls_first {0, OrderType::ASCENDING, OrderByNullType::NULLS_FIRST};
	REQUIRE(OrderingList({Descending(2), nulls_first}).ToString(names) == "[time DESC, plant NULLS FIRST]");
	REQUIRE(OrderingList().ToString(names) == "[]");
}

} // namespace merganser
