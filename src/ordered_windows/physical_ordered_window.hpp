//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/physical_ordered_window.hpp
//
// Computes window functions inside a pipeline, over rows that come partition by partition, in order:
//   ORDERED_WINDOW <- Projection <- Filter <- REGION_SCAN
// Every thread gathers the rows of its stream until about BATCH_ROWS of whole partitions are there, at least one, and
// has DuckDB's executors compute them (partition_batch.hpp) before it goes on. Rows leave in the order in which they
// came, so that operators of ours above can rely on it; DuckDB is told that there is none, as of its own window: rows
// are held back while the scan below begins its next region.
// Memory: a batch per thread, that is BATCH_ROWS and the largest partition. That partitions are whole and rows in order
// is verified before the rows are used (grouping/input_verification.hpp).
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/grouping_decision.hpp"
#include "grouping/input_verification.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

class PhysicalOrderedWindow : public PhysicalOperator {
public:
	static constexpr idx_t BATCH_ROWS = 50 * STANDARD_VECTOR_SIZE;

	PhysicalOrderedWindow(PhysicalPlan &plan, vector<LogicalType> types, vector<unique_ptr<Expression>> functions,
	                      idx_t estimated_cardinality, InputPromise promise, GroupingDecision decision);

	string GetName() const override {
		return "ORDERED_WINDOW";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
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

	//! BoundWindowExpressions, all over one partition set and prefixes of one order.
	vector<unique_ptr<Expression>> functions;
	const InputPromise promise;
	const GroupingDecision decision;
	//! REGION_LOCAL only: the scan at the end of this pipeline.
	optional_ptr<PhysicalRegionScan> region_scan;
};

} // namespace merganser
