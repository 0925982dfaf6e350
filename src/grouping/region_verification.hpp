//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/region_verification.hpp
//
// A layout is a promise; this checks it while the rows stream by, so that a broken one is an error and never a wrong
// row:
//   * inside a partition, rows come in the call's order;
//   * a partition, once left, does not come again, in its region or in another one.
// Costs one comparison per row and, per partition, at most 96 bytes and a look-up in a set shared by the threads.
// Partitions are told apart by two independent hashes of 64 bits. Limit: what a LIMIT leaves unread is not verified.
// Errors: InvalidInputException that names the region, the partition's values and the remedy.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/order_comparison.hpp"
#include "grouping/processor_stream.hpp"
#include "grouping/region_scan.hpp"
#include "grouping/seen_partitions.hpp"

namespace merganser {

//! What the threads of one query share.
class RegionVerificationState : public GlobalOperatorState {
public:
	mutex lock;
	SeenPartitions partitions;
};

struct RegionPromise {
	vector<string> column_names;
	vector<idx_t> partition_columns;
	vector<OrderItem> ordering;
	vector<LogicalType> input_types;
	//! From ScanLayout.
	string source;
	string remedy;
};

class RegionVerification : public PartitionObserver {
public:
	RegionVerification(ClientContext &context, const RegionPromise &promise, const PhysicalRegionScan &scan,
	                   shared_ptr<const RegionPosition> position, RegionVerificationState &shared);

	void Observe(DataChunk &input, const PartitionBoundaries &boundaries) override;

private:
	void CheckWholeness(DataChunk &input, const vector<idx_t> &starts);
	void CheckOrder(DataChunk &input, const vector<idx_t> &starts);
	void HashStarts(DataChunk &input, const vector<idx_t> &starts);
	string Partition(DataChunk &input, idx_t row) const;
	[[noreturn]] void ThrowMetAgain(DataChunk &input, idx_t row, idx_t before) const;

	const RegionPromise &promise;
	const PhysicalRegionScan &scan;
	const shared_ptr<const RegionPosition> position;
	RegionVerificationState &shared;
	OrderComparison order;
	vector<PlainColumn> plain;
	optional_idx region;
	Vector hashes;
	unsafe_vector<uint64_t> second_hashes;
};

} // namespace merganser
