#include "grouping/partitioned_sort.hpp"

#include "grouping/hold_nothing_back.hpp"
#include "grouping/order_comparison.hpp"
#include "grouping/partition_boundaries.hpp"

#include "duckdb/common/sorting/hashed_sort.hpp"
#include "duckdb/common/sorting/sort.hpp"
#include "duckdb/common/types/column/column_data_collection.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/function/function_binder.hpp"
#include "duckdb/parallel/meta_pipeline.hpp"
#include "duckdb/parallel/interrupt.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

namespace merganser {

namespace {

struct PartitionedSortSink : public GlobalSinkState {
	unique_ptr<SortStrategy> sort;
	unique_ptr<GlobalSinkState> state;
	//! Rows that came before, where one thread counts them.
	atomic<uint64_t> counted {0};
};

struct PartitionedSortLocalSink : public LocalSinkState {
	unique_ptr<LocalSinkState> state;
	//! A chunk with the places of its rows, and how many rows of its batches came before.
	DataChunk placed;
	uint64_t counted = 0;

	//! `chunk` with the columns for batch and place behind it.
	DataChunk &WithPlaces(DataChunk &chunk, uint64_t batch, uint64_t first) {
		auto columns = chunk.ColumnCount();
		placed.Reset();
		for (idx_t i = 0; i < columns; i++) {
			placed.data[i].Reference(chunk.data[i]);
		}
		placed.data[columns].Reference(Value::UBIGINT(batch), count_t(chunk.size()));
		auto places = FlatVector::GetDataMutable<uint64_t>(placed.data[columns + 1]);
		for (idx_t i = 0; i < chunk.size(); i++) {
			places[i] = first + i;
		}
		placed.SetChildCardinality(chunk.size());
		return placed;
	}
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
	//! A chunk of `rows`, with the hash behind the columns where the bin was sorted by it.
	DataChunk sorted;
};

//! Bytes of a sort key up to which comparing it is no dearer than comparing a hash.
const idx_t SHORT_KEY_BYTES = 16;

} // namespace

PhysicalPartitionedSort::PhysicalPartitionedSort(PhysicalPlan &plan, PhysicalOperator &input, string function_p,
                                                 vector<unique_ptr<Expression>> partitions_p,
                                                 unique_ptr<Expression> key_hash, vector<BoundOrderByNode> orders_p)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, input.GetTypes(), input.estimated_cardinality),
      partitions(std::move(partitions_p)), orders(std::move(orders_p)), function(std::move(function_p)) {
	children.push_back(input);
	if (key_hash) {
		sorted_by.push_back(std::move(key_hash));
		return;
	}
	for (auto &partition : partitions) {
		sorted_by.push_back(partition->Copy());
	}
}

unique_ptr<Expression> PhysicalPartitionedSort::ShorterKey(ClientContext &context,
                                                           const vector<unique_ptr<Expression>> &partitions) {
	idx_t bytes = 0;
	vector<unique_ptr<Expression>> arguments;
	for (auto &partition : partitions) {
		auto physical = partition->GetReturnType().InternalType();
		bytes += TypeIsConstantSize(physical) ? 1 + GetTypeIdSize(physical) : SHORT_KEY_BYTES + 1;
		arguments.push_back(partition->Copy());
	}
	if (bytes <= SHORT_KEY_BYTES) {
		return nullptr;
	}
	return FunctionBinder(context).BindScalarFunction(DEFAULT_SCHEMA, "hash", std::move(arguments));
}

void PhysicalPartitionedSort::KeepOrder(ClientContext &context) {
	auto &input = children[0].get();
	keeps_order = true;
	uses_batch_index = PhysicalPlanGenerator::UseBatchIndex(context, input);
	HoldNothingBack::Everywhere(input);
	for (idx_t i = types.size(); i < PayloadTypes().size(); i++) {
		orders.emplace_back(OrderType::ASCENDING, OrderByNullType::NULLS_LAST,
		                    make_uniq<BoundReferenceExpression>(Identifier("place"), LogicalType::UBIGINT, i));
	}
}

vector<LogicalType> PhysicalPartitionedSort::PayloadTypes() const {
	auto result = types;
	if (keeps_order) {
		result.push_back(LogicalType::UBIGINT);
		result.push_back(LogicalType::UBIGINT);
	}
	return result;
}

OperatorPartitionInfo PhysicalPartitionedSort::RequiredPartitionInfo() const {
	return uses_batch_index ? OperatorPartitionInfo::BatchIndex() : OperatorPartitionInfo::NoPartitionInfo();
}

void PhysicalPartitionedSort::BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) {
	if (meta_pipeline.HasRecursiveCTE()) {
		uses_batch_index = false;
	}
	PhysicalOperator::BuildPipelines(current, meta_pipeline);
}

bool PhysicalPartitionedSort::SortsByHash() const {
	return sorted_by[0]->GetExpressionClass() == ExpressionClass::BOUND_FUNCTION;
}

InsertionOrderPreservingMap<string> PhysicalPartitionedSort::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	vector<string> texts;
	for (auto &expression : sorted_by) {
		texts.push_back(expression->ToString());
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
	result->sort = make_uniq<HashedSort>(context, sorted_by, orders, PayloadTypes(),
	                                     vector<unique_ptr<BaseStatistics>>(), estimated_cardinality);
	result->state = result->sort->GetGlobalSinkState(context);
	return std::move(result);
}

unique_ptr<LocalSinkState> PhysicalPartitionedSort::GetLocalSinkState(ExecutionContext &context) const {
	auto result = make_uniq<PartitionedSortLocalSink>();
	result->state = sink_state->Cast<PartitionedSortSink>().sort->GetLocalSinkState(context);
	if (keeps_order) {
		result->placed.Initialize(Allocator::Get(context.client), PayloadTypes());
	}
	return std::move(result);
}

SinkResultType PhysicalPartitionedSort::Sink(ExecutionContext &context, DataChunk &chunk,
                                             OperatorSinkInput &input) const {
	auto &global = input.global_state.Cast<PartitionedSortSink>();
	auto &local = input.local_state.Cast<PartitionedSortLocalSink>();
	OperatorSinkInput sort_input {*global.state, *local.state, input.interrupt_state};
	if (!keeps_order) {
		return global.sort->Sink(context, chunk, sort_input);
	}
	if (!uses_batch_index) {
		auto first = global.counted.fetch_add(chunk.size());
		return global.sort->Sink(context, local.WithPlaces(chunk, 0, first), sort_input);
	}
	auto first = local.counted;
	local.counted += chunk.size();
	auto batch = local.partition_info.batch_index.GetIndex();
	return global.sort->Sink(context, local.WithPlaces(chunk, batch, first), sort_input);
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
	auto &global = input.global_state.Cast<PartitionedSortSource>();
	auto &local = input.local_state.Cast<PartitionedSortLocalSource>();
	while (true) {
		if (local.rows && local.rows->Scan(local.scan, local.sorted)) {
			for (idx_t i = 0; i < chunk.ColumnCount(); i++) {
				chunk.data[i].Reference(local.sorted.data[i]);
			}
			chunk.SetChildCardinality(local.sorted.size());
			return SourceResultType::HAVE_MORE_OUTPUT;
		}
		auto next = global.next++;
		if (next >= global.bins.size()) {
			local.rows.reset();
			return SourceResultType::FINISHED;
		}
		local.sorted.Destroy();
		local.rows = SortBin(context, global.bins[next], *global.state, input.interrupt_state);
		local.rows->InitializeScan(local.scan, ColumnDataScanProperties::ALLOW_ZERO_COPY);
		local.rows->InitializeScanChunk(local.scan, local.sorted);
	}
}

unique_ptr<ColumnDataCollection> PhysicalPartitionedSort::SortBin(ExecutionContext &context, idx_t bin,
                                                                  GlobalSourceState &state,
                                                                  InterruptState &interrupt) const {
	auto &sink = sink_state->Cast<PartitionedSortSink>();
	OperatorSinkFinalizeInput sort_input {*sink.state, interrupt};
	sink.sort->SortColumnData(context, bin, sort_input);
	LocalSourceState unused;
	OperatorSourceInput rows_input {state, unused, interrupt};
	sink.sort->MaterializeColumnData(context, bin, rows_input);
	auto rows = sink.sort->GetColumnData(bin, rows_input);
	if (!rows) {
		throw InternalException("A sorted bin came back without its rows");
	}
	if (!SortsByHash()) {
		VerifyPartitionsAscend(context.client, *rows);
	} else if (!HashesTellPartitionsApart(context.client, *rows)) {
		rows = SortByColumns(context, *rows);
		VerifyPartitionsAscend(context.client, *rows);
	}
	return rows;
}

void PhysicalPartitionedSort::VerifyPartitionsAscend(ClientContext &context, ColumnDataCollection &rows) const {
	vector<OrderItem> items;
	vector<column_t> scanned;
	vector<LogicalType> key_types;
	for (auto &partition : partitions) {
		items.push_back(OrderItem {scanned.size(), OrderType::ASCENDING, OrderByNullType::NULLS_LAST});
		scanned.push_back(partition->Cast<BoundReferenceExpression>().Index());
		key_types.push_back(partition->GetReturnType());
	}
	OrderComparison order(context, std::move(items), key_types);
	ColumnDataScanState scan;
	rows.InitializeScan(scan, scanned, ColumnDataScanProperties::ALLOW_ZERO_COPY);
	DataChunk chunk;
	rows.InitializeScanChunk(scan, chunk);
	while (rows.Scan(scan, chunk)) {
		context.BlockingInterruptCheck();
		if (order.FindViolation(chunk, {}).IsValid()) {
			ThrowPartitionsDescend();
		}
		order.Remember(chunk);
	}
}

void PhysicalPartitionedSort::ThrowPartitionsDescend() const {
	throw InvalidInputException(
	    "%s: a sorted bin of partitions is not in order. This is a fault of Merganser or DuckDB: "
	    "please report the query",
	    function);
}

//! Whether, in rows sorted by hash, every row with another key than the row before it has another hash too.
bool PhysicalPartitionedSort::HashesTellPartitionsApart(ClientContext &context, ColumnDataCollection &rows) const {
	vector<idx_t> positions;
	vector<column_t> scanned;
	vector<LogicalType> key_types;
	for (auto &partition : partitions) {
		positions.push_back(scanned.size());
		scanned.push_back(partition->Cast<BoundReferenceExpression>().Index());
		key_types.push_back(partition->GetReturnType());
	}
	scanned.push_back(PayloadTypes().size());
	PartitionBoundaries boundaries(context, positions, key_types);
	ColumnDataScanState scan;
	rows.InitializeScan(scan, scanned, ColumnDataScanProperties::ALLOW_ZERO_COPY);
	DataChunk chunk;
	rows.InitializeScanChunk(scan, chunk);
	vector<hash_t> before; // the hash of the row before this chunk, if there is one
	while (rows.Scan(scan, chunk)) {
		context.BlockingInterruptCheck();
		UnifiedVectorFormat format;
		chunk.data.back().ToUnifiedFormat(format);
		auto hashes = UnifiedVectorFormat::GetData<hash_t>(format);
		auto hash_at = [&](idx_t row) {
			return hashes[format.sel->get_index(row)];
		};
		boundaries.Find(chunk);
		for (auto start : boundaries.Starts()) {
			auto is_first = start == 0 && before.empty();
			if (is_first) {
				continue;
			}
			auto hash_before = start > 0 ? hash_at(start - 1) : before[0];
			if (hash_at(start) == hash_before) {
				return false;
			}
			if (hash_at(start) < hash_before) {
				ThrowPartitionsDescend();
			}
		}
		boundaries.Remember(chunk);
		before.assign(1, hash_at(chunk.size() - 1));
	}
	return true;
}

unique_ptr<ColumnDataCollection> PhysicalPartitionedSort::SortByColumns(ExecutionContext &context,
                                                                        ColumnDataCollection &rows) const {
	vector<BoundOrderByNode> items;
	for (auto &partition : partitions) {
		items.emplace_back(OrderType::ASCENDING, OrderByNullType::NULLS_LAST, partition->Copy());
	}
	for (auto &order : orders) {
		items.push_back(order.Copy());
	}
	Sort sort(context.client, items, rows.Types(), {});
	InterruptState interrupt;
	auto gathered = sort.GetGlobalSinkState(context.client);
	auto gathering = sort.GetLocalSinkState(context);
	for (auto &chunk : rows.Chunks()) {
		context.client.BlockingInterruptCheck();
		OperatorSinkInput sink {*gathered, *gathering, interrupt};
		sort.Sink(context, chunk, sink);
	}
	OperatorSinkCombineInput combine {*gathered, *gathering, interrupt};
	sort.Combine(context, combine);
	OperatorSinkFinalizeInput finalize {*gathered, interrupt};
	sort.Finalize(context.client, finalize);
	auto sorted = sort.GetGlobalSourceState(context.client, *gathered);
	auto scanning = sort.GetLocalSourceState(context, *sorted);
	OperatorSourceInput source {*sorted, *scanning, interrupt};
	sort.MaterializeColumnData(context, source);
	return sort.GetColumnData(source);
}

} // namespace merganser
