//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/processor.hpp
//
// The interface every table function implements. A processor sees one partition at a time, its rows in the order the
// call asked for, a slice of a chunk at a time:
//   BeginPartition, Consume (one or more times), EndPartition
// and emits rows in one of two ways:
//
// A pass-through function (SESSION, VARIATION, ...) names input rows, by their number within the partition, with values
// for its proper columns. The framework hands those input rows on by reference; rows that a processor still needs to
// emit after Consume returns are held, chunk by chunk, until it releases them.
//
// Any other function (M4, FFT, ...) writes rows of its own. The framework adds the partition columns.
//
// Row numbers count from 0 within the partition. A processor never sees partition columns, other columns than it
// required, or two partitions at once, so it needs no code for grouping, parallelism, pruning or spilling. One
// processor object serves all partitions of one thread, one after the other: BeginPartition has to reset it. Errors:
// throw InvalidInputException with the function's name; see docs/playbooks/add_a_table_function.md.
//===----------------------------------------------------------------------===//

#pragma once

#include "table_functions/arguments.hpp"

#include "duckdb/common/types/data_chunk.hpp"

namespace merganser {

//! Consecutive rows of one partition, all in one chunk.
class InputRows {
public:
	InputRows(const vector<const_reference<Vector>> &columns, const vector<UnifiedVectorFormat> &formats)
	    : columns(columns), formats(formats) {
	}

	//! Positions of the slice within the chunk: begin <= position < end.
	idx_t begin = 0;
	idx_t end = 0;
	//! Row number, within the partition, of the row at `begin`.
	idx_t first_row = 0;

	idx_t RowNumber(idx_t position) const {
		return first_row + (position - begin);
	}
	//! `required` counts the columns of BoundProcessor::required_columns.
	const Vector &Column(idx_t required) const {
		return columns[required].get();
	}
	const UnifiedVectorFormat &Format(idx_t required) const {
		return formats[required];
	}
	bool IsNull(idx_t required, idx_t position) const {
		auto &format = formats[required];
		return !format.validity.RowIsValid(format.sel->get_index(position));
	}
	template <class T>
	const T &Get(idx_t required, idx_t position) const {
		auto &format = formats[required];
		return UnifiedVectorFormat::GetData<T>(format)[format.sel->get_index(position)];
	}

private:
	const vector<const_reference<Vector>> &columns;
	const vector<UnifiedVectorFormat> &formats;
};

//! Where a processor puts its rows.
class ProcessorOutput {
public:
	virtual ~ProcessorOutput() = default;

	// Pass-through functions.

	//! Emits `count` input rows of this partition, from row number `first_row` on, all with the same proper values,
	//! which have to follow: one SetProper for each proper column.
	void EmitRows(idx_t first_row, idx_t count) {
		runs.push_back(Run {partition_start + first_row, count});
	}
	//! T is the proper column's C++ type, of at most 8 bytes.
	template <class T>
	void SetProper(idx_t column, T value) {
		static_assert(sizeof(T) <= sizeof(uint64_t), "proper values of pass-through functions have at most 8 bytes");
		uint64_t bits = 0;
		memcpy(&bits, &value, sizeof(T));
		run_values[column].push_back(bits);
	}
	//! Emits rows of the slice being consumed, in this order, each with its own proper values: columns[c][i] belongs to
	//! proper column c and rows[i]. T is the C++ type of all proper columns. Not to be mixed with EmitRows.
	template <class T>
	void EmitEach(const vector<idx_t> &rows, const vector<const T *> &columns) {
		if (rows.empty()) {
			return;
		}
		for (auto row_number : rows) {
			each_rows.push_back(partition_start + row_number);
		}
		each_values.resize(columns.size());
		for (idx_t column = 0; column < columns.size(); column++) {
			auto &values = each_values[column];
			auto begin = values.size();
			values.resize(begin + rows.size() * sizeof(T));
			memcpy(values.data() + begin, columns[column], rows.size() * sizeof(T));
		}
	}
	//! Rows of this partition before `row` will not be emitted any more. Every pass-through processor calls it at the
	//! end of Consume: what is not released is held in memory.
	void ReleaseBefore(idx_t row) {
		released = partition_start + row;
	}

	// All other functions.

	//! Starts a row of this partition, every proper column NULL.
	virtual void NewRow() = 0;
	//! The proper column's data at the row being written, to be set to T; string_t goes through SetString.
	template <class T>
	void Set(idx_t column, T value) {
		auto &target = Target(column);
		FlatVector::ValidityMutable(target).SetValid(row);
		FlatVector::GetDataMutable<T>(target)[row] = value;
	}
	virtual void SetString(idx_t column, string_t value) = 0;
	//! Copies the value at `position` of an input column, whatever its type.
	virtual void SetFrom(idx_t column, const Vector &source, idx_t position) = 0;
	virtual void SetValue(idx_t column, const Value &value) = 0;

protected:
	struct Run {
		//! Counted over all rows of the stream.
		idx_t first;
		idx_t count;
	};

	virtual Vector &Target(idx_t column) = 0;

	vector<Run> runs;
	//! Per proper column one entry per run.
	vector<vector<uint64_t>> run_values;
	//! The rows of EmitEach, counted over all rows of the stream, and per proper column their values.
	vector<idx_t> each_rows;
	vector<vector<data_t>> each_values;
	//! Stream position of the current partition's row 0.
	idx_t partition_start = 0;
	idx_t released = 0;
	//! Position within the chunk of the row being written.
	idx_t row = 0;
};

class Processor {
public:
	virtual ~Processor() = default;

	virtual void BeginPartition() {
	}
	virtual void Consume(const InputRows &rows, ProcessorOutput &output) = 0;
	virtual void EndPartition(ProcessorOutput &output) {
	}
};

//! One call of a function after its arguments have been checked.
struct BoundProcessor {
	virtual ~BoundProcessor() = default;

	virtual unique_ptr<Processor> MakeProcessor(ClientContext &context) const = 0;

	//! The proper columns.
	vector<string> names;
	vector<LogicalType> types;
	//! The columns of the table argument that Consume reads.
	vector<idx_t> required_columns;
	//! Functions that are not pass-through: how many proper columns stand before the partition columns. All by default.
	optional_idx proper_before_partition_columns;
	//! Roughly how many rows come out per row that goes in, at most; limits how much is emitted at once.
	idx_t rows_per_row = 1;
};

enum class TableSemantics : uint8_t {
	ROW, //! each row is decided by itself; no PARTITION BY, no ORDER BY
	SET  //! each partition is decided as a whole
};

//! A table function, as its author describes it.
struct TableFunctionDefinition {
	virtual ~TableFunctionDefinition() = default;

	//! Checks what parameter kinds cannot express and fixes the output columns. Throws BinderException.
	virtual unique_ptr<BoundProcessor> Bind(ClientContext &context, const BoundArguments &arguments) const = 0;

	//! In upper case; called without regard to case.
	string name;
	string description;
	TableSemantics semantics = TableSemantics::SET;
	//! Output is the proper columns and then every column of the table argument.
	bool pass_through = true;
	//! The input rows it emits come in the order of the input.
	bool preserves_order = true;
	//! Without ORDER BY, its rows may come in any order that changes from run to run: it counts them, as
	//! row_number() OVER () does, and any numbering is an answer. Other functions are refused then.
	bool takes_any_order = false;
	//! May run on several threads, each with whole partitions.
	bool splittable = true;
	//! Name of the table argument, which always comes first.
	string table_parameter = "DATA";
	//! The scalar parameters, in the order of positional calls.
	vector<ParameterDefinition> parameters;
};

} // namespace merganser
