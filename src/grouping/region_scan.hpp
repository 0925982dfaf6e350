//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/region_scan.hpp
//
// The region-local grouping's source: a scan whose threads each take a whole region (storage_regions.hpp) and
// read it from its first row to its last before they take the next. So filter, projection and every fused table
// function above run in one pipeline per thread, and a partition that lies in one region passes through one thread, in
// order. Wraps the table scan that DuckDB planned, with its columns and pushed-down filters. Rows come out in the order
// of the regions for sinks that preserve order.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/storage_regions.hpp"

#include "duckdb/execution/operator/scan/physical_table_scan.hpp"

namespace merganser {

//! Where a thread is reading.
struct RegionPosition {
	optional_idx region;
};

class PhysicalRegionScan : public PhysicalOperator {
public:
	PhysicalRegionScan(PhysicalPlan &plan, PhysicalTableScan &scan, shared_ptr<const StorageRegions> regions);

	//! Puts a region scan in the place of the table scan at the end of `chain`, whose operators are made to hold
	//! nothing back: rows above belong to the region that is being read. Null if there is no table scan.
	static optional_ptr<PhysicalRegionScan> TryReplaceScan(PhysicalPlanGenerator &planner,
	                                                       reference<PhysicalOperator> &chain,
	                                                       shared_ptr<const StorageRegions> regions);

	string GetName() const override {
		return "REGION_SCAN";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	//! Names the region for messages: the path of the file or directory.
	string RegionName(idx_t region) const;
	//! The position of the thread this context belongs to. DuckDB makes a thread's source state before its operators'
	//! states, and those in the order of the pipeline.
	shared_ptr<const RegionPosition> Position(ExecutionContext &context) const;
	//! For an operator that holds rows back: the position that operators above it are to see.
	void SetPosition(ExecutionContext &context, shared_ptr<const RegionPosition> position) const;

	bool IsSource() const override {
		return true;
	}
	bool ParallelSource() const override {
		return true;
	}
	bool SupportsPartitioning(const OperatorPartitionInfo &partition_info) const override {
		return !partition_info.RequiresPartitionColumns();
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;
	unique_ptr<LocalSourceState> GetLocalSourceState(ExecutionContext &context,
	                                                 GlobalSourceState &state) const override;
	OperatorPartitionData GetPartitionData(ExecutionContext &context, DataChunk &chunk, GlobalSourceState &gstate,
	                                       LocalSourceState &lstate,
	                                       const OperatorPartitionInfo &partition_info) const override;
	ProgressData GetProgress(ClientContext &context, GlobalSourceState &state) const override;

	PhysicalTableScan &scan;
	const shared_ptr<const StorageRegions> regions;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;

private:
	mutable mutex positions_lock;
	mutable unordered_map<const ThreadContext *, shared_ptr<const RegionPosition>> positions;
};

} // namespace merganser
