//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/region_sort.hpp
//
// The region-local grouping where regions hold whole partitions but are not sorted as the call needs it:
//   ALTER VIEW sensor SET PARTITIONED BY (device)         -- and no SET SORTED BY
//   SESSION(DATA => sensor PARTITION BY device ORDER BY time, ...)
//     SESSION <- REGION_SORT <- Projection <- REGION_SCAN     one pipeline per region
// Stands between the region scan and the function, in their pipeline: every thread gathers the rows of its region, and
// hands them on when the region ends, before the next one begins. While rows come as the call needs them, which is
// checked row by row (order_trial.hpp), they are kept as they are; from the first one on that does not, all of the
// region's are sorted by partition and then by the call's ORDER BY. No row leaves before its region has ended, so
// nothing has to be known or believed of the order. Without ORDER BY, rows of a partition keep the order the region has
// them in: they are numbered, and sorted by the number last. Nothing is hashed or exchanged between threads. At most
// one region per thread is held, and written to disk under memory_limit. Limit: one thread per region, so a region much
// larger than the others is better hashed (choose_grouping.cpp sees to that).
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/region_scan.hpp"
#include "properties/order_item.hpp"

namespace merganser {

class PhysicalRegionSort : public PhysicalOperator {
public:
	//! `partition` and `ordering`: columns of the input. `keeps_order`: rows that agree in both keep the order in which
	//! the region has them.
	PhysicalRegionSort(PhysicalPlan &plan, PhysicalOperator &input, const PhysicalRegionScan &scan,
	                   const vector<string> &names, vector<idx_t> partition, vector<OrderItem> ordering,
	                   bool keeps_order);

	string GetName() const override {
		return "REGION_SORT";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	unique_ptr<OperatorState> GetOperatorState(ExecutionContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	OperatorFinalizeResultType FinalExecute(ExecutionContext &context, DataChunk &chunk, GlobalOperatorState &gstate,
	                                        OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}
	bool RequiresFinalExecute() const override {
		return true;
	}
	OrderPreservationType OperatorOrder() const override {
		return OrderPreservationType::NO_ORDER;
	}

	const PhysicalRegionScan &scan;
	const vector<idx_t> partition;
	const vector<OrderItem> ordering;
	vector<BoundOrderByNode> orders;
	const bool keeps_order;

	//! The columns of a row and, where the order is kept, its number.
	vector<LogicalType> SortedTypes() const;
};

} // namespace merganser
