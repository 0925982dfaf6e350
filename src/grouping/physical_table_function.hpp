//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/physical_table_function.hpp
//
// Runs a table function inside a pipeline. Its input arrives clustered and ordered, from whatever grouping stands below
// it (none when fused), which is verified (input_verification.hpp); every thread has a stream and a processor of its
// own. Not parallel where one partition, or a function that cannot be split, must see the whole input.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/grouping_decision.hpp"
#include "grouping/input_verification.hpp"
#include "grouping/processor_stream.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

class PhysicalTableFunction : public PhysicalOperator {
public:
	PhysicalTableFunction(PhysicalPlan &plan, const TableFunctionDefinition &definition,
	                      shared_ptr<BoundProcessor> bound, ProcessorLayout layout, GroupingDecision decision,
	                      InsertionOrderPreservingMap<string> description, idx_t estimated_cardinality);

	string GetName() const override {
		return definition.name;
	}
	InsertionOrderPreservingMap<string> ParamsToString() const override;

	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	unique_ptr<OperatorState> GetOperatorState(ExecutionContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	OperatorFinalizeResultType FinalExecute(ExecutionContext &context, DataChunk &chunk, GlobalOperatorState &gstate,
	                                        OperatorState &state) const override;
	bool ParallelOperator() const override {
		return decision.parallel;
	}
	bool RequiresFinalExecute() const override {
		return true;
	}
	OrderPreservationType OperatorOrder() const override {
		return decision.parallel ? OrderPreservationType::INSERTION_ORDER : OrderPreservationType::FIXED_ORDER;
	}

	const TableFunctionDefinition &definition;
	shared_ptr<BoundProcessor> bound;
	ProcessorLayout layout;
	GroupingDecision decision;
	InsertionOrderPreservingMap<string> description;
	//! REGION_LOCAL only: the scan at the end of this pipeline.
	optional_ptr<PhysicalRegionScan> region_scan;
	//! What is verified of the input; set semantics only.
	InputPromise promise;
};

} // namespace merganser
