#include "grouping/region_verification.hpp"

#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/function/create_sort_key.hpp"

#include <string_view>

namespace merganser {

RegionVerification::RegionVerification(ClientContext &context, const RegionPromise &promise,
                                       const PhysicalRegionScan &scan, shared_ptr<const RegionPosition> position,
                                       RegionVerificationState &shared)
    : promise(promise), scan(scan), position(std::move(position)), shared(shared),
      order(context, promise.ordering, promise.input_types), plain(promise.ordering.size()), hashes(LogicalType::HASH),
      second_hashes(STANDARD_VECTOR_SIZE) {
}

void RegionVerification::Observe(DataChunk &input, const PartitionBoundaries &boundaries) {
	auto &starts = boundaries.Starts();
	auto continues = starts.empty() || starts[0] != 0;
	if (continues && region.IsValid() && region != position->region) {
		ThrowMetAgain(input, 0, region.GetIndex());
	}
	region = position->region;
	CheckWholeness(input, starts);
	if (!promise.ordering.empty()) {
		CheckOrder(input, starts);
	}
}

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

void RegionVerification::HashStarts(DataChunk &input, const vector<idx_t> &starts) {
	SelectionVector sel(starts.size());
	for (idx_t i = 0; i < starts.size(); i++) {
		sel.set_index(i, starts[i]);
		second_hashes[i] = 0;
	}
	for (idx_t i = 0; i < promise.partition_columns.size(); i++) {
		Vector values(input.data[promise.partition_columns[i]], sel, starts.size());
		if (i == 0) {
			VectorOperations::Hash(values, hashes, starts.size());
		} else {
			VectorOperations::CombineHash(hashes, values, starts.size());
		}
		CombineBytes(values, starts.size(), second_hashes);
	}
	hashes.Flatten();
}

void RegionVerification::CheckWholeness(DataChunk &input, const vector<idx_t> &starts) {
	if (starts.empty()) {
		return;
	}
	HashStarts(input, starts);
	auto first = FlatVector::GetData<hash_t>(hashes);
	lock_guard<mutex> guard(shared.lock);
	for (idx_t i = 0; i < starts.size(); i++) {
		auto before = shared.partitions.Add({first[i], second_hashes[i], region.GetIndex() + 1});
		if (before) {
			ThrowMetAgain(input, starts[i], before->region - 1);
		}
	}
}

void RegionVerification::CheckOrder(DataChunk &input, const vector<idx_t> &starts) {
	for (idx_t i = 0; i < plain.size(); i++) {
		plain[i].TryWriteOut(input.data[promise.ordering[i].column]);
	}
	auto row = order.FindViolation(input, starts);
	if (row.IsValid()) {
		throw InvalidInputException("Region %s is out of order: in partition (%s), %s. Its order is %s. %s",
		                            scan.RegionName(region.GetIndex()), Partition(input, row.GetIndex()),
		                            order.Describe(input, row.GetIndex(), promise.column_names), promise.source,
		                            promise.remedy);
	}
	order.Remember(input);
}

string RegionVerification::Partition(DataChunk &input, idx_t row) const {
	vector<string> result;
	for (auto column : promise.partition_columns) {
		result.push_back(promise.column_names[column] + " = " + input.GetValue(column, row).ToString());
	}
	return StringUtil::Join(result, ", ");
}

void RegionVerification::ThrowMetAgain(DataChunk &input, idx_t row, idx_t before) const {
	auto here = scan.RegionName(position->region.GetIndex());
	auto problem =
	    before == position->region.GetIndex()
	        ? "Region " + here + " is not sorted: partition (" + Partition(input, row) + ") comes again after others"
	        : "Partition (" + Partition(input, row) + ") lies in two regions, " + scan.RegionName(before) + " and " +
	              here;
	throw InvalidInputException("%s. That every region holds whole partitions, sorted, is %s. %s", problem,
	                            promise.source, promise.remedy);
}

} // namespace merganser
