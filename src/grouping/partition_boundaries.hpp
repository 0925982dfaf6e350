//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/partition_boundaries.hpp
//
// Finds where partitions begin in rows that are clustered by the partition columns, by comparing each row with the row
// before it. Equality is DuckDB's NOT DISTINCT FROM: NULL equals NULL, NaN equals NaN, 0.0 equals -0.0. Works on the
// vectors as they are: a constant vector costs one comparison, a dictionary vector compares codes, 64 rows at a time.
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
	//! Whether a column, counted among the partition columns, has the same value in all rows of this chunk.
	bool IsUniform(idx_t column) const {
		return uniform[column];
	}
	//! Copies the key of the chunk's last row, which Find compares the next chunk with. The old key object stays
	//! untouched, so vectors that refer to it remain valid.
	void Remember(DataChunk &input);
	//! The partition columns of the remembered key, as constant vectors of one row.
	DataChunk &Key() const {
		return *key;
	}
	//! Whether values of this type that are equal are also indistinguishable (0.0 and -0.0 are not).
	static bool EqualityIsIdentity(const LogicalType &type);

private:
	void FindChanges(const Vector &column, idx_t count, idx_t position);
	bool ContinuesKey(DataChunk &input) const;

	ClientContext &context;
	vector<idx_t> columns;
	vector<LogicalType> key_types;
	vector<idx_t> starts;
	//! Per row: whether it differs from the row before it.
	unsafe_vector<uint8_t> differs;
	unsafe_vector<uint8_t> column_differs;
	vector<bool> uniform;
	shared_ptr<DataChunk> key;
};

} // namespace merganser
