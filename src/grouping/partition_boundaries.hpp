//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/partition_boundaries.hpp
//
// Finds where partitions begin in rows that are clustered by the partition columns, by comparing each row with the row
// before it. Equality is DuckDB's NOT DISTINCT FROM: NULL equals NULL, NaN equals NaN, 0.0 equals -0.0. Works on the
// vectors as they are: a constant vector costs one comparison, a dictionary vector compares codes first.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class PartitionBoundaries {
public:
	PartitionBoundaries(ClientContext &context, vector<idx_t> columns, const vector<LogicalType> &input_types);

	//! Fills Starts() for this chunk. The first row starts a partition unless it continues the key remembered last.
	void Find(DataChunk &input);
	//! Positions in the chunk where a partition starts, ascending; position 0 only if the first row starts one.
	const vector<idx_t> &Starts() const {
		return starts;
	}
	//! Copies the key of the chunk's last row, which Find compares the next chunk with. The old key object stays
	//! untouched, so vectors that refer to it remain valid.
	void Remember(DataChunk &input, idx_t position);
	bool HasKey() const {
		return key != nullptr;
	}
	//! One row: the partition columns of the remembered key.
	DataChunk &Key() const {
		return *key;
	}
	const vector<idx_t> &Columns() const {
		return columns;
	}
	//! Whether values of this type that are equal are also indistinguishable (0.0 and -0.0 are not).
	static bool EqualityIsIdentity(const LogicalType &type);

private:
	void Compare(const Vector &column);
	bool ContinuesKey(DataChunk &input) const;

	ClientContext &context;
	vector<idx_t> columns;
	vector<LogicalType> key_types;
	vector<idx_t> starts;
	//! Per row: whether it differs from the row before it.
	unsafe_vector<uint8_t> differs;
	shared_ptr<DataChunk> key;
};

} // namespace merganser
