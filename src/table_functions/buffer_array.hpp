//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/buffer_array.hpp
//
// A growing array that counts towards memory_limit, for what a processor has to hold of a partition.
//   BufferArray<double> values(context);   values.Add(1.5);   values[0];
// Doubles when full, so it takes at most three times its content while it grows.
// Errors: DuckDB's OutOfMemoryException.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb/common/allocator.hpp"
#include "duckdb/storage/buffer_manager.hpp"

#include "settings.hpp"

namespace merganser {

template <class T>
class BufferArray {
	static_assert(std::is_trivially_copyable<T>::value, "elements are moved with memcpy");

public:
	explicit BufferArray(ClientContext &context) : allocator(BufferAllocator::Get(context)) {
	}

	void Add(const T &element) {
		if (count == capacity) {
			Grow();
		}
		Data()[count++] = element;
	}
	void Clear() {
		count = 0;
	}
	idx_t Size() const {
		return count;
	}
	const T &operator[](idx_t index) const {
		return Data()[index];
	}

private:
	T *Data() const {
		return reinterpret_cast<T *>(memory.get());
	}

	void Grow() {
		auto larger = MaxValue<idx_t>(2 * capacity, 64);
		auto larger_memory = allocator.Allocate(larger * sizeof(T));
		if (count > 0) {
			memcpy(larger_memory.get(), memory.get(), count * sizeof(T));
		}
		memory = std::move(larger_memory);
		capacity = larger;
	}

	Allocator &allocator;
	mutable AllocatedData memory;
	idx_t count = 0;
	idx_t capacity = 0;
};

} // namespace merganser
