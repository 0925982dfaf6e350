//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/seen_partitions.hpp
//
// The partitions that have been met, each as two independent hashes of 64 bits and the region it lies in: a hash table
// in one piece, 24 bytes per place, at most half of the places taken. It is taken from DuckDB's buffer manager, so
// memory_limit counts it: 48 to 96 bytes a partition, up to 150 while it grows.
//   seen.Add({first_hash, second_hash, region})  ->  null, or the same partition as it was met before
// Errors: DuckDB's OutOfMemoryException.
// Limit: two different partitions that agree in both hashes would be taken for one.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/allocator.hpp"

namespace merganser {

class SeenPartitions {
public:
	struct Partition {
		uint64_t first_hash;
		uint64_t second_hash;
		//! Counted from 1; 0 marks a free place.
		idx_t region;
	};

	explicit SeenPartitions(ClientContext &context);

	//! Null where the partition is new.
	optional_ptr<const Partition> Add(const Partition &partition);
	idx_t Count() const {
		return count;
	}

private:
	Partition &PlaceOf(const Partition &partition);
	AllocatedData FreePlaces(idx_t number) const;
	void Grow();

	Allocator &allocator;
	AllocatedData memory;
	//! How many there are.
	idx_t places;
	idx_t count = 0;
};

} // namespace merganser
