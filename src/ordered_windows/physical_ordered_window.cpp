#include "ordered_windows/physical_ordered_window.hpp"

#include "grouping/unfinished_chunk.hpp"
#include "ordered_windows/partition_batch.hpp"

#include <deque>

namespace merganser {

namespace {

class OrderedWindowGlobalState : public GlobalOperatorState {
public:
	OrderedWindowGlobalState(ClientContext &context, const PhysicalOrderedWindow &op)
	    : functions(context, op.functions), verification(context) {
	}

	WindowFunctions functions;
	InputVerificationState verification;
};

//! The columns whose values tell peers apart: those of PARTITION BY and the first of ORDER BY.
vector<idx_t> PeerColumns(const InputPromise &promise, idx_t order_length) {
	auto result = promise.partition_columns;
	for (idx_t i = 0; i < order_length; i++) {
		result.push_back(promise.ordering[i].column);
	}
	return result;
}

class OrderedWindowState : public OperatorState {
public:
	OrderedWindowState(ExecutionContext &context, const PhysicalOrderedWindow &op)
	    : context(context.client), global(op.op_state->Cast<OrderedWindowGlobalState>()), types(op.promise.input_types),
	      partitions(context.client, op.promise.partition_columns, types),
	      verification(context.client, op.promise, op.region_scan.get(),
		               op.region_scan ? op.region_scan->Position(context) : nullptr, global.verification) {
		for (auto length : global.functions.OrderLengths()) {
			peers.emplace_back(context.client, PeerColumns(op.promise, length), types);
		}
	}

	void Take(DataChunk &input) {
		if (input.size() > 0) {
			Gather(input);
		}
		taken.Hold(input); // after Gather, which may flatten columns and so change their buffers
	}

	void Finish() {
		if (!finished && open) {
			complete.push_back(std::move(open));
		}
		finished = true;
	}

	bool Next(ExecutionContext &execution, DataChunk &chunk) {
		while (!complete.empty()) {
			if (complete.front()->Next(execution, chunk)) {
				return true;
			}
			complete.pop_front();
		}
		return false;
	}

	UnfinishedChunk taken;

private:
	void Gather(DataChunk &input) {
		partitions.Find(input);
		verification.Observe(input, partitions);
		vector<reference<const vector<idx_t>>> peer_starts;
		for (auto &boundaries : peers) {
			boundaries.Find(input);
			peer_starts.emplace_back(boundaries.Starts());
		}
		idx_t begin = 0;
		for (auto start : partitions.Starts()) {
			if (open && open->Count() + start - begin >= PhysicalOrderedWindow::BATCH_ROWS) {
				open->Append(input, begin, start, partitions.Starts(), peer_starts);
				complete.push_back(std::move(open));
				begin = start;
			}
		}
		if (!open) {
			open = make_uniq<PartitionBatch>(context, global.functions, types);
		}
		open->Append(input, begin, input.size(), partitions.Starts(), peer_starts);
		partitions.Remember(input);
		for (auto &boundaries : peers) {
			boundaries.Remember(input);
		}
	}

	ClientContext &context;
	OrderedWindowGlobalState &global;
	const vector<LogicalType> &types;
	PartitionBoundaries partitions;
	vector<PartitionBoundaries> peers;
	InputVerification verification;
	//! Gathers rows; its last partition may go on.
	unique_ptr<PartitionBatch> open;
	//! Whole partitions that have not all been handed on.
	std::deque<unique_ptr<PartitionBatch>> complete;
	bool finished = false;
};

} // namespace

PhysicalOrderedWindow::PhysicalOrderedWindow(PhysicalPlan &plan, vector<LogicalType> types_p,
                                             vector<unique_ptr<Expression>> functions_p, idx_t estimated_cardinality,
                                             InputPromise promise_p, GroupingDecision decision_p)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types_p), estimated_cardinality),
      functions(std::move(functions_p)), promise(std::move(promise_p)), decision(std::move(decision_p)) {
}

InsertionOrderPreservingMap<string> PhysicalOrderedWindow::ParamsToString() const {
	InsertionOrderPreservingMap<string> result;
	vector<string> texts;
	for (auto &function : functions) {
		texts.push_back(function->GetName().GetIdentifierName());
	}
	// EXPLAIN ANALYZE calls every operator of an extension "Extension", so the description has the name too
	result["Ordered Window"] = StringUtil::Join(texts, "\n");
	result["Grouping"] = decision.Name();
	result["Reason"] = decision.reason;
	SetEstimatedCardinality(result, estimated_cardinality);
	return result;
}

unique_ptr<GlobalOperatorState> PhysicalOrderedWindow::GetGlobalOperatorState(ClientContext &context) const {
	return make_uniq<OrderedWindowGlobalState>(context, *this);
}

unique_ptr<OperatorState> PhysicalOrderedWindow::GetOperatorState(ExecutionContext &context) const {
	return make_uniq<OrderedWindowState>(context, *this);
}

OperatorResultType PhysicalOrderedWindow::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                                  GlobalOperatorState &gstate, OperatorState &state_p) const {
	auto &state = state_p.Cast<OrderedWindowState>();
	if (!state.taken.Is(input)) {
		state.Take(input);
	}
	if (state.Next(context, chunk)) {
		return OperatorResultType::HAVE_MORE_OUTPUT;
	}
	state.taken.Release();
	return OperatorResultType::NEED_MORE_INPUT;
}

OperatorFinalizeResultType PhysicalOrderedWindow::FinalExecute(ExecutionContext &context, DataChunk &chunk,
                                                               GlobalOperatorState &gstate,
                                                               OperatorState &state_p) const {
	auto &state = state_p.Cast<OrderedWindowState>();
	if (state.taken.IsHeld()) {
		return OperatorFinalizeResultType::FINISHED; // a LIMIT above has seen enough
	}
	state.Finish();
	return state.Next(context, chunk) ? OperatorFinalizeResultType::HAVE_MORE_OUTPUT
	                                  : OperatorFinalizeResultType::FINISHED;
}

} // namespace merganser
