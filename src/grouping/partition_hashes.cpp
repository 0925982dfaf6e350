#include "grouping/partition_hashes.hpp"

#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/function/create_sort_key.hpp"

#include <string_view>

namespace merganser {

//! Whether values of this type are equal where their bytes are, and only there.
static bool BytesAreValue(PhysicalType type) {
	auto equal_in_other_bytes =
	    type == PhysicalType::FLOAT || type == PhysicalType::DOUBLE || type == PhysicalType::INTERVAL;
	return type == PhysicalType::VARCHAR || (TypeIsConstantSize(type) && !equal_in_other_bytes);
}

//! A hash of the values' bytes, or of their sort keys' bytes, that has nothing in common with DuckDB's.
static void CombineBytes(const Vector &values, idx_t count, unsafe_vector<uint64_t> &result) {
	auto physical = values.GetType().InternalType();
	if (!BytesAreValue(physical)) {
		Vector keys(LogicalType::BLOB, count);
		OrderModifiers ascending(OrderType::ASCENDING, OrderByNullType::NULLS_LAST);
		CreateSortKeyHelpers::CreateSortKey(values, count, ascending, keys);
		CombineBytes(keys, count, result);
		return;
	}
	UnifiedVectorFormat format;
	values.ToUnifiedFormat(format);
	auto width = GetTypeIdSize(physical);
	for (idx_t i = 0; i < count; i++) {
		auto index = format.sel->get_index(i);
		std::string_view bytes;
		if (format.validity.RowIsValid(index) && physical == PhysicalType::VARCHAR) {
			auto &text = UnifiedVectorFormat::GetData<string_t>(format)[index];
			bytes = std::string_view(text.GetData(), text.GetSize());
		} else if (format.validity.RowIsValid(index)) {
			bytes = std::string_view(reinterpret_cast<const char *>(format.data) + index * width, width);
		}
		result[i] = result[i] * 0x9E3779B97F4A7C15ULL + std::hash<std::string_view>()(bytes);
	}
}

PartitionHashes::PartitionHashes() : hashes(LogicalType::HASH), second_hashes(STANDARD_VECTOR_SIZE) {
}

void PartitionHashes::Compute(DataChunk &input, const vector<idx_t> &columns, const vector<idx_t> &rows) {
	SelectionVector sel(rows.size());
	for (idx_t i = 0; i < rows.size(); i++) {
		sel.set_index(i, rows[i]);
		second_hashes[i] = 0;
	}
	for (idx_t i = 0; i < columns.size(); i++) {
		Vector values(input.data[columns[i]], sel, rows.size());
		if (i == 0) {
			VectorOperations::Hash(values, hashes, rows.size());
		} else {
			VectorOperations::CombineHash(hashes, values, rows.size());
		}
		CombineBytes(values, rows.size(), second_hashes);
	}
	hashes.Flatten();
}

SeenPartitions::Partition PartitionHashes::Partition(idx_t i, idx_t region) const {
	return {FlatVector::GetData<hash_t>(hashes)[i], second_hashes[i], region};
}

} // namespace merganser
