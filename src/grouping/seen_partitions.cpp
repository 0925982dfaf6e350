#include "grouping/seen_partitions.hpp"

#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

static const idx_t FIRST_PLACES = 1024;

SeenPartitions::SeenPartitions(ClientContext &context)
    : allocator(BufferAllocator::Get(context)), memory(FreePlaces(FIRST_PLACES)), places(FIRST_PLACES) {
}

AllocatedData SeenPartitions::FreePlaces(idx_t number) const {
	auto result = allocator.Allocate(number * sizeof(Partition));
	memset(result.get(), 0, number * sizeof(Partition));
	return result;
}

SeenPartitions::Partition &SeenPartitions::PlaceOf(const Partition &partition) {
	auto place = reinterpret_cast<Partition *>(memory.get());
	auto mask = places - 1;
	auto position = partition.first_hash & mask;
	while (place[position].region != 0 && (place[position].first_hash != partition.first_hash ||
	                                       place[position].second_hash != partition.second_hash)) {
		position = (position + 1) & mask;
	}
	return place[position];
}

void SeenPartitions::Grow() {
	auto old = FreePlaces(2 * places); // where there is no memory, nothing has changed
	std::swap(old, memory);
	places *= 2;
	for (idx_t i = 0; i < places / 2; i++) {
		auto &partition = reinterpret_cast<const Partition *>(old.get())[i];
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
	if (++count * 2 > places) {
		Grow();
	}
	return nullptr;
}

} // namespace merganser
