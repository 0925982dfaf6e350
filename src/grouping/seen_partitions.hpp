//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/seen_partitions.hpp
//
// The partitions that have been met, each as two independent hashes of 64 bits and the region it lies in: a hash table
// in one piece, 24 bytes per place, at most half of the places taken.
//   seen.Add({first_hash, second_hash, region})  ->  null, or the same partition as it was met before
// Limit: two different partitions that agree in both hashes would be taken for one.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class SeenPartitions {
public:
	struct Partition {
		uint64_t first_hash;
		uint64_t second_hash;
		//! Counted from 1; 0 marks a free place.
		idx_t region;
	};

	SeenPartitions();

	//! Null where the partition is new.
	optional_ptr<const Partition> Add(const Partition &partition);
	idx_t Count() const {
		return count;
	}

private:
	Partition &PlaceOf(const Partition &partition);
	void Grow();

	unsafe_vector<Partition> places;
	idx_t count = 0;
};

} // namespace merganser
