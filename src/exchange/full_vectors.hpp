//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/full_vectors.hpp
//
// Problem: the last block of each exchange file is short. What reads several files one behind the other gets short
// chunks between full ones, and what DuckDB does chunk by chunk comes out otherwise than over one table of these rows:
//   COPY (FROM range(10000)) TO 'f.parquet' (ROW_GROUP_SIZE 2048)      row groups of other sizes
//   SELECT * FROM a JOIN b ON a.x < b.x OR a.y < b.y                    rows of a join in another order
//
// Hands on the rows of blocks, in their order, in full vectors; only the last one may be short. Full blocks are handed
// on as they are while nothing short came before them; all others are copied once.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/common/types/data_chunk.hpp"

namespace merganser {

class FullVectors {
public:
	FullVectors(ClientContext &context, const vector<LogicalType> &types);

	//! `read` puts the next block into the chunk, or returns false after the last. Returns whether there are more rows;
	//! they are valid until the next call.
	bool Next(const std::function<bool(DataChunk &block)> &read);
	DataChunk &Rows() {
		return is_block ? block : collected;
	}

private:
	DataChunk block;
	//! Rows of the block that were handed on.
	idx_t taken = 0;
	DataChunk collected;
	//! Whether the rows are the whole block.
	bool is_block = false;
	SelectionVector selection;

	void Collect();
};

} // namespace merganser
