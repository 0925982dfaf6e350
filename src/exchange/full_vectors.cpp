#include "exchange/full_vectors.hpp"

namespace merganser {

FullVectors::FullVectors(ClientContext &context, const vector<LogicalType> &types) : selection(STANDARD_VECTOR_SIZE) {
	block.Initialize(context, types);
	collected.Initialize(context, types);
}

bool FullVectors::Next(const std::function<bool(DataChunk &block)> &read) {
	collected.Reset();
	is_block = false;
	while (collected.size() < STANDARD_VECTOR_SIZE) {
		if (taken == block.size()) {
			if (!read(block)) {
				block.Reset();
				taken = 0;
				break;
			}
			taken = 0;
			if (block.size() == STANDARD_VECTOR_SIZE && collected.size() == 0) {
				taken = block.size();
				is_block = true;
				return true;
			}
		}
		Collect();
	}
	return collected.size() > 0;
}

void FullVectors::Collect() {
	auto count = MinValue<idx_t>(STANDARD_VECTOR_SIZE - collected.size(), block.size() - taken);
	for (idx_t i = 0; i < count; i++) {
		selection.set_index(i, taken + i);
	}
	collected.Append(block, selection, count);
	taken += count;
}

} // namespace merganser
