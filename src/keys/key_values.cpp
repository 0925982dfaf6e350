#include "keys/key_values.hpp"

#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

const idx_t WORDS_OF_PAGE = IntegerBits::PAGE_VALUES / 64;
//! The longest list of pages: 8 MB of pointers.
const idx_t MOST_PAGES = idx_t(1) << 20;
//! Pages that take less memory than this, 2 MB, are never too sparse.
const idx_t FEW_PAGES = 256;
//! Values in a page from which on its 8 kB are less than what a hash table takes for them.
const idx_t VALUES_WORTH_A_PAGE = 256;

//! An unsigned value above the largest signed one becomes negative: still another one for each value.
template <class T>
void ReadIntegersOf(const UnifiedVectorFormat &format, idx_t count, int64_t *result) {
	auto data = UnifiedVectorFormat::GetData<T>(format);
	for (idx_t i = 0; i < count; i++) {
		result[i] = static_cast<int64_t>(data[format.sel->get_index(i)]);
	}
}

} // namespace

optional_ptr<IntegerBits::Page> IntegerBits::PageOf(int64_t number) {
	if (pages.empty()) {
		first = number;
	}
	auto distance = number < first ? idx_t(first) - idx_t(number) : idx_t(number) - idx_t(first);
	if (distance >= MOST_PAGES || (number < first && distance + pages.size() > MOST_PAGES)) {
		return nullptr;
	}
	if (number < first) {
		vector<Page> longer(distance);
		longer.insert(longer.end(), std::make_move_iterator(pages.begin()), std::make_move_iterator(pages.end()));
		pages = std::move(longer);
		first = number;
		distance = 0;
	}
	if (distance >= pages.size()) {
		pages.resize(distance + 1);
	}
	auto &page = pages[distance];
	if (!page) {
		page = make_unsafe_uniq_array<uint64_t>(WORDS_OF_PAGE);
		existing_pages++;
	}
	return page;
}

bool IntegerBits::Insert(int64_t value, bool &sparse) {
	auto position = idx_t(value) % PAGE_VALUES;
	// rounds down, for negative values too
	auto number = (value - int64_t(position)) / int64_t(PAGE_VALUES);
	auto page = PageOf(number);
	if (!page) {
		sparse = true;
		return false;
	}
	auto &word = (*page)[position / 64];
	auto bit = uint64_t(1) << (position % 64);
	auto is_new = (word & bit) == 0;
	word |= bit;
	values += is_new ? 1 : 0;
	return is_new;
}

bool IntegerBits::IsSparse() const {
	return existing_pages > FEW_PAGES && values < existing_pages * VALUES_WORTH_A_PAGE;
}

void IntegerBits::ForEach(const std::function<void(int64_t value)> &add) const {
	for (idx_t i = 0; i < pages.size(); i++) {
		for (idx_t position = 0; pages[i] && position < PAGE_VALUES; position++) {
			if (pages[i][position / 64] & (uint64_t(1) << (position % 64))) {
				add((first + int64_t(i)) * int64_t(PAGE_VALUES) + int64_t(position));
			}
		}
	}
}

KeyValues::KeyValues(ClientContext &context, vector<LogicalType> types) : context(context) {
	no_payload.InitializeEmpty(vector<LogicalType>());
	if (types.size() == 1 && KeptAsBits(types[0])) {
		bits = make_uniq<IntegerBits>();
	} else {
		hashed = make_uniq<GroupedAggregateHashTable>(context, BufferAllocator::Get(context), std::move(types));
	}
}

bool KeyValues::KeptAsBits(const LogicalType &type) {
	switch (type.InternalType()) {
	case PhysicalType::INT8:
	case PhysicalType::INT16:
	case PhysicalType::INT32:
	case PhysicalType::INT64:
	case PhysicalType::UINT8:
	case PhysicalType::UINT16:
	case PhysicalType::UINT32:
	case PhysicalType::UINT64:
		return true;
	default:
		return false;
	}
}

void KeyValues::ReadIntegers(const Vector &column, idx_t count, int64_t *result) {
	UnifiedVectorFormat format;
	column.ToUnifiedFormat(format);
	switch (column.GetType().InternalType()) {
	case PhysicalType::INT8:
		return ReadIntegersOf<int8_t>(format, count, result);
	case PhysicalType::INT16:
		return ReadIntegersOf<int16_t>(format, count, result);
	case PhysicalType::INT32:
		return ReadIntegersOf<int32_t>(format, count, result);
	case PhysicalType::INT64:
		return ReadIntegersOf<int64_t>(format, count, result);
	case PhysicalType::UINT8:
		return ReadIntegersOf<uint8_t>(format, count, result);
	case PhysicalType::UINT16:
		return ReadIntegersOf<uint16_t>(format, count, result);
	case PhysicalType::UINT32:
		return ReadIntegersOf<uint32_t>(format, count, result);
	case PhysicalType::UINT64:
		return ReadIntegersOf<uint64_t>(format, count, result);
	default:
		throw InternalException("Values of a key that are no integers");
	}
}

bool KeyValues::HasNull(const Vector &column, idx_t count) {
	UnifiedVectorFormat format;
	column.ToUnifiedFormat(format);
	for (idx_t i = 0; format.validity.CanHaveNull() && i < count; i++) {
		if (!format.validity.RowIsValid(format.sel->get_index(i))) {
			return true;
		}
	}
	return false;
}

KeyBreach KeyValues::Add(DataChunk &keys) {
	for (auto &column : keys.data) {
		if (HasNull(column, keys.size())) {
			return KeyBreach::HAS_NULL;
		}
	}
	return bits || integers.ColumnCount() > 0 ? AddIntegers(keys.data[0], keys.size()) : AddHashed(keys);
}

KeyBreach KeyValues::AddHashed(DataChunk &keys) {
	no_payload.SetCardinalityUnsafe(keys.size());
	auto new_values = hashed->AddChunk(keys, no_payload, unsafe_vector<idx_t>());
	return new_values < keys.size() ? KeyBreach::DUPLICATE : KeyBreach::NONE;
}

KeyBreach KeyValues::AddIntegers(const Vector &column, idx_t count) {
	int64_t values[STANDARD_VECTOR_SIZE];
	ReadIntegers(column, count, values);
	idx_t done = 0;
	for (; bits && done < count; done++) {
		bool sparse = false;
		if (bits->Insert(values[done], sparse)) {
			continue;
		}
		if (!sparse) {
			return KeyBreach::DUPLICATE;
		}
		break;
	}
	if (bits && done == count && !bits->IsSparse()) {
		return KeyBreach::NONE;
	}
	if (bits) {
		MoveToHashTable();
	}
	return HashIntegers(values + done, count - done);
}

void KeyValues::MoveToHashTable() {
	vector<LogicalType> types {LogicalType::BIGINT};
	integers.Initialize(context, types);
	hashed = make_uniq<GroupedAggregateHashTable>(context, BufferAllocator::Get(context), std::move(types));
	vector<int64_t> waiting;
	bits->ForEach([&](int64_t value) {
		waiting.push_back(value);
		if (waiting.size() == STANDARD_VECTOR_SIZE) {
			HashIntegers(waiting.data(), waiting.size());
			waiting.clear();
		}
	});
	HashIntegers(waiting.data(), waiting.size());
	bits.reset();
}

KeyBreach KeyValues::HashIntegers(const int64_t *values, idx_t count) {
	if (count == 0) {
		return KeyBreach::NONE;
	}
	integers.Reset();
	auto writer = FlatVector::Writer<int64_t>(integers.data[0], count);
	for (idx_t i = 0; i < count; i++) {
		writer.WriteValue(values[i]);
	}
	integers.SetChildCardinality(count);
	return AddHashed(integers);
}

} // namespace merganser
