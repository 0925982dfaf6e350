//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/partitioned_sort.hpp
//
// The hashed grouping: rows are hashed by the partition columns into bins, each bin is sorted by partition and then by
// the call's ORDER BY, and threads hand out whole bins. Stands on DuckDB's HashedSort, the same machinery windows use,
// so it spills to disk under memory_limit and copes with one partition that is larger than memory. No order between
// partitions is promised.
//
// Partitions only have to lie together, so where their columns make a long sort key (text, or many columns), a bin is
// sorted by a hash of them:
//   sort key (tag1, tag2, tag3, time), compared as bytes in memory   becomes   (hash(tag1, tag2, tag3), time), 18 bytes
// Sound: rows of one partition have one hash, and a sorted bin is handed out only after a pass over it found that no
// two partitions share a hash; a bin in which two do is sorted again by the columns themselves. The pass, which bins
// that are sorted by the columns get too, also verifies that partitions ascend, so that none comes twice.
//
// A call without ORDER BY takes the rows of a partition in the order in which they are produced. Then rows get two
// columns more, which they are sorted by: the number DuckDB gives the batch a row comes in (batch index) and the row's
// place in it; or, where a source below does not number batches, one thread counts rows.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/bound_query_node.hpp"

namespace duckdb {
class ColumnDataCollection;
}

namespace merganser {

class PhysicalPartitionedSort : public PhysicalOperator {
public:
	//! `partitions` refer to the partition columns; `key_hash` is a hash of them to sort by, or none to sort by them.
	PhysicalPartitionedSort(PhysicalPlan &plan, PhysicalOperator &input, string function,
	                        vector<unique_ptr<Expression>> partitions, unique_ptr<Expression> key_hash,
	                        vector<BoundOrderByNode> orders);

	//! Rows that agree in `orders` keep the order in which they are produced.
	void KeepOrder(ClientContext &context);

	//! hash(…) of the partition columns where it is the shorter sort key, otherwise none.
	static unique_ptr<Expression> ShorterKey(ClientContext &context, const vector<unique_ptr<Expression>> &partitions);

	vector<unique_ptr<Expression>> partitions;
	//! What HashedSort sorts by before the orders: the hash, or the partition columns.
	vector<unique_ptr<Expression>> sorted_by;
	vector<BoundOrderByNode> orders;
	//! The call's, for messages.
	const string function;
	bool keeps_order = false;
	bool uses_batch_index = false;

	string GetName() const override {
		return "PARTITIONED_SORT";
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	bool IsSink() const override {
		return true;
	}
	bool ParallelSink() const override {
		return !keeps_order || uses_batch_index;
	}
	bool SinkOrderDependent() const override {
		return keeps_order;
	}
	OperatorPartitionInfo RequiredPartitionInfo() const override;
	void BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) override;
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	unique_ptr<LocalSinkState> GetLocalSinkState(ExecutionContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;
	SinkCombineResultType Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const override;
	SinkFinalizeType Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                          OperatorSinkFinalizeInput &input) const override;

	bool IsSource() const override {
		return true;
	}
	bool ParallelSource() const override {
		return true;
	}
	OrderPreservationType SourceOrder() const override {
		return OrderPreservationType::NO_ORDER;
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;
	unique_ptr<LocalSourceState> GetLocalSourceState(ExecutionContext &context,
	                                                 GlobalSourceState &state) const override;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;

private:
	bool SortsByHash() const;
	unique_ptr<ColumnDataCollection> SortBin(ExecutionContext &context, idx_t bin, GlobalSourceState &state,
	                                         InterruptState &interrupt) const;
	//! The columns of a row and, behind them, its place.
	vector<LogicalType> PayloadTypes() const;
	bool HashesTellPartitionsApart(ClientContext &context, ColumnDataCollection &rows) const;
	void VerifyPartitionsAscend(ClientContext &context, ColumnDataCollection &rows) const;
	[[noreturn]] void ThrowPartitionsDescend() const;
	unique_ptr<ColumnDataCollection> SortByColumns(ExecutionContext &context, ColumnDataCollection &rows) const;
};

} // namespace merganser
