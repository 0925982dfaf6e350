//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/region_sort.hpp
//
// The region-local grouping where regions hold whole partitions but are not sorted as the call needs it:
//   ALTER VIEW sensor SET PARTITIONED BY (device)         -- and no SET SORTED BY
//   SESSION(DATA => sensor PARTITION BY device ORDER BY time, ...)
//     SESSION <- REGION_SORT <- Projection <- REGION_SCAN     one pipeline per region
// Stands between the region scan and the function, in their pipeline: every thread gathers the rows of its region,
// sorts them by partition and then by the call's ORDER BY when the region ends, and hands them on before the next
// region begins. Without ORDER BY, rows of a partition keep the order the region has them in: they are numbered, and
// sorted by the number last. Nothing is hashed or exchanged between threads. At most one region per thread is held, and
// DuckDB's sort writes it to disk under memory_limit. Limit: one thread per region, so a region much larger than the
// others is better hashed (choose_grouping.cpp sees to that).
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/region_scan.hpp"

namespace merganser {

class PhysicalRegionSort : public PhysicalOperator {
public:
	//! `keeps_order`: rows that agree in `orders` keep the order in which the region has them.
	PhysicalRegionSort(PhysicalPlan &plan, PhysicalOperator &input, const PhysicalRegionScan &scan,
	                   vector<BoundOrderByNode> orders, bool keeps_order);

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
	vector<BoundOrderByNode> orders;
	const bool keeps_order;

	//! The columns of a row and, where the order is kept, its number.
	vector<LogicalType> SortedTypes() const;
};

} // namespace merganser
