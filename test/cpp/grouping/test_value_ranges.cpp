#include "catch.hpp"
#include "grouping/value_ranges.hpp"

using namespace merganser; // NOLINT

namespace {

RowGroupRange Group(idx_t source, idx_t rows, int least, int greatest, bool may_have_null = false) {
	return {source, rows, Value::INTEGER(least), Value::INTEGER(greatest), may_have_null};
}

RowGroupRange Nulls(idx_t source, idx_t rows) {
	return {source, rows, Value(), Value(), true};
}

string Bound(const Value &value) {
	return value.IsNull() ? "" : value.ToString();
}

//! "region:source from..below": "N" where NULL belongs to it, "!" where the source is read as it is.
string Text(const ValueRanges &ranges) {
	vector<string> result;
	for (auto &piece : ranges.Pieces()) {
		auto values = piece.has_values ? " " + Bound(piece.from) + ".." + Bound(piece.below) : string(" ");
		result.push_back(to_string(piece.region) + ":" + to_string(piece.source) + values +
		                 (piece.has_null ? "N" : "") + (piece.is_whole ? "!" : ""));
	}
	return StringUtil::Join(result, ", ");
}

} // namespace

TEST_CASE("Files whose ranges do not meet are regions as they are", "[value_ranges]") {
	ValueRanges ranges({Group(1, 100, 10, 19), Group(0, 100, 0, 9), Group(2, 100, 20, 29)}, 100);
	REQUIRE(Text(ranges) == "0:0 ..N!, 1:1 ..N!, 2:2 ..N!");
	REQUIRE(ranges.Rows() == vector<idx_t> {100, 100, 100});
}

TEST_CASE("A value at the border of two files is read from both into one region", "[value_ranges]") {
	ValueRanges ranges({Group(0, 100, 0, 4), Group(0, 100, 4, 9), Group(1, 100, 9, 14), Group(1, 100, 15, 19)}, 200);
	REQUIRE(Text(ranges) == "0:0 ..9, 1:0 9..N, 1:1 ..15, 2:1 15..N");
}

TEST_CASE("NULL of every file belongs to the last region", "[value_ranges]") {
	ValueRanges ranges({Group(0, 100, 0, 9, true), Group(1, 100, 10, 19), Group(2, 100, 20, 29, true), Nulls(3, 50)},
	                   100);
	REQUIRE(Text(ranges) == "0:0 .., 1:1 ..N!, 2:0 N, 2:2 ..N!, 2:3 ..N!");
}

TEST_CASE("Files that overlap are one region, as are single values", "[value_ranges]") {
	REQUIRE(ValueRanges({Group(0, 100, 0, 9), Group(1, 100, 0, 9), Group(2, 100, 1, 8)}, 100).Count() == 1);
	REQUIRE(ValueRanges({Group(0, 100, 5, 5), Group(1, 100, 5, 5)}, 50).Count() == 1);
	REQUIRE(ValueRanges({Nulls(0, 100)}, 50).Count() == 1);
}

TEST_CASE("Few rows that straddle are no hindrance", "[value_ranges]") {
	ValueRanges ranges({Group(0, 100, 0, 9), Group(0, 100, 10, 19), Group(0, 5, 0, 19)}, 100);
	REQUIRE(ranges.Count() == 2);
	REQUIRE(Text(ranges) == "0:0 ..10, 1:0 10..N");
}
