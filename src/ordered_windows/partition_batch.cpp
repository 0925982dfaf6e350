#include "ordered_windows/partition_batch.hpp"

#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

PartitionBatch::PartitionBatch(ClientContext &context, WindowFunctions &functions, const vector<LogicalType> &types)
    : client(context), functions(functions), order_lengths(functions.OrderLengths()),
      rows(BufferManager::GetBufferManager(context), types), partition_marks(BufferAllocator::Get(context)),
      collected(context), sunk(context), evaluated(context) {
	rows.InitializeAppend(append);
	for (idx_t i = 0; i < order_lengths.size(); i++) {
		peer_marks.emplace_back(BufferAllocator::Get(context));
	}
}

//! The starts in [begin, end), moved to `offset`.
static void Mark(RowMarks &marks, const vector<idx_t> &starts, idx_t begin, idx_t end, idx_t offset) {
	marks.Reserve(offset + end - begin);
	auto first = std::lower_bound(starts.begin(), starts.end(), begin);
	for (auto start = first; start != starts.end() && *start < end; start++) {
		marks.Set(offset + *start - begin);
	}
}

void PartitionBatch::Append(DataChunk &input, idx_t begin, idx_t end, const vector<idx_t> &partitions,
                            const vector<reference<const vector<idx_t>>> &peers) {
	if (begin == end) {
		return;
	}
	auto offset = rows.Count();
	Mark(partition_marks, partitions, begin, end, offset);
	for (idx_t i = 0; i < peers.size(); i++) {
		Mark(peer_marks[i], peers[i].get(), begin, end, offset);
	}
	if (begin == 0 && end == input.size()) {
		rows.Append(append, input);
		return;
	}
	SelectionVector sel(end - begin);
	for (idx_t i = 0; i < end - begin; i++) {
		sel.set_index(i, begin + i);
	}
	DataChunk part;
	part.InitializeEmpty(rows.Types());
	part.Slice(input, sel, end - begin);
	rows.Append(append, part);
}

const ValidityMask &PartitionBatch::OrderMask(const WindowExecutor &executor) const {
	auto length = executor.wexpr.OrderBy().size();
	if (length == 0) {
		return partition_mask;
	}
	auto position = std::find(order_lengths.begin(), order_lengths.end(), length) - order_lengths.begin();
	return peer_masks[static_cast<idx_t>(position)];
}

//! Whether every row begins peers of its own.
bool PartitionBatch::HasNoTies(const WindowExecutor &executor) const {
	return OrderMask(executor).CountValid(rows.Count()) == rows.Count();
}

void PartitionBatch::MakeMasks() {
	auto count = rows.Count();
	partition_mask = partition_marks.Mask(count);
	for (auto &marks : peer_marks) {
		peer_masks.push_back(marks.Mask(count));
	}
}

void PartitionBatch::MakeStates(ExecutionContext &context) {
	auto count = rows.Count();
	auto &shared = functions.shared;
	shared.PrepareCollection(collected, collected_chunk);
	shared.PrepareSink(sunk, sunk_chunk);
	shared.PrepareEvaluate(evaluated, evaluated_chunk);
	collection =
	    make_uniq<WindowCollection>(BufferManager::GetBufferManager(client), count, collected_chunk.GetTypes());
	builder = make_uniq<WindowBuilder>(*collection);
	for (idx_t i = 0; i < functions.executors.size(); i++) {
		auto &executor = *functions.executors[i];
		if (carried[i]) {
			continue;
		}
		global_states[i] = executor.GetGlobalState(client, count, partition_mask, OrderMask(executor));
		local_states[i] = executor.GetLocalState(context, *global_states[i]);
	}
}

static void Execute(ExpressionExecutor &expressions, DataChunk &input, DataChunk &result) {
	if (result.data.empty()) {
		result.SetChildCardinality(input.size());
		return;
	}
	result.Reset();
	expressions.Execute(input, result);
}

void PartitionBatch::Sink(ExecutionContext &context, DataChunk &input, idx_t position) {
	Execute(collected, input, collected_chunk);
	if (!collected_chunk.data.empty()) {
		builder->Sink(collected_chunk, position);
	}
	Execute(sunk, input, sunk_chunk);
	for (idx_t i = 0; i < functions.executors.size(); i++) {
		if (carried[i]) {
			continue;
		}
		OperatorSinkInput sink {*global_states[i], *local_states[i], interrupt};
		functions.executors[i]->Sink(context, sunk_chunk, collected_chunk, position, sink);
	}
}

void PartitionBatch::SinkRows(ExecutionContext &context) {
	MakeStates(context);
	rows.InitializeScan(scan);
	for (auto position = scan.next_row_index; rows.Scan(scan, chunk); position = scan.next_row_index) {
		client.BlockingInterruptCheck();
		Sink(context, chunk, position);
	}
	collection->Combine(functions.shared.coll_validity);
	for (idx_t i = 0; i < functions.executors.size(); i++) {
		if (carried[i]) {
			continue;
		}
		OperatorSinkInput sink {*global_states[i], *local_states[i], interrupt};
		functions.executors[i]->Finalize(context, collection.get(), sink);
	}
}

void PartitionBatch::Compute(ExecutionContext &context) {
	MakeMasks();
	vector<LogicalType> types;
	for (auto &executor : functions.executors) {
		types.push_back(executor->wexpr.GetReturnType());
		carried.push_back(CarriedValue::TryMake(client, executor->wexpr, HasNoTies(*executor)));
	}
	values.Initialize(Allocator::Get(client), types);
	global_states.resize(types.size());
	local_states.resize(types.size());
	rows.InitializeScanChunk(chunk);
	if (std::any_of(carried.begin(), carried.end(), [](const unique_ptr<CarriedValue> &value) { return !value; })) {
		SinkRows(context);
	}
	rows.InitializeScan(scan);
}

bool PartitionBatch::Next(ExecutionContext &context, DataChunk &result) {
	client.BlockingInterruptCheck();
	if (!computed) {
		Compute(context);
		computed = true;
	}
	auto position = scan.next_row_index;
	if (!rows.Scan(scan, chunk)) {
		return false;
	}
	values.Reset();
	for (idx_t i = 0; i < functions.executors.size(); i++) {
		if (carried[i]) {
			carried[i]->Evaluate(chunk, partition_mask, position, values.data[i]);
			continue;
		}
		Execute(evaluated, chunk, evaluated_chunk);
		OperatorSinkInput sink {*global_states[i], *local_states[i], interrupt};
		functions.executors[i]->Evaluate(context, position, evaluated_chunk, values.data[i], sink, chunk.size());
	}
	result.SetChildCardinality(chunk.size());
	for (idx_t i = 0; i < chunk.ColumnCount(); i++) {
		result.data[i].Reference(chunk.data[i]);
	}
	for (idx_t i = 0; i < values.ColumnCount(); i++) {
		result.data[chunk.ColumnCount() + i].Reference(values.data[i]);
	}
	return true;
}

} // namespace merganser
