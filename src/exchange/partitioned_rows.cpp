#include "exchange/partitioned_rows.hpp"

#include "duckdb/common/types/hash.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/expression_binder.hpp"
#include "duckdb/storage/buffer_manager.hpp"

namespace merganser {

namespace {

//! Keeps the choice of a partition independent of the bits hash tables use.
const hash_t MIX = 0x9E3779B97F4A7C15ULL;

//! Blocks are written earlier rather than that more than this is collected.
const idx_t MOST_BYTES = idx_t(32) << 20;
//! But not for fewer rows than these.
const idx_t LEAST_BLOCK_ROWS = 16;

//! Not more blocks are held.
const idx_t MOST_HELD = 4;

bool HasOneSize(const LogicalType &type) {
	return TypeIsConstantSize(type.InternalType());
}

} // namespace

PartitionedRows::PartitionedRows(ClientContext &context, const vector<LogicalType> &types, const vector<idx_t> &keys,
                                 idx_t partitions, optional_idx number)
    : allocator(BufferAllocator::Get(context)), types(types), partitions(partitions), number(number),
      one_size(std::all_of(types.begin(), types.end(), HasOneSize)), executor(context), hashes(LogicalType::HASH),
      selection(STANDARD_VECTOR_SIZE), partition_of_row(STANDARD_VECTOR_SIZE) {
	vector<LogicalType> key_types;
	for (auto key : keys) {
		unique_ptr<Expression> expression = make_uniq<BoundReferenceExpression>(types[key], key);
		ExpressionBinder::PushCollation(context, expression, types[key]);
		key_types.push_back(expression->GetReturnType());
		key_expressions.push_back(std::move(expression));
	}
	for (auto &expression : key_expressions) {
		executor.AddExpression(*expression);
	}
	if (!key_types.empty()) {
		key_values.Initialize(context, key_types);
	}
	auto in_order = keys.empty() && !number.IsValid();
	collected.resize(in_order ? 1 : partitions);
	counts.resize(collected.size(), 0);
	ChooseBlockRows();
}

//! Full blocks, unless those of all partitions together would be more than may be collected.
void PartitionedRows::ChooseBlockRows() {
	auto bytes = MaxValue<idx_t>(Collected(0).GetAllocationSize() * collected.size(), 1);
	if (bytes > MOST_BYTES) {
		block_rows = MaxValue<idx_t>(block_rows * MOST_BYTES / bytes, LEAST_BLOCK_ROWS);
		collected[0].reset();
	}
}

DataChunk &PartitionedRows::Collected(idx_t partition) {
	auto &result = collected[partition];
	if (!result) {
		result = make_uniq<DataChunk>();
		result->Initialize(allocator, types, block_rows);
	}
	return *result;
}

void PartitionedRows::Append(DataChunk &rows, ExchangeFileWriter &file) {
	if (rows.size() == 0) {
		return;
	}
	if (number.IsValid()) {
		AppendNumbered(rows, file);
	} else if (key_expressions.empty()) {
		AppendInOrder(rows, file);
	} else {
		AppendHashed(rows, file);
	}
}

void PartitionedRows::AppendHashed(DataChunk &rows, ExchangeFileWriter &file) {
	key_values.Reset();
	executor.Execute(rows, key_values);
	key_values.Hash(hashes);
	hashes.Flatten();
	auto values = FlatVector::GetData<hash_t>(hashes);
	AppendTo(rows, file, [&](idx_t row) { return MurmurHash64(values[row] ^ MIX) % partitions; });
}

void PartitionedRows::AppendNumbered(DataChunk &rows, ExchangeFileWriter &file) {
	UnifiedVectorFormat format;
	rows.data[number.GetIndex()].ToUnifiedFormat(format);
	auto values = UnifiedVectorFormat::GetData<int64_t>(format);
	AppendTo(rows, file, [&](idx_t row) {
		auto index = format.sel->get_index(row);
		if (!format.validity.RowIsValid(index) || values[index] < 0 || idx_t(values[index]) >= partitions) {
			throw InvalidInputException("PARTITION_NUMBER must be from 0 to %llu", partitions - 1);
		}
		return idx_t(values[index]);
	});
}

template <class PARTITION_OF>
void PartitionedRows::AppendTo(DataChunk &rows, ExchangeFileWriter &file, PARTITION_OF partition_of) {
	met.clear();
	for (idx_t row = 0; row < rows.size(); row++) {
		auto partition = partition_of(row);
		partition_of_row[row] = partition;
		if (counts[partition]++ == 0) {
			met.push_back(partition);
		}
	}
	SortByPartition(rows.size());
	idx_t begin = 0;
	for (auto partition : met) {
		auto end = counts[partition];
		counts[partition] = 0;
		AppendSelected(rows, begin, end, partition, file);
		begin = end;
	}
	if (collected_bytes > MOST_BYTES) {
		Flush(file);
		for (auto &of_partition : collected) {
			of_partition.reset();
		}
		collected_bytes = 0;
	}
}

//! Lists the rows of the chunk partition by partition, in the order of `met` and their own; `counts` become the ends.
void PartitionedRows::SortByPartition(idx_t rows) {
	idx_t begin = 0;
	for (auto partition : met) {
		auto count = counts[partition];
		counts[partition] = begin;
		begin += count;
	}
	for (idx_t row = 0; row < rows; row++) {
		selection.set_index(counts[partition_of_row[row]]++, row);
	}
}

//! Blocks are full whatever the chunks are, so that the shares they are spread over depend on the rows alone.
void PartitionedRows::AppendInOrder(DataChunk &rows, ExchangeFileWriter &file) {
	for (idx_t start = 0; start < rows.size();) {
		auto &target = Collected(0);
		auto count = MinValue<idx_t>(block_rows - target.size(), rows.size() - start);
		AppendSlice(rows, start, count, target);
		start += count;
		if (target.size() == block_rows) {
			HoldOrWrite(file);
		}
	}
}

void PartitionedRows::HoldOrWrite(ExchangeFileWriter &file) {
	if (partitions == 1 || !holds) {
		file.AppendBlock(*collected[0], 0);
		collected[0]->Reset();
		return;
	}
	held.push_back(std::move(collected[0]));
	if (held.size() == MinValue(partitions, MOST_HELD)) {
		WriteHeld(file);
	}
}

void PartitionedRows::WriteHeld(ExchangeFileWriter &file) {
	holds = false;
	idx_t rows = 0;
	for (auto &block : held) {
		rows += block->size();
	}
	auto size = (rows + partitions - 1) / partitions;
	if (size >= block_rows) {
		for (auto &block : held) {
			file.AppendBlock(*block, 0);
		}
	} else {
		WriteHeldInPieces(size, file);
	}
	held.clear();
}

void PartitionedRows::WriteHeldInPieces(idx_t size, ExchangeFileWriter &file) {
	DataChunk piece;
	piece.Initialize(allocator, types, MaxValue<idx_t>(size, 1));
	for (auto &block : held) {
		for (idx_t start = 0; start < block->size();) {
			auto count = MinValue<idx_t>(size - piece.size(), block->size() - start);
			AppendSlice(*block, start, count, piece);
			start += count;
			if (piece.size() == size) {
				file.AppendBlock(piece, 0);
				piece.Reset();
			}
		}
	}
	if (piece.size() > 0) {
		file.AppendBlock(piece, 0);
	}
}

void PartitionedRows::AppendSlice(DataChunk &rows, idx_t start, idx_t count, DataChunk &target) {
	for (idx_t i = 0; i < count; i++) {
		selection.set_index(i, start + i);
	}
	target.Append(rows, selection, count);
}

//! The rows `begin` to before `end` of `selection`.
void PartitionedRows::AppendSelected(DataChunk &rows, idx_t begin, idx_t end, idx_t partition,
                                     ExchangeFileWriter &file) {
	auto &target = Collected(partition);
	auto bytes_before = one_size ? 0 : target.GetAllocationSize();
	while (begin < end) {
		if (target.size() == block_rows) {
			file.AppendBlock(target, partition);
			target.Reset();
		}
		auto count = MinValue(end - begin, block_rows - target.size());
		SelectionVector of_partition(selection.data() + begin, count);
		target.Append(rows, of_partition, count);
		begin += count;
	}
	if (!one_size) {
		collected_bytes += target.GetAllocationSize();
		collected_bytes -= bytes_before;
	}
}

void PartitionedRows::Flush(ExchangeFileWriter &file) {
	if (partitions > 1 && holds && key_expressions.empty() && !number.IsValid()) {
		if (collected[0]) {
			held.push_back(std::move(collected[0]));
		}
		WriteHeld(file);
		return;
	}
	for (idx_t partition = 0; partition < collected.size(); partition++) {
		auto &rows = collected[partition];
		if (rows && rows->size() > 0) {
			file.AppendBlock(*rows, partition);
			rows->Reset();
		}
	}
}

} // namespace merganser
