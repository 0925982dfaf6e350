#include "grouping/unfinished_chunk.hpp"

namespace merganser {

void UnfinishedChunk::Hold(const DataChunk &chunk) {
	is_held = true;
	rows = chunk.size();
	buffers.clear();
	for (auto &column : chunk.data) {
		buffers.push_back(column.GetBufferRef());
	}
}

void UnfinishedChunk::Release() {
	is_held = false;
	buffers.clear();
}

bool UnfinishedChunk::Is(const DataChunk &chunk) const {
	return is_held && rows == chunk.size() &&
	       std::equal(buffers.begin(), buffers.end(), chunk.data.begin(), chunk.data.end(),
	                  [](const buffer_ptr<VectorBuffer> &buffer, const Vector &column) {
		                  return buffer == column.GetBufferRef();
	                  });
}

} // namespace merganser
