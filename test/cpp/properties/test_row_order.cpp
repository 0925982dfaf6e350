#include "catch.hpp"

#include "properties/row_order.hpp"

namespace merganser {

namespace {

using Scope = RowOrder::Scope;

OrderItem Ascending(idx_t column) {
	return OrderItem {column, OrderType::ASCENDING, OrderByNullType::NULLS_LAST};
}

OrderItem Descending(idx_t column) {
	return OrderItem {column, OrderType::DESCENDING, OrderByNullType::NULLS_LAST};
}

} // namespace

TEST_CASE("Every order satisfies that none is wanted, none satisfies only that", "[row_order]") {
	for (auto &order : {RowOrder(), RowOrder::AsProduced(Scope::EACH_TASK), RowOrder::AsProduced(Scope::ALL_ROWS),
	                    RowOrder::Sorted(OrderingList({Ascending(0)}), Scope::EACH_TASK)}) {
		REQUIRE(order.Satisfies(RowOrder()));
	}
	REQUIRE_FALSE(RowOrder().Satisfies(RowOrder::AsProduced(Scope::EACH_TASK)));
	REQUIRE_FALSE(RowOrder().Satisfies(RowOrder::Sorted(OrderingList(), Scope::EACH_TASK)));
}

TEST_CASE("An order of all rows is one of the rows of each task, not the other way round", "[row_order]") {
	auto all = RowOrder::AsProduced(Scope::ALL_ROWS);
	auto each = RowOrder::AsProduced(Scope::EACH_TASK);
	REQUIRE(all.Satisfies(each));
	REQUIRE(all.Satisfies(all));
	REQUIRE(each.Satisfies(each));
	REQUIRE_FALSE(each.Satisfies(all));
	REQUIRE(all.InEachTask().Satisfies(each));
	REQUIRE_FALSE(all.InEachTask().Satisfies(all));
}

TEST_CASE("What is sorted comes as produced, what comes as produced is not sorted", "[row_order]") {
	auto sorted = RowOrder::Sorted(OrderingList({Ascending(0), Descending(1)}), Scope::ALL_ROWS);
	REQUIRE(sorted.Satisfies(RowOrder::AsProduced(Scope::ALL_ROWS)));
	REQUIRE(sorted.Satisfies(RowOrder::Sorted(OrderingList({Ascending(0)}), Scope::EACH_TASK)));
	REQUIRE_FALSE(sorted.Satisfies(RowOrder::Sorted(OrderingList({Descending(1)}), Scope::EACH_TASK)));
	REQUIRE_FALSE(sorted.Satisfies(RowOrder::Sorted(OrderingList({Descending(0)}), Scope::EACH_TASK)));
	REQUIRE_FALSE(RowOrder::AsProduced(Scope::ALL_ROWS).Satisfies(sorted));
	REQUIRE_FALSE(sorted.WithoutColumns().Satisfies(sorted));
	REQUIRE(sorted.WithoutColumns().Satisfies(RowOrder::AsProduced(Scope::ALL_ROWS)));
	REQUIRE_FALSE(sorted.InEachTask().Satisfies(RowOrder::AsProduced(Scope::ALL_ROWS)));
	REQUIRE_FALSE(RowOrder().WithoutColumns().Satisfies(RowOrder::AsProduced(Scope::EACH_TASK)));
}

TEST_CASE("Orders are printed", "[row_order]") {
	vector<string> names {"a", "b"};
	REQUIRE(RowOrder().ToString(names) == "none");
	REQUIRE(RowOrder::AsProduced(Scope::ALL_ROWS).ToString(names) == "as produced");
	REQUIRE(RowOrder::AsProduced(Scope::EACH_TASK).ToString(names) == "as produced in each task");
	REQUIRE(RowOrder::Sorted(OrderingList({Ascending(1), Descending(0)}), Scope::ALL_ROWS).ToString(names) ==
	        "sorted by [b, a DESC]");
}

} // namespace merganser
