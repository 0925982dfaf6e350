//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/processor_stream.hpp
//
// Runs a processor over a stream of chunks that is clustered by the partition columns and ordered inside each
// partition.
//   Push(chunk); while (Next(output)) { ... }; Retain();   for every chunk
//   Finish();    while (Next(output)) { ... }              at the end of the stream
// Outputs refer to the pushed chunk or to held rows, so they are valid until the next call of Push, Retain or Finish.
// Held rows: those a pass-through processor has not released yet. They are copied once, column by column, without the
// partition columns, which are constant; a held row costs its pass-through columns' width. They are allocated through
// the buffer manager, so memory_limit bounds them; they do not spill.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/partition_boundaries.hpp"
#include "grouping/plain_column.hpp"
#include "table_functions/processor.hpp"

#include "duckdb/common/deque.hpp"

namespace merganser {

//! Which columns go where.
struct ProcessorLayout {
	//! The function's name, for messages.
	string function;
	enum class Source : uint8_t { PROPER, PARTITION, INPUT };
	struct OutputColumn {
		Source source;
		//! PROPER: which proper column. PARTITION: which partition column. INPUT: position in the input chunk.
		idx_t index;
	};

	vector<string> input_names;
	vector<LogicalType> input_types;
	//! Positions in the input chunk.
	vector<idx_t> partition_columns;
	//! The columns that PARTITION outputs repeat, where a row of the partition has them; see LogicalTableFunction.
	vector<idx_t> partition_outputs;
	vector<idx_t> required_columns;
	vector<LogicalType> proper_types;
	vector<OutputColumn> output;
	vector<LogicalType> output_types;
	bool pass_through;
	//! Largest slice handed to the processor at once.
	idx_t slice_rows = STANDARD_VECTOR_SIZE;
};

//! Sees every partition as it begins; see input_verification.hpp.
class PartitionObserver {
public:
	virtual ~PartitionObserver() = default;
	//! Called for every chunk before its rows are processed.
	virtual void Observe(DataChunk &input, const PartitionBoundaries &boundaries) = 0;
};

class ProcessorStream : private ProcessorOutput {
public:
	ProcessorStream(ClientContext &context, const ProcessorLayout &layout, unique_ptr<Processor> processor,
	                optional_ptr<PartitionObserver> observer);
	~ProcessorStream() override;

	void Push(DataChunk &input);
	void Finish();
	bool Next(DataChunk &output);
	void Retain();

private:
	//! Runs after which the stream emits before it processes more input.
	static constexpr idx_t ENOUGH_RUNS = 16384;

	struct HeldRows {
		//! Stream position of the first row.
		idx_t first;
		idx_t count;
		unique_ptr<DataChunk> rows;
	};

	void NewRow() override;
	void SetString(idx_t column, string_t value) override;
	void SetFrom(idx_t column, const Vector &source, idx_t position) override;
	void SetValue(idx_t column, const Value &value) override;
	Vector &Target(idx_t column) override;

	void PrepareInput(DataChunk &input);
	void BeginPartition(idx_t start);
	void Consume(idx_t begin, idx_t end);
	void Advance();
	void NextRuns(DataChunk &output);
	void ClearRuns();
	void NextEach(DataChunk &output);
	bool NextOwnRows(DataChunk &output);
	void AddPartitionColumns();
	void RememberPartitionOutputs();
	void CloseOwnChunk();
	void DropReleased();
	void Hold(idx_t begin);
	[[noreturn]] void ThrowTooManyHeld(const OutOfMemoryException &reason) const;
	HeldRows &RoomForHeldRows();
	optional_ptr<HeldRows> HeldAt(idx_t position);
	void FillProper(DataChunk &output, idx_t first_run);
	bool EmitKeyColumn(Vector &target, optional_ptr<HeldRows> source, idx_t key, idx_t count);
	void EmitInputColumns(DataChunk &output, optional_ptr<HeldRows> held, const SelectionVector &sel, idx_t first,
	                      idx_t count, bool contiguous);

	ClientContext &context;
	const ProcessorLayout &layout;
	unique_ptr<Processor> processor;
	optional_ptr<PartitionObserver> observer;
	PartitionBoundaries boundaries;
	bool open = false;

	optional_ptr<DataChunk> current;
	//! Rows of the current chunk the processor has seen, and the next partition start to come.
	idx_t consumed = 0;
	idx_t next_start = 0;
	//! Stream position of the current chunk's first row, and behind its last row.
	idx_t current_start = 0;
	idx_t current_end = 0;
	vector<const_reference<Vector>> required;
	vector<UnifiedVectorFormat> formats;
	vector<PlainColumn> plain;

	// Pass-through functions.
	idx_t next_run = 0;
	idx_t next_offset = 0;
	idx_t next_each = 0;
	deque<HeldRows> held;
	vector<unique_ptr<DataChunk>> spare;
	//! Positions in the input chunk of the columns that are held, and their types.
	vector<idx_t> held_columns;
	vector<LogicalType> held_types;
	//! Per output column: the position among the held columns, invalid for partition columns that are constant.
	vector<optional_idx> held_position;
	//! Per output column: the partition column it repeats, if any.
	vector<optional_idx> key_position;

	//! A proper column that is used.
	struct ProperColumn {
		idx_t index;
		idx_t output_position;
		//! Bytes per value.
		idx_t width;
	};
	vector<ProperColumn> proper_columns;
	//! Rows per run of the chunk being emitted.
	unsafe_vector<idx_t> emitted_counts;

	// All other functions.
	unique_ptr<DataChunk> own;
	idx_t own_rows = 0;
	//! Rows of `own` before this one have their partition columns.
	idx_t own_keyed = 0;
	//! One row of the open partition: the columns of PARTITION outputs, while key_row is invalid.
	unique_ptr<DataChunk> remembered_outputs;
	//! Per proper column: its place in the output, invalid if nothing uses it.
	vector<optional_idx> proper_position;
	deque<unique_ptr<DataChunk>> own_finished;
	unique_ptr<DataChunk> own_emitted;
	//! Position in the current chunk of a row of the open partition; invalid while only the remembered key has its
	//! values.
	optional_idx key_row;
};

} // namespace merganser
