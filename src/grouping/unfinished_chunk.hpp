//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/unfinished_chunk.hpp
//
// The input chunk of an operator whose output is not all fetched yet. DuckDB calls Execute again with the same chunk,
// and, once a LIMIT above has seen enough, with another. Its buffers are referred to meanwhile, so that another chunk
// cannot be taken for it.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/types/data_chunk.hpp"

namespace merganser {

class UnfinishedChunk {
public:
	void Hold(const DataChunk &chunk);
	void Release();
	bool IsHeld() const {
		return is_held;
	}
	//! Whether this is the chunk that is held.
	bool Is(const DataChunk &chunk) const;

private:
	vector<buffer_ptr<VectorBuffer>> buffers;
	idx_t rows = 0;
	bool is_held = false;
};

} // namespace merganser
