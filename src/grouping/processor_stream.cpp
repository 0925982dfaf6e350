#include "grouping/processor_stream.hpp"

#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/common/vector/string_vector.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

static vector<optional_idx> KeyPositions(const ProcessorLayout &layout) {
	vector<optional_idx> result;
	for (auto &column : layout.output) {
		optional_idx key;
		for (idx_t i = 0; i < layout.partition_columns.size(); i++) {
			auto repeats =
			    column.source == ProcessorLayout::Source::INPUT && column.index == layout.partition_columns[i];
			if (repeats && PartitionBoundaries::EqualityIsIdentity(layout.input_types[column.index])) {
				key = i;
			}
		}
		result.push_back(key);
	}
	return result;
}

ProcessorStream::ProcessorStream(ClientContext &context, const ProcessorLayout &layout,
                                 unique_ptr<Processor> processor_p, optional_ptr<PartitionObserver> observer)
    : context(context), layout(layout), processor(std::move(processor_p)), observer(observer),
      boundaries(context, layout.partition_columns, layout.input_types), formats(layout.required_columns.size()),
      plain(layout.required_columns.size()), key_position(KeyPositions(layout)) {
	run_values.resize(layout.proper_types.size());
	proper_position.resize(layout.proper_types.size());
	for (idx_t i = 0; i < layout.output.size(); i++) {
		auto &column = layout.output[i];
		optional_idx position;
		if (column.source == ProcessorLayout::Source::PROPER) {
			proper_position[column.index] = i;
			proper_columns.push_back({column.index, i, GetTypeIdSize(layout.output_types[i].InternalType())});
		} else if (column.source == ProcessorLayout::Source::INPUT && !key_position[i].IsValid()) {
			position = held_columns.size();
			held_columns.push_back(column.index);
			held_types.push_back(layout.input_types[column.index]);
		}
		held_position.push_back(position);
	}
}

ProcessorStream::~ProcessorStream() = default;

//===--------------------------------------------------------------------===//
// Input
//===--------------------------------------------------------------------===//
void ProcessorStream::PrepareInput(DataChunk &input) {
	current = input;
	current_start = current_end;
	current_end += input.size();
	key_row = optional_idx();
	required.clear();
	for (idx_t i = 0; i < layout.required_columns.size(); i++) {
		auto &column = input.data[layout.required_columns[i]];
		plain[i].TryWriteOut(column);
		required.push_back(column);
		column.ToUnifiedFormat(formats[i]);
		if (!formats[i].sel->IsSet() && formats[i].validity.CheckAllValid(input.size())) {
			formats[i].validity.Reset();
		}
	}
}

void ProcessorStream::Push(DataChunk &input) {
	PrepareInput(input);
	consumed = 0;
	next_start = 0;
	if (input.size() == 0) {
		return;
	}
	boundaries.Find(input);
	if (observer) {
		observer->Observe(input, boundaries);
	}
}

//! Processes the pushed chunk slice by slice, until it is used up or there is enough to emit.
void ProcessorStream::Advance() {
	auto size = current->size();
	auto &starts = boundaries.Starts();
	while (consumed < size && runs.size() < ENOUGH_RUNS && each_rows.size() < ENOUGH_RUNS && own_finished.empty()) {
		if (next_start < starts.size() && starts[next_start] == consumed) {
			next_start++;
			if (!open || !layout.partition_columns.empty()) {
				BeginPartition(consumed);
			}
		}
		auto end = next_start < starts.size() ? starts[next_start] : size;
		end = MinValue(end, consumed + layout.slice_rows);
		Consume(consumed, end);
		consumed = end;
	}
	if (consumed == size && !layout.pass_through) {
		AddPartitionColumns();
	}
}

void ProcessorStream::BeginPartition(idx_t start) {
	if (open) {
		processor->EndPartition(*this);
		AddPartitionColumns();
	}
	open = true;
	key_row = start;
	partition_start = current_start + start;
	released = partition_start;
	processor->BeginPartition();
}

void ProcessorStream::Consume(idx_t begin, idx_t end) {
	InputRows rows(required, formats);
	rows.begin = begin;
	rows.end = end;
	rows.first_row = current_start + begin - partition_start;
	processor->Consume(rows, *this);
}

void ProcessorStream::Finish() {
	current = nullptr;
	key_row = optional_idx();
	if (open) {
		processor->EndPartition(*this);
		open = false;
	}
	if (!layout.pass_through) {
		AddPartitionColumns();
		CloseOwnChunk();
	}
}

void ProcessorStream::Retain() {
	if (!current || current->size() == 0) {
		return;
	}
	auto &input = *current;
	if (layout.pass_through) {
		DropReleased();
		if (released < current_end) {
			try {
				Hold(MaxValue(released, current_start) - current_start);
			} catch (const OutOfMemoryException &reason) {
				ThrowTooManyHeld(reason);
			}
		}
	}
	if (!layout.partition_columns.empty() && key_row.IsValid()) {
		boundaries.Remember(input);
		RememberPartitionOutputs();
	}
	current = nullptr;
}

//===--------------------------------------------------------------------===//
// Held rows
//===--------------------------------------------------------------------===//
void ProcessorStream::DropReleased() {
	while (!held.empty() && held.front().first + held.front().count <= released) {
		spare.push_back(std::move(held.front().rows));
		held.pop_front();
	}
}

ProcessorStream::HeldRows &ProcessorStream::RoomForHeldRows() {
	if (held.empty() || held.back().count == STANDARD_VECTOR_SIZE) {
		unique_ptr<DataChunk> rows;
		if (spare.empty()) {
			rows = make_uniq<DataChunk>();
			rows->Initialize(BufferAllocator::Get(context), held_types);
		} else {
			rows = std::move(spare.back());
			spare.pop_back();
			rows->Reset();
		}
		held.push_back(HeldRows {0, 0, std::move(rows)});
	}
	return held.back();
}

void ProcessorStream::Hold(idx_t begin) {
	auto &input = *current;
	while (begin < input.size()) {
		auto &target = RoomForHeldRows();
		if (target.count == 0) {
			target.first = current_start + begin;
		}
		auto count = MinValue<idx_t>(STANDARD_VECTOR_SIZE - target.count, input.size() - begin);
		for (idx_t i = 0; i < held_columns.size(); i++) {
			VectorOperations::Copy(input.data[held_columns[i]], target.rows->data[i], begin + count, begin,
			                       target.count);
		}
		target.count += count;
		target.rows->SetChildCardinality(target.count);
		begin += count;
	}
	// a long partition leaves many spare chunks behind: keep one
	spare.resize(MinValue<idx_t>(spare.size(), 1));
}

void ProcessorStream::ThrowTooManyHeld(const OutOfMemoryException &reason) const {
	throw OutOfMemoryException("%s: %llu rows of one partition are held until the rows after them decide about them "
	                           "(SESSION: until the session closes), and with the columns that are used they do not "
	                           "fit into memory_limit. Use fewer columns, arguments that make smaller windows, or a "
	                           "larger memory_limit. %s",
	                           layout.function, current_end - released, ErrorData(reason).RawMessage());
}

optional_ptr<ProcessorStream::HeldRows> ProcessorStream::HeldAt(idx_t position) {
	if (current && position >= current_start) {
		return nullptr;
	}
	auto behind = std::upper_bound(held.begin(), held.end(), position,
	                               [](idx_t wanted, const HeldRows &rows) { return wanted < rows.first; });
	if (behind == held.begin() || position >= (behind - 1)->first + (behind - 1)->count) {
		throw InternalException("A table function emitted a row that it had released");
	}
	return *(behind - 1);
}

//===--------------------------------------------------------------------===//
// Output of pass-through functions
//===--------------------------------------------------------------------===//
bool ProcessorStream::Next(DataChunk &output) {
	context.BlockingInterruptCheck(); // DuckDB looks at the time once in 256 chunks only
	if (!layout.pass_through) {
		if (current && consumed < current->size()) {
			Advance();
		}
		return NextOwnRows(output);
	}
	while (next_run == runs.size()) {
		if (next_each < each_rows.size()) {
			NextEach(output);
			return true;
		}
		ClearRuns();
		if (!current || consumed == current->size()) {
			return false;
		}
		Advance();
	}
	NextRuns(output);
	return true;
}

void ProcessorStream::ClearRuns() {
	runs.clear();
	for (auto &values : run_values) {
		values.clear();
	}
	next_run = next_offset = 0;
	each_rows.clear();
	for (auto &values : each_values) {
		values.clear();
	}
	next_each = 0;
}

//! Rows that were emitted one by one are all in the current chunk.
void ProcessorStream::NextEach(DataChunk &output) {
	auto count = MinValue<idx_t>(STANDARD_VECTOR_SIZE, each_rows.size() - next_each);
	auto rows = each_rows.data() + next_each;
	SelectionVector sel(count);
	bool contiguous = true;
	for (idx_t i = 0; i < count; i++) {
		contiguous = contiguous && rows[i] == rows[0] + i;
		sel.set_index(i, rows[i] - current_start);
	}
	for (idx_t i = 0; i < proper_position.size(); i++) {
		if (!proper_position[i].IsValid()) {
			continue;
		}
		auto &target = output.data[proper_position[i].GetIndex()];
		auto width = GetTypeIdSize(target.GetType().InternalType());
		memcpy(FlatVector::GetDataMutableUnsafe<data_t>(target), each_values[i].data() + next_each * width,
		       count * width);
	}
	EmitInputColumns(output, nullptr, sel, rows[0] - current_start, count, contiguous);
	output.SetChildCardinality(count);
	next_each += count;
}

static void SelectRows(SelectionVector &sel, idx_t offset, idx_t first, idx_t count) {
	for (idx_t i = 0; i < count; i++) {
		sel.set_index(offset + i, first + i);
	}
}

void ProcessorStream::NextRuns(DataChunk &output) {
	auto first = runs[next_run].first + next_offset;
	auto source = HeldAt(first);
	auto source_start = source ? source->first : current_start;
	auto source_end = source ? source->first + source->count : current_end;
	SelectionVector sel;
	idx_t count = 0;
	bool contiguous = true;
	auto first_run = next_run;
	emitted_counts.clear();
	while (next_run < runs.size() && count < STANDARD_VECTOR_SIZE) {
		auto &run = runs[next_run];
		auto position = run.first + next_offset;
		if (position < source_start || position >= source_end) {
			break;
		}
		auto take = MinValue<idx_t>(run.count - next_offset, STANDARD_VECTOR_SIZE - count);
		take = MinValue<idx_t>(take, source_end - position);
		if (contiguous && position != first + count) {
			contiguous = false;
			sel.Initialize(STANDARD_VECTOR_SIZE);
			SelectRows(sel, 0, first - source_start, count);
		}
		if (!contiguous) {
			SelectRows(sel, count, position - source_start, take);
		}
		emitted_counts.push_back(take);
		count += take;
		next_offset += take;
		if (next_offset == run.count) {
			next_run++;
			next_offset = 0;
		}
	}
	FillProper(output, first_run);
	EmitInputColumns(output, source, sel, first - source_start, count, contiguous);
	output.SetChildCardinality(count);
}

template <class T>
static void FillRuns(Vector &target, const unsafe_vector<idx_t> &counts, const uint64_t *bits) {
	auto values = FlatVector::GetDataMutableUnsafe<T>(target);
	for (auto count : counts) {
		T value;
		memcpy(&value, bits++, sizeof(T));
		for (idx_t i = 0; i < count; i++) {
			values[i] = value;
		}
		values += count;
	}
}

void ProcessorStream::FillProper(DataChunk &output, idx_t first_run) {
	for (auto &column : proper_columns) {
		auto &target = output.data[column.output_position];
		auto bits = run_values[column.index].data() + first_run;
		switch (column.width) {
		case 1:
			FillRuns<uint8_t>(target, emitted_counts, bits);
			break;
		case 2:
			FillRuns<uint16_t>(target, emitted_counts, bits);
			break;
		case 4:
			FillRuns<uint32_t>(target, emitted_counts, bits);
			break;
		case 8:
			FillRuns<uint64_t>(target, emitted_counts, bits);
			break;
		default:
			throw InternalException("Proper column of a pass-through function with more than 8 bytes");
		}
		if (emitted_counts.size() == 1) {
			target.SetVectorType(VectorType::CONSTANT_VECTOR);
		}
	}
}

//! A partition column that does not change within the rows is emitted as a constant, which what follows computes with
//! once instead of row by row.
bool ProcessorStream::EmitKeyColumn(Vector &target, optional_ptr<HeldRows> source, idx_t key, idx_t count) {
	if (source) {
		target.Slice(boundaries.Key().data[key], 0, count);
		return true;
	}
	auto &column = current->data[layout.partition_columns[key]];
	if (!boundaries.IsUniform(key) || column.GetVectorType() == VectorType::CONSTANT_VECTOR) {
		return false;
	}
	ConstantVector::Reference(target, count_t(count), column, 0, current->size());
	return true;
}

void ProcessorStream::EmitInputColumns(DataChunk &output, optional_ptr<HeldRows> source, const SelectionVector &sel,
                                       idx_t first, idx_t count, bool contiguous) {
	for (idx_t i = 0; i < layout.output.size(); i++) {
		auto &column = layout.output[i];
		if (column.source != ProcessorLayout::Source::INPUT) {
			continue;
		}
		auto &target = output.data[i];
		if (key_position[i].IsValid() && EmitKeyColumn(target, source, key_position[i].GetIndex(), count)) {
			continue;
		}
		auto &origin = source ? source->rows->data[held_position[i].GetIndex()] : current->data[column.index];
		auto size = source ? source->count : current->size();
		if (!contiguous) {
			target.Slice(origin, sel, count);
		} else if (first == 0 && count == size) {
			target.Reference(origin);
		} else {
			target.Slice(origin, first, first + count);
		}
	}
}

//===--------------------------------------------------------------------===//
// Output of all other functions
//===--------------------------------------------------------------------===//
void ProcessorStream::NewRow() {
	if (own && own_rows == STANDARD_VECTOR_SIZE) {
		AddPartitionColumns();
		CloseOwnChunk();
	}
	if (!own) {
		own = make_uniq<DataChunk>();
		own->Initialize(BufferAllocator::Get(context), layout.output_types);
		own_rows = own_keyed = 0;
	}
	row = own_rows++;
	for (auto position : proper_position) {
		FlatVector::ValidityMutable(own->data[position.GetIndex()]).SetInvalid(row);
	}
}

Vector &ProcessorStream::Target(idx_t column) {
	return own->data[proper_position[column].GetIndex()];
}

void ProcessorStream::SetString(idx_t column, string_t value) {
	auto &target = Target(column);
	Set<string_t>(column, StringVector::AddStringOrBlob(target, value));
}

void ProcessorStream::SetFrom(idx_t column, const Vector &source, idx_t position) {
	auto &target = Target(column);
	FlatVector::ValidityMutable(target).SetValid(row);
	VectorOperations::Copy(source, target, position + 1, position, row);
}

void ProcessorStream::SetValue(idx_t column, const Value &value) {
	auto &target = Target(column);
	FlatVector::ValidityMutable(target).SetValid(row);
	target.SetValue(row, value);
}

void ProcessorStream::RememberPartitionOutputs() {
	if (layout.pass_through) {
		return;
	}
	if (!remembered_outputs) {
		vector<LogicalType> types;
		for (auto column : layout.partition_outputs) {
			types.push_back(layout.input_types[column]);
		}
		remembered_outputs = make_uniq<DataChunk>();
		remembered_outputs->Initialize(BufferAllocator::Get(context), types, 1);
	}
	remembered_outputs->Reset();
	SelectionVector sel(1);
	sel.set_index(0, key_row.GetIndex());
	for (idx_t i = 0; i < layout.partition_outputs.size(); i++) {
		remembered_outputs->data[i].Append(current->data[layout.partition_outputs[i]], sel, 1);
	}
}

void ProcessorStream::AddPartitionColumns() {
	if (!own || own_keyed == own_rows) {
		return;
	}
	auto count = own_rows - own_keyed;
	SelectionVector sel(count);
	for (idx_t i = 0; i < count; i++) {
		sel.set_index(i, key_row.IsValid() ? key_row.GetIndex() : 0);
	}
	for (idx_t i = 0; i < layout.output.size(); i++) {
		auto &column = layout.output[i];
		if (column.source != ProcessorLayout::Source::PARTITION) {
			continue;
		}
		auto &source = key_row.IsValid() ? current->data[layout.partition_outputs[column.index]]
		                                 : remembered_outputs->data[column.index];
		VectorOperations::Copy(source, own->data[i], sel, count, 0, own_keyed);
	}
	own_keyed = own_rows;
}

void ProcessorStream::CloseOwnChunk() {
	if (!own || own_rows == 0) {
		return;
	}
	own->SetChildCardinality(own_rows);
	own_finished.push_back(std::move(own));
	own_rows = own_keyed = 0;
}

bool ProcessorStream::NextOwnRows(DataChunk &output) {
	if (own_finished.empty()) {
		return false;
	}
	own_emitted = std::move(own_finished.front());
	own_finished.pop_front();
	output.Reference(*own_emitted);
	return true;
}

} // namespace merganser
