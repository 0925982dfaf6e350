//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/partition_hashes.hpp
//
// The two independent hashes by which partitions are told apart in SeenPartitions: DuckDB's, and one of the values'
// bytes. Values that are NOT DISTINCT hash alike: floating-point numbers, intervals and nested values by the bytes of
// their sort keys.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/seen_partitions.hpp"

#include "duckdb/common/types/data_chunk.hpp"

namespace merganser {

class PartitionHashes {
public:
	PartitionHashes();

	//! Of these columns in these rows of the chunk.
	void Compute(DataChunk &input, const vector<idx_t> &columns, const vector<idx_t> &rows);
	//! The i-th of those rows, as met in a region, counted from 1.
	SeenPartitions::Partition Partition(idx_t i, idx_t region) const;

private:
	Vector hashes;
	unsafe_vector<uint64_t> second_hashes;
};

} // namespace merganser
