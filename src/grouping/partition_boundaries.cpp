#include "grouping/partition_boundaries.hpp"

#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

PartitionBoundaries::PartitionBoundaries(ClientContext &context, vector<idx_t> columns_p,
                                         const vector<LogicalType> &input_types)
    : context(context), columns(std::move(columns_p)) {
	for (auto column : columns) {
		key_types.push_back(input_types[column]);
	}
	differs.resize(STANDARD_VECTOR_SIZE);
}

bool PartitionBoundaries::EqualityIsIdentity(const LogicalType &type) {
	switch (type.InternalType()) {
	case PhysicalType::FLOAT:
	case PhysicalType::DOUBLE:
	case PhysicalType::INTERVAL:
	case PhysicalType::LIST:
	case PhysicalType::STRUCT:
	case PhysicalType::ARRAY:
		return false;
	default:
		return type.id() != LogicalTypeId::TIME_TZ;
	}
}

template <class T>
static void CompareFlat(const T *values, idx_t count, uint8_t *differs) {
	for (idx_t row = 1; row < count; row++) {
		differs[row] |= static_cast<uint8_t>(!Equals::Operation<T>(values[row], values[row - 1]));
	}
}

//! Calls `found` with every position whose flag is set; runs of eight that are not are skipped at once.
template <class FOUND>
static void ForEachSet(const uint8_t *flags, idx_t count, FOUND found) {
	for (idx_t begin = 0; begin < count; begin += sizeof(uint64_t)) {
		auto end = MinValue<idx_t>(begin + sizeof(uint64_t), count);
		uint64_t eight = 1;
		if (end - begin == sizeof(uint64_t)) {
			memcpy(&eight, flags + begin, sizeof(uint64_t));
		}
		for (auto position = begin; eight != 0 && position < end; position++) {
			if (flags[position]) {
				found(position);
			}
		}
	}
}

//! Where the code stays the same, so does the value; only where it changes are values compared.
template <class T>
static void CompareUnified(const UnifiedVectorFormat &format, idx_t count, uint8_t *differs) {
	auto values = UnifiedVectorFormat::GetData<T>(format);
	uint8_t changes[STANDARD_VECTOR_SIZE];
	changes[0] = 0;
	if (format.sel->IsSet()) {
		auto codes = format.sel->data();
		for (idx_t row = 1; row < count; row++) {
			changes[row] = static_cast<uint8_t>(codes[row] != codes[row - 1]);
		}
	} else {
		memset(changes + 1, 1, count - 1);
	}
	ForEachSet(changes, count, [&](idx_t row) {
		auto current = format.sel->get_index(row);
		auto previous = format.sel->get_index(row - 1);
		auto valid = format.validity.RowIsValid(current);
		auto previous_valid = format.validity.RowIsValid(previous);
		auto same =
		    valid && previous_valid ? Equals::Operation<T>(values[current], values[previous]) : valid == previous_valid;
		differs[row] |= static_cast<uint8_t>(!same);
	});
}

template <class T>
static void CompareTyped(const Vector &column, uint8_t *differs) {
	auto count = column.size();
	UnifiedVectorFormat format;
	column.ToUnifiedFormat(format);
	if (format.validity.CannotHaveNull() && !format.sel->IsSet()) {
		CompareFlat<T>(UnifiedVectorFormat::GetData<T>(format), count, differs);
	} else {
		CompareUnified<T>(format, count, differs);
	}
}

static void CompareNested(const Vector &column, uint8_t *differs) {
	auto count = column.size();
	Vector left(column, 0, count - 1);
	Vector right(column, 1, count);
	Vector result(LogicalType::BOOLEAN, count);
	VectorOperations::DistinctFrom(left, right, result);
	UnifiedVectorFormat format;
	result.ToUnifiedFormat(format);
	auto distinct = UnifiedVectorFormat::GetData<bool>(format);
	for (idx_t row = 1; row < count; row++) {
		differs[row] |= static_cast<uint8_t>(distinct[format.sel->get_index(row - 1)]);
	}
}

void PartitionBoundaries::Compare(const Vector &column) {
	if (column.GetVectorType() == VectorType::CONSTANT_VECTOR || column.size() < 2) {
		return;
	}
	auto target = differs.data();
	switch (column.GetType().InternalType()) {
	case PhysicalType::BOOL:
	case PhysicalType::INT8:
		return CompareTyped<int8_t>(column, target);
	case PhysicalType::INT16:
		return CompareTyped<int16_t>(column, target);
	case PhysicalType::INT32:
		return CompareTyped<int32_t>(column, target);
	case PhysicalType::INT64:
		return CompareTyped<int64_t>(column, target);
	case PhysicalType::UINT8:
		return CompareTyped<uint8_t>(column, target);
	case PhysicalType::UINT16:
		return CompareTyped<uint16_t>(column, target);
	case PhysicalType::UINT32:
		return CompareTyped<uint32_t>(column, target);
	case PhysicalType::UINT64:
		return CompareTyped<uint64_t>(column, target);
	case PhysicalType::INT128:
		return CompareTyped<hugeint_t>(column, target);
	case PhysicalType::UINT128:
		return CompareTyped<uhugeint_t>(column, target);
	case PhysicalType::FLOAT:
		return CompareTyped<float>(column, target);
	case PhysicalType::DOUBLE:
		return CompareTyped<double>(column, target);
	case PhysicalType::INTERVAL:
		return CompareTyped<interval_t>(column, target);
	case PhysicalType::VARCHAR:
		return CompareTyped<string_t>(column, target);
	default:
		return CompareNested(column, target);
	}
}

bool PartitionBoundaries::ContinuesKey(DataChunk &input) const {
	if (!key) {
		return false;
	}
	for (idx_t i = 0; i < columns.size(); i++) {
		Vector first(input.data[columns[i]], 0, 1);
		Vector distinct(LogicalType::BOOLEAN, 1);
		VectorOperations::DistinctFrom(first, key->data[i], distinct);
		distinct.Flatten();
		if (FlatVector::GetData<bool>(distinct)[0]) {
			return false;
		}
	}
	return true;
}

void PartitionBoundaries::Find(DataChunk &input) {
	auto count = input.size();
	starts.clear();
	memset(differs.data(), 0, count);
	for (auto column : columns) {
		Compare(input.data[column]);
	}
	differs[0] = static_cast<uint8_t>(!ContinuesKey(input));
	ForEachSet(differs.data(), count, [&](idx_t row) { starts.push_back(row); });
}

void PartitionBoundaries::Remember(DataChunk &input, idx_t position) {
	key = make_shared_ptr<DataChunk>();
	key->Initialize(BufferAllocator::Get(context), key_types, 1);
	SelectionVector sel(1);
	sel.set_index(0, position);
	for (idx_t i = 0; i < columns.size(); i++) {
		key->data[i].Append(input.data[columns[i]], sel, 1);
	}
	key->CheckCardinality(columns.empty() ? 0 : 1);
}

} // namespace merganser
