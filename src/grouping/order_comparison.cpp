#include "grouping/order_comparison.hpp"

#include "duckdb/common/operator/comparison_operators.hpp"
#include "duckdb/common/types/data_chunk.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/function/create_sort_key.hpp"

namespace merganser {

OrderComparison::OrderComparison(ClientContext &context, vector<OrderItem> items_p,
                                 const vector<LogicalType> &input_types)
    : context(context), items(std::move(items_p)) {
	for (auto &item : items) {
		types.push_back(input_types[item.column]);
	}
	comparison.resize(STANDARD_VECTOR_SIZE);
}

bool OrderComparison::ComparesValues(const LogicalType &type) {
	switch (type.InternalType()) {
	case PhysicalType::LIST:
	case PhysicalType::STRUCT:
	case PhysicalType::ARRAY:
	case PhysicalType::INTERVAL:
		return false;
	default:
		return type.id() != LogicalTypeId::TIME_TZ && type.id() != LogicalTypeId::BIT;
	}
}

//! -1: `current` comes after `previous`; 1: it should come before.
template <class T>
static int8_t CompareValues(const T &previous, const T &current, bool descending) {
	if (GreaterThan::Operation<T>(current, previous)) {
		return descending ? 1 : -1;
	}
	if (GreaterThan::Operation<T>(previous, current)) {
		return descending ? -1 : 1;
	}
	return 0;
}

template <class T>
static void CompareFlat(const T *values, idx_t count, bool descending, int8_t *comparison) {
	for (idx_t row = 1; row < count; row++) {
		auto result = CompareValues<T>(values[row - 1], values[row], descending);
		comparison[row] = comparison[row] ? comparison[row] : result;
	}
}

template <class T>
void OrderComparison::Compare(const Vector &column, idx_t item) {
	auto descending = items[item].direction == OrderType::DESCENDING;
	auto nulls_first = items[item].null_order == OrderByNullType::NULLS_FIRST;
	UnifiedVectorFormat format;
	column.ToUnifiedFormat(format);
	auto values = UnifiedVectorFormat::GetData<T>(format);
	auto count = column.size();
	UnifiedVectorFormat last_format;
	if (last) {
		last->data[item].ToUnifiedFormat(last_format);
	}
	auto compare = [&](const T *previous_values, const UnifiedVectorFormat &previous_format, idx_t previous,
	                   idx_t row) {
		auto current = format.sel->get_index(row);
		auto previous_valid = previous_format.validity.RowIsValid(previous);
		auto valid = format.validity.RowIsValid(current);
		int8_t result = 0;
		if (valid && previous_valid) {
			result = CompareValues<T>(previous_values[previous], values[current], descending);
		} else if (valid != previous_valid) {
			result = previous_valid == nulls_first ? 1 : -1;
		}
		comparison[row] = comparison[row] ? comparison[row] : result;
	};
	if (last) {
		compare(UnifiedVectorFormat::GetData<T>(last_format), last_format, last_format.sel->get_index(0), 0);
	}
	if (!format.sel->IsSet() && format.validity.CheckAllValid(count)) {
		CompareFlat<T>(values, count, descending, comparison.data());
		return;
	}
	for (idx_t row = 1; row < count; row++) {
		compare(values, format, format.sel->get_index(row - 1), row);
	}
}

//! Sort keys ascend, as bytes, where the rows are in the item's order.
void OrderComparison::CompareSortKeys(const Vector &column, idx_t item) {
	OrderModifiers modifiers(items[item].direction, items[item].null_order);
	auto count = column.size();
	Vector keys(LogicalType::BLOB, count);
	CreateSortKeyHelpers::CreateSortKey(column, count, modifiers, keys);
	keys.Flatten();
	auto values = FlatVector::GetData<string_t>(keys);
	for (idx_t row = 1; row < count; row++) {
		auto result = CompareValues<string_t>(values[row - 1], values[row], false);
		comparison[row] = comparison[row] ? comparison[row] : result;
	}
	if (last) {
		Vector before(LogicalType::BLOB, 1);
		CreateSortKeyHelpers::CreateSortKey(last->data[item], 1, modifiers, before);
		before.Flatten();
		auto result = CompareValues<string_t>(FlatVector::GetData<string_t>(before)[0], values[0], false);
		comparison[0] = comparison[0] ? comparison[0] : result;
	}
}

void OrderComparison::CompareItem(DataChunk &input, idx_t item) {
	auto &column = input.data[items[item].column];
	if (!ComparesValues(column.GetType())) {
		return CompareSortKeys(column, item);
	}
	switch (column.GetType().InternalType()) {
	case PhysicalType::BOOL:
		return Compare<bool>(column, item);
	case PhysicalType::INT8:
		return Compare<int8_t>(column, item);
	case PhysicalType::INT16:
		return Compare<int16_t>(column, item);
	case PhysicalType::INT32:
		return Compare<int32_t>(column, item);
	case PhysicalType::INT64:
		return Compare<int64_t>(column, item);
	case PhysicalType::UINT8:
		return Compare<uint8_t>(column, item);
	case PhysicalType::UINT16:
		return Compare<uint16_t>(column, item);
	case PhysicalType::UINT32:
		return Compare<uint32_t>(column, item);
	case PhysicalType::UINT64:
		return Compare<uint64_t>(column, item);
	case PhysicalType::INT128:
		return Compare<hugeint_t>(column, item);
	case PhysicalType::UINT128:
		return Compare<uhugeint_t>(column, item);
	case PhysicalType::FLOAT:
		return Compare<float>(column, item);
	case PhysicalType::DOUBLE:
		return Compare<double>(column, item);
	case PhysicalType::VARCHAR:
		return Compare<string_t>(column, item);
	default:
		throw InternalException("Cannot verify the order of a %s column", column.GetType().ToString());
	}
}

static bool Ascends(const int64_t *values, idx_t begin, idx_t end) {
	uint8_t descents = 0;
	for (auto row = begin + 1; row < end; row++) {
		descents |= static_cast<uint8_t>(values[row] < values[row - 1]);
	}
	return descents == 0;
}

//! The usual case, one ascending column of 64-bit values without NULLs, in a tight loop.
bool OrderComparison::AscendsPlainly(DataChunk &input, const vector<idx_t> &starts) const {
	if (items.size() != 1 || items[0].direction == OrderType::DESCENDING ||
	    types[0].InternalType() != PhysicalType::INT64) {
		return false;
	}
	UnifiedVectorFormat format;
	input.data[items[0].column].ToUnifiedFormat(format);
	if (format.sel->IsSet() || !format.validity.CheckAllValid(input.size())) {
		return false;
	}
	auto values = UnifiedVectorFormat::GetData<int64_t>(format);
	auto starts_anew = !starts.empty() && starts[0] == 0;
	if (!starts_anew && last) {
		auto &before = last->data[0];
		if (FlatVector::IsNull(before, 0) || FlatVector::GetData<int64_t>(before)[0] > values[0]) {
			return false;
		}
	}
	idx_t begin = 0;
	auto ascends = true;
	for (auto start : starts) {
		ascends = ascends && Ascends(values, begin, start);
		begin = start;
	}
	return ascends && Ascends(values, begin, input.size());
}

optional_idx OrderComparison::FindViolation(DataChunk &input, const vector<idx_t> &starts) {
	if (AscendsPlainly(input, starts)) {
		return optional_idx();
	}
	auto count = input.size();
	memset(comparison.data(), 0, count);
	for (idx_t item = 0; item < items.size(); item++) {
		CompareItem(input, item);
	}
	for (auto start : starts) {
		comparison[start] = 0;
	}
	int8_t worst = 0;
	for (idx_t row = 0; row < count; row++) {
		worst = MaxValue(worst, comparison[row]);
	}
	if (worst <= 0) {
		return optional_idx();
	}
	for (idx_t row = 0; row < count; row++) {
		if (comparison[row] > 0) {
			return row;
		}
	}
	return optional_idx();
}

Value OrderComparison::PredecessorValue(DataChunk &input, idx_t row, idx_t item) const {
	return row == 0 ? last->GetValue(item, 0) : input.GetValue(items[item].column, row - 1);
}

string OrderComparison::Describe(DataChunk &input, idx_t row, const vector<string> &names) const {
	vector<string> from, to;
	for (idx_t item = 0; item < items.size(); item++) {
		from.push_back(names[items[item].column] + " = " + PredecessorValue(input, row, item).ToString());
		to.push_back(names[items[item].column] + " = " + input.GetValue(items[item].column, row).ToString());
	}
	return "after " + StringUtil::Join(from, ", ") + " comes " + StringUtil::Join(to, ", ");
}

void OrderComparison::Remember(DataChunk &input) {
	if (!last) {
		last = make_uniq<DataChunk>();
		last->Initialize(Allocator::Get(context), types, 1);
	} else {
		last->Reset();
	}
	SelectionVector sel(1);
	sel.set_index(0, input.size() - 1);
	for (idx_t item = 0; item < items.size(); item++) {
		last->data[item].Append(input.data[items[item].column], sel, 1);
	}
}

} // namespace merganser
