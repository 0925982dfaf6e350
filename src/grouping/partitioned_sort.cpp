#include "grouping/partitioned_sort.hpp"

#include "duckdb/common/sorting/hashed_sort.hpp"
#include "duckdb/common/types/column/column_data_collection.hpp"

namespace merganser {

namespace {

struct PartitionedSortSink : public GlobalSinkState {
	unique_ptr<SortStrategy> sort;
	unique_ptr<GlobalSinkState> state;
};

struct PartitionedSortLocalSink : public LocalSinkState {
	unique_ptr<LocalSinkState> state;
};

struct PartitionedSortSource : public GlobalSourceState {
	unique_ptr<GlobalSourceState> state;
	//! Bins with rows, the largest first, so that the last thread to finish has little left to do.
	vector<idx_t> bins;
	atomic<idx_t> next {0};

	idx_t MaxThreads() override {
		return MaxValue<idx_t>(1, bins.size());
	}
};

struct PartitionedSortLocalSource : public LocalSourceState {
	unique_ptr<ColumnDataCollection> rows;
	ColumnDataScanState scan;
};

} // namespace

PhysicalPartitionedSort::PhysicalPartitionedSort(PhysicalPlan &plan, vector<LogicalType> types,
                                                 vector<unique_ptr<Expression>> partitions_p,
                                                 vector<BoundOrderByNode> orders_p, idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality),
      partitions(std::move(partitions_p)), orders(std::move(orders_p)) {
}

InsertionOrderPreservingMap<string> PhysicalPartitionedSort::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	vector<string> texts;
	for (auto &partition : partitions) {
		texts.push_back(partition->GetName().GetIdentifierName());
	}
	result["Partition By"] = StringUtil::Join(texts, "\n");
	texts.clear();
	for (auto &order : orders) {
		texts.push_back(order.ToString());
	}
	result["Order By"] = StringUtil::Join(texts, "\n");
	SetEstimatedCardinality(result, estimated_cardinality);
	return result;
}

unique_ptr<GlobalSinkState> PhysicalPartitionedSort::GetGlobalSinkState(ClientContext &context) const {
	auto result = make_uniq<PartitionedSortSink>();
	result->sort = make_uniq<HashedSort>(context, partitions, orders, children[0].get().GetTypes(),
	                                     vector<unique_ptr<BaseStatistics>>(), estimated_cardinality);
	result->state = result->sort->GetGlobalSinkState(context);
	return std::move(result);
}

unique_ptr<LocalSinkState> PhysicalPartitionedSort::GetLocalSinkState(ExecutionContext &context) const {
	auto result = make_uniq<PartitionedSortLocalSink>();
	result->state = sink_state->Cast<PartitionedSortSink>().sort->GetLocalSinkState(context);
	return std::move(result);
}

SinkResultType PhysicalPartitionedSort::Sink(ExecutionContext &context, DataChunk &chunk,
                                             OperatorSinkInput &input) const {
	auto &global = input.global_state.Cast<PartitionedSortSink>();
	auto &local = input.local_state.Cast<PartitionedSortLocalSink>();
	OperatorSinkInput sort_input {*global.state, *local.state, input.interrupt_state};
	return global.sort->Sink(context, chunk, sort_input);
}

SinkCombineResultType PhysicalPartitionedSort::Combine(ExecutionContext &context,
                                                       OperatorSinkCombineInput &input) const {
	auto &global = input.global_state.Cast<PartitionedSortSink>();
	auto &local = input.local_state.Cast<PartitionedSortLocalSink>();
	OperatorSinkCombineInput sort_input {*global.state, *local.state, input.interrupt_state};
	return global.sort->Combine(context, sort_input);
}

SinkFinalizeType PhysicalPartitionedSort::Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
                                                   OperatorSinkFinalizeInput &input) const {
	auto &global = input.global_state.Cast<PartitionedSortSink>();
	OperatorSinkFinalizeInput sort_input {*global.state, input.interrupt_state};
	return global.sort->Finalize(context, sort_input);
}

unique_ptr<GlobalSourceState> PhysicalPartitionedSort::GetGlobalSourceState(ClientContext &context) const {
	auto &sink = sink_state->Cast<PartitionedSortSink>();
	auto result = make_uniq<PartitionedSortSource>();
	result->state = sink.sort->GetGlobalSourceState(context, *sink.state);
	auto &groups = sink.sort->GetHashGroups(*result->state);
	for (idx_t bin = 0; bin < groups.size(); bin++) {
		if (groups[bin].count) {
			result->bins.push_back(bin);
		}
	}
	std::sort(result->bins.begin(), result->bins.end(),
	          [&](idx_t left, idx_t right) { return groups[left].count > groups[right].count; });
	return std::move(result);
}

unique_ptr<LocalSourceState> PhysicalPartitionedSort::GetLocalSourceState(ExecutionContext &context,
                                                                          GlobalSourceState &state) const {
	return make_uniq<PartitionedSortLocalSource>();
}

SourceResultType PhysicalPartitionedSort::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                          OperatorSourceInput &input) const {
	auto &sink = sink_state->Cast<PartitionedSortSink>();
	auto &global = input.global_state.Cast<PartitionedSortSource>();
	auto &local = input.local_state.Cast<PartitionedSortLocalSource>();
	while (true) {
		if (local.rows) {
			local.rows->Scan(local.scan, chunk);
			if (chunk.size()) {
				return SourceResultType::HAVE_MORE_OUTPUT;
			}
			local.rows.reset();
		}
		auto next = global.next++;
		if (next >= global.bins.size()) {
			return SourceResultType::FINISHED;
		}
		auto bin = global.bins[next];
		OperatorSinkFinalizeInput sort_input {*sink.state, input.interrupt_state};
		sink.sort->SortColumnData(context, bin, sort_input);
		LocalSourceState unused;
		OperatorSourceInput rows_input {*global.state, unused, input.interrupt_state};
		sink.sort->MaterializeColumnData(context, bin, rows_input);
		local.rows = sink.sort->GetColumnData(bin, rows_input);
		if (!local.rows) {
			throw InternalException("A sorted bin came back without its rows");
		}
		local.rows->InitializeScan(local.scan, ColumnDataScanProperties::ALLOW_ZERO_COPY);
	}
}

} // namespace merganser
