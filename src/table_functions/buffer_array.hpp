//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/buffer_array.hpp
//
// A growing array that counts towards memory_limit, for what a processor has to hold of a partition.
//   BufferArray<double> values(context);   values.Add(1.5);   values[0];   values.RemoveFront(1);
// Doubles when full, so it takes at most three times its content while it grows. Removing at the front costs nothing
// until the room is needed.
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
		if (front + count == capacity) {
			MakeRoom(1);
		}
		Data()[count++] = element;
	}
	void Append(const T *elements, idx_t added) {
		if (added == 0) {
			return;
		}
		if (front + count + added > capacity) {
			MakeRoom(added);
		}
		memcpy(Data() + count, elements, added * sizeof(T));
		count += added;
	}
	void Clear() {
		front = count = 0;
	}
	//! The elements behind the first `removed` move down by as many places.
	void RemoveFront(idx_t removed) {
		front += removed;
		count -= removed;
	}
	idx_t Size() const {
		return count;
	}
	//! Cuts the array, or fills it up.
	void Resize(idx_t size, const T &filler) {
		while (count < size) {
			Add(filler);
		}
		count = size;
	}
	const T &operator[](idx_t index) const {
		return Data()[index];
	}
	T &operator[](idx_t index) {
		return Data()[index];
	}
	T *Data() const {
		return reinterpret_cast<T *>(memory.get()) + front;
	}

private:
	void MakeRoom(idx_t added) {
		if (front > count && count + added <= capacity) {
			memmove(memory.get(), Data(), count * sizeof(T));
			front = 0;
			return;
		}
		auto larger = MaxValue<idx_t>(2 * count, MaxValue<idx_t>(count + added, 64));
		auto larger_memory = allocator.Allocate(larger * sizeof(T));
		if (count > 0) {
			memcpy(larger_memory.get(), Data(), count * sizeof(T));
		}
		memory = std::move(larger_memory);
		capacity = larger;
		front = 0;
	}

	Allocator &allocator;
	mutable AllocatedData memory;
	//! Elements removed at the front that still have their room.
	idx_t front = 0;
	idx_t count = 0;
	idx_t capacity = 0;
};

} // namespace merganser
