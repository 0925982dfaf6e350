//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/partitioned_sort.hpp
//
// The hashed grouping: rows are hashed by the partition columns into bins, each bin is sorted by partition and then by
// the call's ORDER BY, and threads hand out whole bins. Stands on DuckDB's HashedSort, the same machinery windows use,
// so it spills to disk under memory_limit and copes with one partition that is larger than memory. No order between
// partitions is promised.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/bound_query_node.hpp"

namespace merganser {

class PhysicalPartitionedSort : public PhysicalOperator {
public:
	PhysicalPartitionedSort(PhysicalPlan &plan, vector<LogicalType> types, vector<unique_ptr<Expression>> partitions,
	                        vector<BoundOrderByNode> orders, idx_t estimated_cardinality);

	vector<unique_ptr<Expression>> partitions;
	vector<BoundOrderByNode> orders;

	string GetName() const override {
		return "PARTITIONED_SORT";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	bool IsSink() const override {
		return true;
	}
	bool ParallelSink() const override {
		return true;
	}
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	unique_ptr<LocalSinkState> GetLocalSinkState(ExecutionContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;
	SinkCombineResultType Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const override;
	SinkFinalizeType Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                          OperatorSinkFinalizeInput &input) const override;

	bool IsSource() const override {
		return true;
	}
	bool ParallelSource() const override {
		return true;
	}
	OrderPreservationType SourceOrder() const override {
		return OrderPreservationType::NO_ORDER;
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;
	unique_ptr<LocalSourceState> GetLocalSourceState(ExecutionContext &context,
	                                                 GlobalSourceState &state) const override;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;
};

} // namespace merganser
