#include "grouping/seen_partitions.hpp"

namespace merganser {

static const idx_t FIRST_PLACES = 1024;

SeenPartitions::SeenPartitions() : places(FIRST_PLACES) {
}

SeenPartitions::Partition &SeenPartitions::PlaceOf(const Partition &partition) {
	auto mask = places.size() - 1;
	auto position = partition.first_hash & mask;
	while (places[position].region != 0 && (places[position].first_hash != partition.first_hash ||
	                                        places[position].second_hash != partition.second_hash)) {
		position = (position + 1) & mask;
	}
	return places[position];
}

void SeenPartitions::Grow() {
	unsafe_vector<Partition> old(places.size() * 2);
	old.swap(places);
	for (auto &partition : old) {
		if (partition.region != 0) {
			PlaceOf(partition) = partition;
		}
	}
}

optional_ptr<const SeenPartitions::Partition> SeenPartitions::Add(const Partition &partition) {
	auto &place = PlaceOf(partition);
	if (place.region != 0) {
		return place;
	}
	place = partition;
	if (++count * 2 > places.size()) {
		Grow();
	}
	return nullptr;
}

} // namespace merganser
