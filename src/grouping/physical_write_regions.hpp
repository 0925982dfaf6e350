//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/physical_write_regions.hpp
//
// Writes rows that arrive region by region, sorted, into one Parquet file per region. The last column of the input is
// the region's number. Every thread gets whole regions from the sort below, so it has one file open at a time.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/function/copy_function.hpp"

namespace merganser {

struct RegionWriter {
	//! Path and what happens to files that are there.
	string folder;
	CopyOverwriteMode mode;
	//! Of this COPY.
	string id;
	//! Sorted by inside a region.
	vector<idx_t> sort_columns;
	optional<CopyFunction> parquet;
	unique_ptr<FunctionData> bind_data;
};

class PhysicalWriteRegions : public PhysicalOperator {
public:
	PhysicalWriteRegions(PhysicalPlan &plan, RegionWriter writer, idx_t estimated_cardinality);

	//! The writer over a sort of `input`.
	static PhysicalOperator &Plan(PhysicalPlanGenerator &planner, PhysicalOperator &input, RegionWriter writer,
	                              idx_t estimated_cardinality);

	string GetName() const override {
		return "WRITE_REGIONS";
	}
	bool IsSink() const override {
		return true;
	}
	bool ParallelSink() const override {
		return true;
	}
	bool SinkOrderDependent() const override {
		return true;
	}
	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override;
	unique_ptr<LocalSinkState> GetLocalSinkState(ExecutionContext &context) const override;
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override;
	SinkCombineResultType Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const override;
	SinkFinalizeType Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                          OperatorSinkFinalizeInput &input) const override;

	bool IsSource() const override {
		return true;
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;

	const RegionWriter writer;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;
};

} // namespace merganser
