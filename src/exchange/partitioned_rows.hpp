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
// same shares. Rows that come with the number of their partition go there.
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
	const idx_t partitions;
	const optional_idx number;
	vector<unique_ptr<Expression>> key_expressions;
	ExpressionExecutor executor;
	DataChunk key_values;
	Vector hashes;
	//! The rows collected for each partition.
	vector<unique_ptr<DataChunk>> collected;
	vector<SelectionVector> selections;

	void AppendHashed(DataChunk &rows, ExchangeFileWriter &file);
	void AppendNumbered(DataChunk &rows, ExchangeFileWriter &file);
	//! Appends each row to the partition that `partition_of` says.
	template <class PARTITION_OF>
	void AppendTo(DataChunk &rows, ExchangeFileWriter &file, PARTITION_OF partition_of);
	void AppendInOrder(DataChunk &rows, ExchangeFileWriter &file);
	void FlushInPieces(ExchangeFileWriter &file);
	void AppendSlice(DataChunk &rows, idx_t start, idx_t count, DataChunk &target);
	void AppendSelected(DataChunk &rows, const SelectionVector &selection, idx_t count, idx_t partition,
	                    ExchangeFileWriter &file);
};

} // namespace merganser
