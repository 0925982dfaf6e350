//===----------------------------------------------------------------------===//
//                         Merganser
//
// exchange/partitioned_rows.hpp
//
// Problem: two rows that are equal on the keys must reach the same task, whoever wrote them.
// Splits chunks into partitions by the hash of their keys and collects the rows of each until a block is full.
//
// Sound because DuckDB's hash agrees with its equality: -0.0 and 0.0, all NaNs, equal numbers of different types; a
// collated key is hashed by its sort key. The hash is mixed again, so that rows of one partition still spread over a
// hash table. Without keys rows keep their order, and blocks are cut by the number of rows alone;
// SpreadBlocks of the file then gives each partition a contiguous share. So the same rows in the same order make the
// same shares. Blocks are full where there are enough of them for all partitions, so that tasks work on DuckDB's own
// vectors; only the first few are cut into pieces where there are not. Rows that come with the number of their
// partition go there.
//
// Memory: taken from DuckDB's buffer manager, so memory_limit counts it. What is collected has a block for each
// partition that has been met, of 2048 rows or, where there are so many partitions that all blocks together would be
// more than 32 MiB, of fewer, down to 16. Where texts and lists have 32 MiB beside that, all blocks are written as they
// are. So a thread holds at most 64 MiB and a chunk, unless 16 rows of each partition are more, and for each partition
// and column half a KiB or so. Rows without keys are held for at most 4 blocks.
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/exchange_file.hpp"

#include "duckdb/execution/expression_executor.hpp"

namespace merganser {

//! One thread's rows on their way into an exchange file.
class PartitionedRows {
public:
	//! `keys` are columns of the rows; none means: no hashing, the file's order is the rows' order.
	//! `number`, instead of keys, is the BIGINT column that says each row's partition.
	PartitionedRows(ClientContext &context, const vector<LogicalType> &types, const vector<idx_t> &keys,
	                idx_t partitions, optional_idx number = optional_idx());

	void Append(DataChunk &rows, ExchangeFileWriter &file);
	void Flush(ExchangeFileWriter &file);

private:
	Allocator &allocator;
	const vector<LogicalType> types;
	const idx_t partitions;
	const optional_idx number;
	//! Whether all rows take the same room.
	const bool one_size;
	vector<unique_ptr<Expression>> key_expressions;
	ExpressionExecutor executor;
	DataChunk key_values;
	Vector hashes;
	//! The rows collected for each partition, none before the first.
	vector<unique_ptr<DataChunk>> collected;
	//! Full blocks of rows without keys, until there are enough.
	vector<unique_ptr<DataChunk>> held;
	bool holds = true;
	//! Rows of a block.
	idx_t block_rows = STANDARD_VECTOR_SIZE;
	//! Where rows differ in size: what the collected ones take.
	idx_t collected_bytes = 0;
	//! Of one chunk: the partition of each row, the partitions its rows go to, and how many to each.
	SelectionVector selection;
	unsafe_vector<idx_t> partition_of_row;
	vector<idx_t> met;
	vector<idx_t> counts;

	void ChooseBlockRows();
	DataChunk &Collected(idx_t partition);
	void AppendHashed(DataChunk &rows, ExchangeFileWriter &file);
	void AppendNumbered(DataChunk &rows, ExchangeFileWriter &file);
	//! Appends each row to the partition that `partition_of` says.
	template <class PARTITION_OF>
	void AppendTo(DataChunk &rows, ExchangeFileWriter &file, PARTITION_OF partition_of);
	void SortByPartition(idx_t rows);
	void AppendInOrder(DataChunk &rows, ExchangeFileWriter &file);
	//! The block of rows without keys that is collected is full.
	void HoldOrWrite(ExchangeFileWriter &file);
	//! Writes the blocks that are held, so that even a small result can be spread over all partitions.
	void WriteHeld(ExchangeFileWriter &file);
	void WriteHeldInPieces(idx_t size, ExchangeFileWriter &file);
	void AppendSlice(DataChunk &rows, idx_t start, idx_t count, DataChunk &target);
	void AppendSelected(DataChunk &rows, idx_t begin, idx_t end, idx_t partition, ExchangeFileWriter &file);
};

} // namespace merganser
