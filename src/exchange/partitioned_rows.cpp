#include "exchange/partitioned_rows.hpp"

#include "duckdb/common/types/hash.hpp"
#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/expression_binder.hpp"

namespace merganser {

namespace {

//! Keeps the choice of a partition independent of the bits hash tables use.
const hash_t MIX = 0x9E3779B97F4A7C15ULL;

} // namespace

PartitionedRows::PartitionedRows(ClientContext &context, const vector<LogicalType> &types, const vector<idx_t> &keys,
                                 idx_t partitions, optional_idx number)
    : partitions(partitions), number(number), executor(context), hashes(LogicalType::HASH) {
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
	auto collectors = keys.empty() && !number.IsValid() ? 1 : partitions;
	for (idx_t i = 0; i < collectors; i++) {
		auto rows = make_uniq<DataChunk>();
		rows->Initialize(context, types);
		collected.push_back(std::move(rows));
		selections.emplace_back(STANDARD_VECTOR_SIZE);
	}
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
	vector<idx_t> counts(partitions, 0);
	for (idx_t row = 0; row < rows.size(); row++) {
		auto partition = partition_of(row);
		selections[partition].set_index(counts[partition]++, row);
	}
	for (idx_t partition = 0; partition < partitions; partition++) {
		if (counts[partition] > 0) {
			AppendSelected(rows, selections[partition], counts[partition], partition, file);
		}
	}
}

//! Blocks are full whatever the chunks are, so that the shares they are spread over depend on the rows alone.
void PartitionedRows::AppendInOrder(DataChunk &rows, ExchangeFileWriter &file) {
	auto &target = *collected[0];
	for (idx_t start = 0; start < rows.size();) {
		auto count = MinValue<idx_t>(STANDARD_VECTOR_SIZE - target.size(), rows.size() - start);
		AppendSlice(rows, start, count, target);
		start += count;
		if (target.size() == STANDARD_VECTOR_SIZE) {
			Flush(file);
		}
	}
}

//! Several blocks, so that even a small result can be spread over all partitions.
void PartitionedRows::FlushInPieces(ExchangeFileWriter &file) {
	auto &rows = *collected[0];
	DataChunk piece;
	piece.Initialize(Allocator::DefaultAllocator(), rows.GetTypes());
	auto size = (rows.size() + partitions - 1) / partitions;
	for (idx_t start = 0; start < rows.size(); start += size) {
		piece.Reset();
		AppendSlice(rows, start, MinValue<idx_t>(size, rows.size() - start), piece);
		file.AppendBlock(piece, 0);
	}
	rows.Reset();
}

void PartitionedRows::AppendSlice(DataChunk &rows, idx_t start, idx_t count, DataChunk &target) {
	auto &selection = selections[0];
	for (idx_t i = 0; i < count; i++) {
		selection.set_index(i, start + i);
	}
	target.Append(rows, selection, count);
}

void PartitionedRows::AppendSelected(DataChunk &rows, const SelectionVector &selection, idx_t count, idx_t partition,
                                     ExchangeFileWriter &file) {
	auto &target = *collected[partition];
	if (target.size() + count > STANDARD_VECTOR_SIZE) {
		file.AppendBlock(target, partition);
		target.Reset();
	}
	target.Append(rows, selection, count);
}

void PartitionedRows::Flush(ExchangeFileWriter &file) {
	if (partitions > 1 && key_expressions.empty() && !number.IsValid()) {
		FlushInPieces(file);
		return;
	}
	for (idx_t partition = 0; partition < collected.size(); partition++) {
		auto &rows = *collected[partition];
		if (rows.size() > 0) {
			file.AppendBlock(rows, partition);
			rows.Reset();
		}
	}
}

} // namespace merganser
