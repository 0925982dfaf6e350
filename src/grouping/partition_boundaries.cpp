#include "grouping/partition_boundaries.hpp"

#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"

namespace merganser {

PartitionBoundaries::PartitionBoundaries(ClientContext &context, vector<idx_t> columns_p,
                                         const vector<LogicalType> &input_types)
    : context(context), columns(std::move(columns_p)) {
	for (auto column : columns) {
		key_types.push_back(input_types[column]);
	}
	differs.resize(STANDARD_VECTOR_SIZE);
	uniform.resize(columns.size());
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

template <class T>
static bool SameValue(const UnifiedVectorFormat &left, idx_t left_index, const UnifiedVectorFormat &right,
                      idx_t right_index) {
	auto left_valid = left.validity.RowIsValid(left_index);
	if (left_valid != right.validity.RowIsValid(right_index)) {
		return false;
	}
	return !left_valid || Equals::Operation<T>(UnifiedVectorFormat::GetData<T>(left)[left_index],
	                                           UnifiedVectorFormat::GetData<T>(right)[right_index]);
}

//! Where the code stays the same, so does the value; only where it changes are values compared. Blocks of rows whose
//! codes are all the same are passed over at once.
template <class T>
static void CompareCodes(const UnifiedVectorFormat &format, idx_t count, uint8_t *differs) {
	const idx_t block = 64;
	auto codes = format.sel->data();
	for (idx_t begin = 1; begin < count; begin += block) {
		auto end = MinValue(begin + block, count);
		if (memcmp(codes + begin, codes + begin - 1, (end - begin) * sizeof(sel_t)) == 0) {
			continue;
		}
		for (auto row = begin; row < end; row++) {
			if (codes[row] != codes[row - 1]) {
				differs[row] |= static_cast<uint8_t>(!SameValue<T>(format, codes[row], format, codes[row - 1]));
			}
		}
	}
}

struct CompareColumn {
	template <class T>
	static void Run(const Vector &column, uint8_t *differs) {
		auto count = column.size();
		UnifiedVectorFormat format;
		column.ToUnifiedFormat(format);
		if (format.sel->IsSet()) {
			CompareCodes<T>(format, count, differs);
		} else if (format.validity.CheckAllValid(count)) {
			CompareFlat<T>(UnifiedVectorFormat::GetData<T>(format), count, differs);
		} else {
			for (idx_t row = 1; row < count; row++) {
				differs[row] |= static_cast<uint8_t>(!SameValue<T>(format, row, format, row - 1));
			}
		}
	}
	static void RunNested(const Vector &column, uint8_t *differs) {
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
};

//! Whether a column's first value is that of a key's column.
struct CompareWithKey {
	template <class T>
	static void Run(const Vector &column, const Vector &key, bool &same) {
		UnifiedVectorFormat format, key_format;
		column.ToUnifiedFormat(format);
		key.ToUnifiedFormat(key_format);
		same = SameValue<T>(format, format.sel->get_index(0), key_format, key_format.sel->get_index(0));
	}
	static void RunNested(const Vector &column, const Vector &key, bool &same) {
		Vector first(column, 0, 1);
		Vector distinct(LogicalType::BOOLEAN, 1);
		VectorOperations::DistinctFrom(first, key, distinct);
		distinct.Flatten();
		same = !FlatVector::GetData<bool>(distinct)[0];
	}
};

template <class OP, class... ARGS>
static void ForPhysicalType(const Vector &column, ARGS &&...args) {
	switch (column.GetType().InternalType()) {
	case PhysicalType::BOOL:
	case PhysicalType::INT8:
		return OP::template Run<int8_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::INT16:
		return OP::template Run<int16_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::INT32:
		return OP::template Run<int32_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::INT64:
		return OP::template Run<int64_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::UINT8:
		return OP::template Run<uint8_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::UINT16:
		return OP::template Run<uint16_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::UINT32:
		return OP::template Run<uint32_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::UINT64:
		return OP::template Run<uint64_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::INT128:
		return OP::template Run<hugeint_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::UINT128:
		return OP::template Run<uhugeint_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::FLOAT:
		return OP::template Run<float>(column, std::forward<ARGS>(args)...);
	case PhysicalType::DOUBLE:
		return OP::template Run<double>(column, std::forward<ARGS>(args)...);
	case PhysicalType::INTERVAL:
		return OP::template Run<interval_t>(column, std::forward<ARGS>(args)...);
	case PhysicalType::VARCHAR:
		return OP::template Run<string_t>(column, std::forward<ARGS>(args)...);
	default:
		return OP::RunNested(column, std::forward<ARGS>(args)...);
	}
}

bool PartitionBoundaries::ContinuesKey(DataChunk &input) const {
	auto same = key != nullptr;
	for (idx_t i = 0; same && i < columns.size(); i++) {
		ForPhysicalType<CompareWithKey>(input.data[columns[i]], key->data[i], same);
	}
	return same;
}

void PartitionBoundaries::FindChanges(const Vector &column, idx_t count, idx_t position) {
	uniform[position] = true;
	if (column.GetVectorType() == VectorType::CONSTANT_VECTOR || count == 1) {
		return;
	}
	column_differs.assign(count, 0);
	ForPhysicalType<CompareColumn>(column, column_differs.data());
	ForEachSet(column_differs.data(), count, [&](idx_t row) {
		uniform[position] = false;
		differs[row] = 1;
	});
}

void PartitionBoundaries::Find(DataChunk &input) {
	auto count = input.size();
	starts.clear();
	memset(differs.data(), 0, count);
	for (idx_t i = 0; i < columns.size(); i++) {
		FindChanges(input.data[columns[i]], count, i);
	}
	differs[0] = static_cast<uint8_t>(!ContinuesKey(input));
	ForEachSet(differs.data(), count, [&](idx_t row) { starts.push_back(row); });
}

void PartitionBoundaries::Remember(DataChunk &input) {
	key = make_shared_ptr<DataChunk>();
	key->Initialize(Allocator::Get(context), key_types, 1);
	SelectionVector sel(1);
	sel.set_index(0, input.size() - 1);
	for (idx_t i = 0; i < columns.size(); i++) {
		key->data[i].Append(input.data[columns[i]], sel, 1);
		key->data[i].FlattenAndSetConstant();
	}
	key->CheckCardinality(columns.empty() ? 0 : 1);
}

} // namespace merganser
