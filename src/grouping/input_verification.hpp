//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/input_verification.hpp
//
// A table function relies on how its rows arrive, whatever grouping brings them. Where they stream past anyway, this
// checks it, so that a promise that is not kept, or a mistake in a plan, is an error and never another row:
//
//   grouping       inside a partition, rows come   a partition, once left,          all rows of one partition
//                  in the call's order             does not come again              come in one stream
//   fused          checked                         checked                          checked, being the same
//   region_local   checked                         checked, in any region           checked, being the same
//   hashed         checked                         checked by PARTITIONED_SORT      by the hash
//   single         checked, partitions sorted among them                            checked
//
// The order costs one comparison per row. That partitions do not come again costs, per partition, at most 96 bytes and
// a look-up in a set that the threads share; they are told apart by two independent hashes of 64 bits. Limit: what a
// LIMIT leaves unread is not verified. Errors: InvalidInputException that names the call, the region, the partition's
// values and the remedy.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/order_comparison.hpp"
#include "grouping/partition_hashes.hpp"
#include "grouping/processor_stream.hpp"
#include "grouping/region_scan.hpp"

namespace merganser {

//! What the streams of one call share.
class InputVerificationState : public GlobalOperatorState {
public:
	explicit InputVerificationState(ClientContext &context) : partitions(context) {
	}

	mutex lock;
	SeenPartitions partitions;
	//! Streams in which rows have come.
	atomic<idx_t> streams {0};
};

struct InputPromise {
	string function;
	vector<string> column_names;
	vector<LogicalType> input_types;
	vector<idx_t> partition_columns;
	//! The order of the rows of a partition; of all rows where `sorts_partitions`.
	vector<OrderItem> ordering;
	bool sorts_partitions = false;
	//! A partition, once left, does not come again.
	bool whole_partitions = false;
	//! There is one stream.
	bool one_stream = false;
	//! What the promise rests on, and what to do where it is broken.
	string source;
	string remedy;
};

class InputVerification : public PartitionObserver {
public:
	//! `scan` and `position` tell the region that is being read, if there are regions.
	InputVerification(ClientContext &context, const InputPromise &promise, optional_ptr<const PhysicalRegionScan> scan,
	                  shared_ptr<const RegionPosition> position, InputVerificationState &shared);

	void Observe(DataChunk &input, const PartitionBoundaries &boundaries) override;

private:
	idx_t Region() const;
	void CheckOneStream();
	void CheckWholeness(DataChunk &input, const vector<idx_t> &starts);
	void CheckOrder(DataChunk &input, const vector<idx_t> &starts);
	string Partition(DataChunk &input, idx_t row) const;
	string WhereOutOfOrder() const;
	[[noreturn]] void ThrowMetAgain(DataChunk &input, idx_t row, idx_t before) const;

	const InputPromise &promise;
	const optional_ptr<const PhysicalRegionScan> scan;
	const shared_ptr<const RegionPosition> position;
	InputVerificationState &shared;
	OrderComparison order;
	vector<PlainColumn> plain;
	optional_idx region;
	bool counted = false;
	PartitionHashes hashes;
};

} // namespace merganser
