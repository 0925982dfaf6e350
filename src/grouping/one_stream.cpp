#include "grouping/one_stream.hpp"

#include "grouping/hold_nothing_back.hpp"

#include "duckdb/common/types/batched_data_collection.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parallel/meta_pipeline.hpp"

namespace merganser {

namespace {

class OneStreamSink : public GlobalSinkState {
public:
	mutex lock;
	unique_ptr<ColumnDataCollection> rows;
	unique_ptr<BatchedDataCollection> batches;
};

class OneStreamLocalSink : public LocalSinkState {
public:
	unique_ptr<ColumnDataCollection> rows;
	unique_ptr<BatchedDataCollection> batches;
	ColumnDataAppendState append;
};

class OneStreamSource : public GlobalSourceState {
public:
	ColumnDataScanState scan;
};

unique_ptr<BatchedDataCollection> Batches(ClientContext &context, const vector<LogicalType> &types) {
	return make_uniq<BatchedDataCollection>(context, types, ColumnDataAllocatorType::BUFFER_MANAGER_ALLOCATOR);
}

} // namespace

PhysicalOneStream::PhysicalOneStream(PhysicalPlan &plan, ClientContext &context, PhysicalOperator &input,
                                     bool keeps_order)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, input.GetTypes(), input.estimated_cardinality),
      keeps_order(keeps_order), uses_batch_index(keeps_order && PhysicalPlanGenerator::UseBatchIndex(context, input)) {
	children.push_back(input);
	if (keeps_order) {
		HoldNothingBack::Everywhere(input);
	}
}

bool PhysicalOneStream::IsNeeded(PhysicalOperator &input) {
	switch (HoldNothingBack::Downwards(input).get().type) {
	case PhysicalOperatorType::TABLE_SCAN:
	case PhysicalOperatorType::ORDER_BY:
	case PhysicalOperatorType::TOP_N:
	case PhysicalOperatorType::UNGROUPED_AGGREGATE:
	case PhysicalOperatorType::COLUMN_DATA_SCAN:
	case PhysicalOperatorType::DUMMY_SCAN:
	case PhysicalOperatorType::EMPTY_RESULT:
		return false;
	default:
		return true;
	}
}

InsertionOrderPreservingMap<string> PhysicalOneStream::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	result["Order"] = keeps_order ? "as produced" : "any";
	SetEstimatedCardinality(result, estimated_cardinality);
	return result;
}

OperatorPartitionInfo PhysicalOneStream::RequiredPartitionInfo() const {
	return uses_batch_index ? OperatorPartitionInfo::BatchIndex() : OperatorPartitionInfo::NoPartitionInfo();
}

void PhysicalOneStream::BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) {
	if (meta_pipeline.HasRecursiveCTE()) {
		uses_batch_index = false;
	}
	PhysicalOperator::BuildPipelines(current, meta_pipeline);
}

//===--------------------------------------------------------------------===//
// Sink
//===--------------------------------------------------------------------===//
unique_ptr<GlobalSinkState> PhysicalOneStream::GetGlobalSinkState(ClientContext &context) const {
	auto result = make_uniq<OneStreamSink>();
	if (uses_batch_index) {
		result->batches = Batches(context, types);
	} else {
		result->rows = make_uniq<ColumnDataCollection>(context, types);
	}
	return std::move(result);
}

unique_ptr<LocalSinkState> PhysicalOneStream::GetLocalSinkState(ExecutionContext &context) const {
	auto result = make_uniq<OneStreamLocalSink>();
	if (uses_batch_index) {
		result->batches = Batches(context.client, types);
	} else {
		result->rows = make_uniq<ColumnDataCollection>(context.client, types);
		result->rows->InitializeAppend(result->append);
	}
	return std::move(result);
}

SinkResultType PhysicalOneStream::Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const {
	auto &local = input.local_state.Cast<OneStreamLocalSink>();
	if (uses_batch_index) {
		local.batches->Append(chunk, local.partition_info.batch_index.GetIndex());
	} else {
		local.rows->Append(local.append, chunk);
	}
	return SinkResultType::NEED_MORE_INPUT;
}

//! One thread at a time where the order is kept without numbers: pipelines end one after the other.
SinkCombineResultType PhysicalOneStream::Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const {
	auto &global = input.global_state.Cast<OneStreamSink>();
	auto &local = input.local_state.Cast<OneStreamLocalSink>();
	lock_guard<mutex> guard(global.lock);
	if (uses_batch_index) {
		global.batches->Merge(*local.batches);
	} else {
		global.rows->Combine(*local.rows);
	}
	return SinkCombineResultType::FINISHED;
}

SinkFinalizeType PhysicalOneStream::Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
                                             OperatorSinkFinalizeInput &input) const {
	auto &global = input.global_state.Cast<OneStreamSink>();
	if (uses_batch_index) {
		global.rows = global.batches->FetchCollection();
		global.batches.reset();
	}
	return SinkFinalizeType::READY;
}

//===--------------------------------------------------------------------===//
// Source
//===--------------------------------------------------------------------===//
unique_ptr<GlobalSourceState> PhysicalOneStream::GetGlobalSourceState(ClientContext &context) const {
	auto result = make_uniq<OneStreamSource>();
	sink_state->Cast<OneStreamSink>().rows->InitializeScan(result->scan);
	return std::move(result);
}

SourceResultType PhysicalOneStream::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                    OperatorSourceInput &input) const {
	auto &source = input.global_state.Cast<OneStreamSource>();
	sink_state->Cast<OneStreamSink>().rows->Scan(source.scan, chunk);
	return chunk.size() == 0 ? SourceResultType::FINISHED : SourceResultType::HAVE_MORE_OUTPUT;
}

} // namespace merganser
