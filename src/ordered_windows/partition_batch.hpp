//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/partition_batch.hpp
//
// Whole partitions, in order, and the values of window functions over them. Rows are appended with the marks of where a
// partition begins, and where, within it, the ORDER BY columns change (peers end); then DuckDB's executors see them as
// they see the rows of a hash group in PhysicalWindow: sunk chunk by chunk, finalised, and evaluated chunk by chunk.
// A function that only carries a value on (carried_value.hpp) needs none of this; where all do, rows are not sunk.
// Rows and marks are held in DuckDB's buffer manager, so memory_limit counts them, and rows spill.
// Errors: DuckDB's, those of the functions included.
//===----------------------------------------------------------------------===//

#pragma once

#include "ordered_windows/carried_value.hpp"
#include "ordered_windows/row_marks.hpp"
#include "ordered_windows/window_functions.hpp"

#include "duckdb/common/types/column/column_data_collection.hpp"
#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/parallel/interrupt.hpp"

namespace merganser {

class PartitionBatch {
public:
	PartitionBatch(ClientContext &context, WindowFunctions &functions, const vector<LogicalType> &types);

	idx_t Count() const {
		return rows.Count();
	}
	//! Rows [begin, end) of the chunk. `partitions` and `peers`, the latter per length of functions.OrderLengths(), are
	//! the positions in the chunk where one starts, ascending.
	void Append(DataChunk &chunk, idx_t begin, idx_t end, const vector<idx_t> &partitions,
	            const vector<reference<const vector<idx_t>>> &peers);
	//! Rows in the order in which they were appended, and the values of the functions behind the columns. False after
	//! the last. No rows may be appended any more.
	bool Next(ExecutionContext &context, DataChunk &result);

private:
	void Compute(ExecutionContext &context);
	void MakeMasks();
	void MakeStates(ExecutionContext &context);
	void SinkRows(ExecutionContext &context);
	void Sink(ExecutionContext &context, DataChunk &chunk, idx_t position);
	const ValidityMask &OrderMask(const WindowExecutor &executor) const;
	bool HasNoTies(const WindowExecutor &executor) const;

	ClientContext &client;
	WindowFunctions &functions;
	const vector<idx_t> order_lengths;
	ColumnDataCollection rows;
	ColumnDataAppendState append;
	ColumnDataScanState scan;
	DataChunk chunk;
	RowMarks partition_marks;
	vector<RowMarks> peer_marks;
	//! The marks once all rows are there, as the executors want them.
	ValidityMask partition_mask;
	vector<ValidityMask> peer_masks;
	unique_ptr<WindowCollection> collection;
	unique_ptr<WindowBuilder> builder;
	ExpressionExecutor collected, sunk, evaluated;
	DataChunk collected_chunk, sunk_chunk, evaluated_chunk, values;
	InterruptState interrupt;
	//! Per function; none where DuckDB's executor computes it, and then it has states.
	vector<unique_ptr<CarriedValue>> carried;
	vector<unique_ptr<GlobalSinkState>> global_states;
	vector<unique_ptr<LocalSinkState>> local_states;
	bool computed = false;
};

} // namespace merganser
