#include "grouping/physical_table_function.hpp"

#include "grouping/unfinished_chunk.hpp"

namespace merganser {

namespace {

class TableFunctionState : public OperatorState {
public:
	TableFunctionState(ExecutionContext &context, const PhysicalTableFunction &op)
	    : verification(Verification(context, op)),
	      stream(context.client, op.layout, op.bound->MakeProcessor(context.client), verification.get()) {
	}

	static unique_ptr<InputVerification> Verification(ExecutionContext &context, const PhysicalTableFunction &op) {
		if (op.decision.grouping == Grouping::ROWS) {
			return nullptr;
		}
		auto position = op.region_scan ? op.region_scan->Position(context) : nullptr;
		return make_uniq<InputVerification>(context.client, op.promise, op.region_scan.get(), std::move(position),
		                                    op.op_state->Cast<InputVerificationState>());
	}

	void Push(DataChunk &input) {
		stream.Push(input);
		pushed.Hold(input);
	}

	void Retain() {
		stream.Retain();
		pushed.Release();
	}

	unique_ptr<InputVerification> verification;
	ProcessorStream stream;
	UnfinishedChunk pushed;
	bool finished = false;
};

} // namespace

PhysicalTableFunction::PhysicalTableFunction(PhysicalPlan &plan, const TableFunctionDefinition &definition,
                                             shared_ptr<BoundProcessor> bound_p, ProcessorLayout layout_p,
                                             GroupingDecision decision_p,
                                             InsertionOrderPreservingMap<string> description_p,
                                             idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, layout_p.output_types, estimated_cardinality),
      definition(definition), bound(std::move(bound_p)), layout(std::move(layout_p)), decision(std::move(decision_p)),
      description(std::move(description_p)) {
}

InsertionOrderPreservingMap<string> PhysicalTableFunction::ParamsToString() const {
	auto result = description;
	result["Grouping"] = decision.Name();
	result["Reason"] = decision.reason;
	SetEstimatedCardinality(result, estimated_cardinality);
	return result;
}

unique_ptr<GlobalOperatorState> PhysicalTableFunction::GetGlobalOperatorState(ClientContext &context) const {
	return make_uniq<InputVerificationState>(context);
}

unique_ptr<OperatorState> PhysicalTableFunction::GetOperatorState(ExecutionContext &context) const {
	return make_uniq<TableFunctionState>(context, *this);
}

OperatorResultType PhysicalTableFunction::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                                  GlobalOperatorState &gstate, OperatorState &state_p) const {
	auto &state = state_p.Cast<TableFunctionState>();
	if (!state.pushed.IsHeld()) {
		state.Push(input);
	} else if (!state.pushed.Is(input)) {
		// A LIMIT above has seen enough, and DuckDB flushes the operators below, which fetches what is left of nothing
		return OperatorResultType::FINISHED;
	}
	if (state.stream.Next(chunk)) {
		return OperatorResultType::HAVE_MORE_OUTPUT;
	}
	state.Retain();
	return OperatorResultType::NEED_MORE_INPUT;
}

OperatorFinalizeResultType PhysicalTableFunction::FinalExecute(ExecutionContext &context, DataChunk &chunk,
                                                               GlobalOperatorState &gstate,
                                                               OperatorState &state_p) const {
	auto &state = state_p.Cast<TableFunctionState>();
	if (state.pushed.IsHeld()) {
		return OperatorFinalizeResultType::FINISHED; // as in Execute
	}
	if (!state.finished) {
		state.stream.Finish();
		state.finished = true;
	}
	return state.stream.Next(chunk) ? OperatorFinalizeResultType::HAVE_MORE_OUTPUT
	                                : OperatorFinalizeResultType::FINISHED;
}

} // namespace merganser
