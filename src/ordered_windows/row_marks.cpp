#include "ordered_windows/row_marks.hpp"

namespace merganser {

RowMarks::RowMarks(Allocator &allocator) : allocator(allocator) {
}

void RowMarks::Reserve(idx_t count) {
	if (count <= capacity) {
		return;
	}
	auto larger = MaxValue<idx_t>(NextPowerOfTwo(count), STANDARD_VECTOR_SIZE);
	auto bytes = ValidityMask::EntryCount(larger) * sizeof(validity_t);
	auto grown = allocator.Allocate(bytes);
	memset(grown.get(), 0, bytes);
	if (capacity > 0) {
		memcpy(grown.get(), memory.get(), ValidityMask::EntryCount(capacity) * sizeof(validity_t));
	}
	memory = std::move(grown);
	capacity = larger;
	mask.Initialize(reinterpret_cast<validity_t *>(memory.get()), capacity);
}

ValidityMask RowMarks::Mask(idx_t count) {
	return ValidityMask(reinterpret_cast<validity_t *>(memory.get()), count);
}

} // namespace merganser
