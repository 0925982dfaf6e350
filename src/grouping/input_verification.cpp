#include "grouping/input_verification.hpp"

#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/function/create_sort_key.hpp"

#include <string_view>

namespace merganser {

InputVerification::InputVerification(ClientContext &context, const InputPromise &promise,
                                     optional_ptr<const PhysicalRegionScan> scan,
                                     shared_ptr<const RegionPosition> position, InputVerificationState &shared)
    : promise(promise), scan(scan), position(std::move(position)), shared(shared),
      order(context, promise.ordering, promise.input_types), plain(promise.ordering.size()), hashes(LogicalType::HASH),
      second_hashes(STANDARD_VECTOR_SIZE) {
}

//! Rows that lie in no region count as one.
idx_t InputVerification::Region() const {
	return position ? position->region.GetIndex() : 0;
}

void InputVerification::Observe(DataChunk &input, const PartitionBoundaries &boundaries) {
	auto &starts = boundaries.Starts();
	if (promise.one_stream) {
		CheckOneStream();
	}
	if (promise.whole_partitions) {
		auto continues = starts.empty() || starts[0] != 0;
		if (continues && region.IsValid() && region != Region()) {
			ThrowMetAgain(input, 0, region.GetIndex());
		}
		region = Region();
		CheckWholeness(input, starts);
	}
	if (!promise.ordering.empty()) {
		CheckOrder(input, starts);
	}
}

void InputVerification::CheckOneStream() {
	if (!counted && shared.streams++ > 0) {
		throw InvalidInputException("%s: the rows of its one partition come in several streams. %s. %s",
		                            promise.function, promise.source, promise.remedy);
	}
	counted = true;
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

void InputVerification::HashStarts(DataChunk &input, const vector<idx_t> &starts) {
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

void InputVerification::CheckWholeness(DataChunk &input, const vector<idx_t> &starts) {
	if (starts.empty()) {
		return;
	}
	HashStarts(input, starts);
	auto first = FlatVector::GetData<hash_t>(hashes);
	lock_guard<mutex> guard(shared.lock);
	for (idx_t i = 0; i < starts.size(); i++) {
		auto before = shared.partitions.Add({first[i], second_hashes[i], Region() + 1});
		if (before) {
			ThrowMetAgain(input, starts[i], before->region - 1);
		}
	}
}

void InputVerification::CheckOrder(DataChunk &input, const vector<idx_t> &starts) {
	for (idx_t i = 0; i < plain.size(); i++) {
		plain[i].TryWriteOut(input.data[promise.ordering[i].column]);
	}
	auto row = order.FindViolation(input, promise.sorts_partitions ? vector<idx_t>() : starts);
	if (row.IsValid()) {
		throw InvalidInputException(
		    "%s: in partition (%s), %s. Its order is %s. %s", WhereOutOfOrder(), Partition(input, row.GetIndex()),
		    order.Describe(input, row.GetIndex(), promise.column_names), promise.source, promise.remedy);
	}
	order.Remember(input);
}

string InputVerification::WhereOutOfOrder() const {
	if (scan) {
		return "Region " + scan->RegionName(Region()) + " is out of order";
	}
	return promise.function + ": rows arrive out of order";
}

string InputVerification::Partition(DataChunk &input, idx_t row) const {
	vector<string> result;
	for (auto column : promise.partition_columns) {
		result.push_back(promise.column_names[column] + " = " + input.GetValue(column, row).ToString());
	}
	return StringUtil::Join(result, ", ");
}

void InputVerification::ThrowMetAgain(DataChunk &input, idx_t row, idx_t before) const {
	auto partition = "artition (" + Partition(input, row) + ")";
	string problem;
	if (!scan) {
		problem = promise.function + ": p" + partition + " comes again after others";
	} else if (before == Region()) {
		problem =
		    "Region " + scan->RegionName(Region()) + " is not sorted: p" + partition + " comes again after others";
	} else {
		problem = "P" + partition + " lies in two regions, " + scan->RegionName(before) + " and " +
		          scan->RegionName(Region());
	}
	auto assumed = scan ? "That every region holds whole partitions, sorted, is " : "That partitions come whole is ";
	throw InvalidInputException("%s. %s%s. %s", problem, assumed, promise.source, promise.remedy);
}

} // namespace merganser
