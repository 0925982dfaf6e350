//===----------------------------------------------------------------------===//
//                         Merganser
//
// keys/key_values.hpp
//
// The values of a key's columns, looked at row by row: says at once when a value comes a second time or is NULL.
//
// One column of integers is kept as bits: pages of 65,536 of them, of which only those with a value exist. Where the
// values lie so far apart that the pages would be mostly empty, and for columns of other types and for several columns,
// they are kept in DuckDB's aggregate hash table, whose equality is that of GROUP BY.
// Sound for types in which equal values are identical (ColumnEquivalences::HasIdentityEquality): the bits compare what
// is stored. Limits: both are held in memory, and whoever adds rows has to know that there is room for them.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/aggregate_hashtable.hpp"

namespace merganser {

enum class KeyBreach : uint8_t { NONE, DUPLICATE, HAS_NULL };

//! A set of integers, kept as bits.
class IntegerBits {
public:
	static constexpr idx_t PAGE_VALUES = 65536;

	//! Whether the value was not there; `sparse` is set, and nothing done, where it lies too far from the others.
	bool Insert(int64_t value, bool &sparse);
	//! Whether the pages take much more memory than a hash table of the values would.
	bool IsSparse() const;
	//! Calls `add` with each value.
	void ForEach(const std::function<void(int64_t value)> &add) const;

private:
	using Page = unsafe_unique_array<uint64_t>;

	//! Null where the value lies too far from the others.
	optional_ptr<Page> PageOf(int64_t number);

	//! Number of the first page; a value's page is the value divided by PAGE_VALUES.
	int64_t first = 0;
	vector<Page> pages;
	idx_t existing_pages = 0;
	idx_t values = 0;
};

class KeyValues {
public:
	KeyValues(ClientContext &context, vector<LogicalType> types);

	//! What these rows break, among themselves and with those added before.
	KeyBreach Add(DataChunk &keys);
	//! Whether a column of this type is kept as bits while its values lie close enough.
	static bool KeptAsBits(const LogicalType &type);
	//! Of a column that is kept as bits, one integer for each value; nulls are not looked at.
	static void ReadIntegers(const Vector &column, idx_t count, int64_t *result);
	static bool HasNull(const Vector &column, idx_t count);

private:
	KeyBreach AddIntegers(const Vector &column, idx_t count);
	KeyBreach AddHashed(DataChunk &keys);
	//! From now on the integers are hashed.
	void MoveToHashTable();
	//! At most STANDARD_VECTOR_SIZE of them.
	KeyBreach HashIntegers(const int64_t *values, idx_t count);

	ClientContext &context;
	unique_ptr<IntegerBits> bits;
	unique_ptr<GroupedAggregateHashTable> hashed;
	//! Integers on their way to the hash table.
	DataChunk integers;
	DataChunk no_payload;
};

} // namespace merganser
