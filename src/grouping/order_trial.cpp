#include "grouping/order_trial.hpp"

namespace merganser {

OrderTrial::OrderTrial(ClientContext &context, const vector<idx_t> &partition, const vector<OrderItem> &ordering,
                       const vector<LogicalType> &types)
    : partition(partition), is_ordered(!ordering.empty()), boundaries(context, partition, types), seen(context),
      order(context, ordering, types) {
}

bool OrderTrial::Follows(DataChunk &input) {
	boundaries.Find(input);
	auto &starts = boundaries.Starts();
	if (!starts.empty()) {
		hashes.Compute(input, partition, starts);
	}
	for (idx_t i = 0; i < starts.size(); i++) {
		if (seen.Add(hashes.Partition(i, 1))) {
			return false;
		}
	}
	if (is_ordered && order.FindViolation(input, starts).IsValid()) {
		return false;
	}
	boundaries.Remember(input);
	if (is_ordered) {
		order.Remember(input);
	}
	return true;
}

} // namespace merganser
