//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/one_stream.hpp
//
// Problem: a call without PARTITION BY and without ORDER BY is one partition, but below it may lie several pipelines,
// each of which would run the call by itself:
//   CAPACITY(DATA => (SELECT i FROM a UNION ALL SELECT i FROM b), SIZE => 4)      counts a, and then b from 0 again
// The same for FULL and RIGHT JOIN, whose unmatched rows come in a pipeline of their own, and for GROUPING SETS.
//
// This operator ends all of them, and begins the one pipeline in which the call runs. Rows keep the order in which they
// are produced (arrival_of_input.hpp), as in DuckDB's result collector: where every source below numbers what it gives,
// by that number (batch index), with all threads; else one thread runs the pipelines below one after the other. Filters
// below hold nothing back, so that no order depends on what the setting preserve_insertion_order is when the plan runs.
// Where no order is kept, rows are gathered as they come. They are held once, and spill under memory_limit.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

class PhysicalOneStream : public PhysicalOperator {
public:
	PhysicalOneStream(PhysicalPlan &plan, ClientContext &context, PhysicalOperator &input, bool keeps_order);

	//! False where the rows of `input` come in one pipeline anyway, in the order in which they are produced if one
	//! thread runs it. Its operators are made to hold nothing back.
	static bool IsNeeded(PhysicalOperator &input);

	string GetName() const override {
		return "ONE_STREAM";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	bool IsSink() const override {
		return true;
	}
	bool ParallelSink() const override {
		return !keeps_order || uses_batch_index;
	}
	bool SinkOrderDependent() const override {
		return keeps_order;
	}
	OperatorPartitionInfo RequiredPartitionInfo() const override;
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	unique_ptr<LocalSinkState> GetLocalSinkState(ExecutionContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;
	SinkCombineResultType Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const override;
	SinkFinalizeType Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                          OperatorSinkFinalizeInput &input) const override;

	bool IsSource() const override {
		return true;
	}
	OrderPreservationType SourceOrder() const override {
		return OrderPreservationType::FIXED_ORDER;
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;

	void BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) override;

	const bool keeps_order;
	//! Not in a recursive CTE, where DuckDB does not number what comes.
	bool uses_batch_index;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;
};

} // namespace merganser
