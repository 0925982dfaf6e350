#include "catch.hpp"

#include "stages/stage.hpp"

namespace merganser {

using namespace duckdb;

namespace {

ColumnBinding Column(idx_t column) {
	return ColumnBinding(TableIndex(1), ProjectionIndex(column));
}

} // namespace

TEST_CASE("One task keeps all rows together", "[partitioning]") {
	Partitioning one_task;
	REQUIRE(one_task.IsOneTask());
	REQUIRE(one_task.KeepsTogether({}));
	REQUIRE(one_task.KeepsTogether({Column(0)}));
}

TEST_CASE("Split rows are together by nothing", "[partitioning]") {
	Partitioning split {Distribution::SPLIT, {}};
	REQUIRE_FALSE(split.IsOneTask());
	REQUIRE_FALSE(split.KeepsTogether({}));
	REQUIRE_FALSE(split.KeepsTogether({Column(0)}));
}

TEST_CASE("Rows together by some columns are together by more of them, not by fewer", "[partitioning]") {
	for (auto distribution : {Distribution::HASHED, Distribution::TOGETHER}) {
		Partitioning partitioning {distribution, {Column(0), Column(1)}};
		REQUIRE_FALSE(partitioning.IsOneTask());
		REQUIRE(partitioning.KeepsTogether({Column(1), Column(0)}));
		REQUIRE(partitioning.KeepsTogether({Column(2), Column(1), Column(0)}));
		REQUIRE_FALSE(partitioning.KeepsTogether({Column(0)}));
		REQUIRE_FALSE(partitioning.KeepsTogether({Column(0), Column(2)}));
	}
}

} // namespace merganser
