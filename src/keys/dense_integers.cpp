#include "keys/dense_integers.hpp"

#include "keys/column_statistics.hpp"
#include "keys/key_values.hpp"

#include "duckdb/storage/statistics/numeric_stats.hpp"

namespace merganser {

namespace {

//! 256 MB of bits.
const idx_t MOST_VALUES = idx_t(1) << 31;
//! 8 kB of bits are worth it for any number of rows.
const idx_t FEW_VALUES = idx_t(1) << 16;
//! 64 bits for each row: less than a hash table takes.
const idx_t VALUES_FOR_ROW = 64;

//! The least value, and how many follow it up to the greatest.
template <class T>
pair<int64_t, idx_t> RangeOf(const BaseStatistics &statistics) {
	auto least = NumericStats::GetMin<T>(statistics);
	auto greatest = NumericStats::GetMax<T>(statistics);
	return {static_cast<int64_t>(least), static_cast<idx_t>(greatest) - static_cast<idx_t>(least)};
}

pair<int64_t, idx_t> RangeOf(const BaseStatistics &statistics) {
	switch (statistics.GetType().InternalType()) {
	case PhysicalType::INT8:
		return RangeOf<int8_t>(statistics);
	case PhysicalType::INT16:
		return RangeOf<int16_t>(statistics);
	case PhysicalType::INT32:
		return RangeOf<int32_t>(statistics);
	case PhysicalType::INT64:
		return RangeOf<int64_t>(statistics);
	case PhysicalType::UINT8:
		return RangeOf<uint8_t>(statistics);
	case PhysicalType::UINT16:
		return RangeOf<uint16_t>(statistics);
	case PhysicalType::UINT32:
		return RangeOf<uint32_t>(statistics);
	case PhysicalType::UINT64:
		return RangeOf<uint64_t>(statistics);
	default:
		throw InternalException("Range of values that are no integers");
	}
}

} // namespace

optional<DenseIntegers> DenseIntegers::Of(optional_ptr<const BaseStatistics> statistics, idx_t rows) {
	if (!statistics || !KeyValues::KeptAsBits(statistics->GetType()) ||
	    statistics->GetStatsType() != StatisticsType::NUMERIC_STATS || !NumericStats::HasMinMax(*statistics)) {
		return {};
	}
	auto range = RangeOf(*statistics);
	if (range.second >= MOST_VALUES || (range.second >= FEW_VALUES && range.second / VALUES_FOR_ROW >= rows)) {
		return {};
	}
	DenseIntegers result;
	result.least = range.first;
	result.range = range.second + 1;
	return result;
}

optional<DenseIntegers> DenseIntegers::In(ClientContext &context, const LogicalGet &get, const ColumnIndex &column) {
	if (!get.function.cardinality) {
		return {};
	}
	auto statistics = ColumnStatistics::Of(context, get, column);
	auto rows = get.function.cardinality(context, get.bind_data.get());
	return rows ? Of(statistics.get(), rows->estimated_cardinality) : optional<DenseIntegers>();
}

} // namespace merganser
