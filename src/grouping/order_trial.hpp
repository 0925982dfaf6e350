//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/order_trial.hpp
//
// Whether the rows of a region come as a call or window needs them: each partition together, its rows in order. Any
// order of the partitions will do. Costs a comparison of each row with the one before it, and a look-up for each
// partition.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/order_comparison.hpp"
#include "grouping/partition_boundaries.hpp"
#include "grouping/partition_hashes.hpp"

namespace merganser {

class OrderTrial {
public:
	OrderTrial(ClientContext &context, const vector<idx_t> &partition, const vector<OrderItem> &ordering,
	           const vector<LogicalType> &types);

	//! Whether these rows follow those that were tried before; where they do not, the trial is over.
	bool Follows(DataChunk &input);

private:
	const vector<idx_t> partition;
	const bool is_ordered;
	PartitionBoundaries boundaries;
	PartitionHashes hashes;
	SeenPartitions seen;
	OrderComparison order;
};

} // namespace merganser
