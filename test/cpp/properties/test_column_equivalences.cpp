#include "catch.hpp"

#include "properties/column_equivalences.hpp"

namespace merganser {

using namespace duckdb;

namespace {

ColumnBinding Column(idx_t table, idx_t column) {
	return ColumnBinding(TableIndex(table), ProjectionIndex(column));
}

} // namespace

TEST_CASE("Equal columns are equivalent through chains and across classes", "[column_equivalences]") {
	ColumnEquivalences equivalences;
	auto a = Column(1, 0), b = Column(2, 0), c = Column(3, 0), d = Column(4, 0), e = Column(4, 1);
	equivalences.AddEqual(a, b);
	equivalences.AddEqual(c, d);
	REQUIRE(equivalences.AreEqual(a, b));
	REQUIRE_FALSE(equivalences.AreEqual(a, d));

	equivalences.AddEqual(b, c);
	equivalences.AddEqual(d, a);
	REQUIRE(equivalences.AreEqual(a, d));
	REQUIRE(equivalences.AreEqual(d, b));
	REQUIRE(equivalences.EqualTo(c).size() == 4);
	REQUIRE(equivalences.EqualTo(c)[0] == c);

	REQUIRE(equivalences.AreEqual(e, e));
	REQUIRE_FALSE(equivalences.AreEqual(d, e));
	REQUIRE(equivalences.EqualTo(e).size() == 1);
}

TEST_CASE("A constant holds for the whole class, whichever came first", "[column_equivalences]") {
	ColumnEquivalences equivalences;
	auto a = Column(1, 0), b = Column(2, 0), c = Column(3, 0), d = Column(4, 0);
	equivalences.AddConstant(a, Value::INTEGER(5));
	REQUIRE(equivalences.ConstantOf(b) == nullptr);
	equivalences.AddEqual(b, a);
	equivalences.AddEqual(c, b);
	REQUIRE(equivalences.ConstantOf(c)->GetValue<int32_t>() == 5);

	equivalences.AddEqual(c, d);
	equivalences.AddConstant(d, Value::INTEGER(6));
	REQUIRE(equivalences.ConstantOf(a)->GetValue<int32_t>() == 5);
	REQUIRE(equivalences.ConstantOf(Column(1, 1)) == nullptr);
}

TEST_CASE("Equality is identity for exact types only", "[column_equivalences]") {
	for (auto &type :
	     vector<LogicalType> {LogicalType::BOOLEAN, LogicalType::INTEGER, LogicalType::UHUGEINT, LogicalType::DATE,
	                          LogicalType::TIMESTAMP, LogicalType::TIMESTAMP_TZ, LogicalType::UUID, LogicalType::BLOB,
	                          LogicalType::VARCHAR, LogicalType::DECIMAL(9, 2)}) {
		INFO(type.ToString());
		REQUIRE(ColumnEquivalences::HasIdentityEquality(type));
	}
	for (auto &type : vector<LogicalType> {
	         LogicalType::FLOAT, LogicalType::DOUBLE, LogicalType::INTERVAL, LogicalType::TIME_TZ, LogicalType::BIT,
	         LogicalType::JSON(), LogicalType::VARCHAR_COLLATION("nocase"), LogicalType::LIST(LogicalType::INTEGER),
	         LogicalType::STRUCT({{"a", LogicalType::INTEGER}}), LogicalType::ARRAY(LogicalType::INTEGER, 2)}) {
		INFO(type.ToString());
		REQUIRE_FALSE(ColumnEquivalences::HasIdentityEquality(type));
	}
}

} // namespace merganser
