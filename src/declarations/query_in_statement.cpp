#include "declarations/query_in_statement.hpp"

#include "decision_log.hpp"

#include "duckdb/common/types/column/column_data_collection.hpp"
#include "duckdb/execution/executor.hpp"
#include "duckdb/execution/operator/set/physical_recursive_cte.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/main/client_context_state.hpp"
#include "duckdb/parallel/event.hpp"
#include "duckdb/parallel/meta_pipeline.hpp"
#include "duckdb/parallel/pipeline.hpp"
#include "duckdb/planner/planner.hpp"

namespace merganser {

namespace {

struct KeptRows : public GlobalSinkState {
	KeptRows(ClientContext &context, const vector<LogicalType> &types) : rows(context, types) {
	}

	mutex lock;
	ColumnDataCollection rows;
};

//! Where the rows of the query end.
class PhysicalKeepRows : public PhysicalOperator {
public:
	PhysicalKeepRows(PhysicalPlan &plan, vector<LogicalType> types)
	    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), 1) {
	}

	unique_ptr<GlobalSinkState> GetGlobalSinkState(ClientContext &context) const override {
		return make_uniq<KeptRows>(context, types);
	}
	SinkResultType Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const override {
		auto &state = input.global_state.Cast<KeptRows>();
		lock_guard<mutex> guard(state.lock);
		state.rows.Append(chunk);
		return SinkResultType::NEED_MORE_INPUT;
	}
	bool IsSink() const override {
		return true;
	}
};

struct PlannedQuery {
	unique_ptr<PhysicalPlan> plan;
	PipelineBuildState build;
	shared_ptr<MetaPipeline> pipelines;
	vector<shared_ptr<Event>> events;
};

//! The queries of the running statement.
struct QueriesOfStatement : public ClientContextState {
	mutex binding;
	mutex lock;
	vector<unique_ptr<PlannedQuery>> queries;

	static QueriesOfStatement &Get(ClientContext &context) {
		return *context.registered_state->GetOrCreate<QueriesOfStatement>("merganser_queries_of_statement");
	}

	PlannedQuery &Add() {
		lock_guard<mutex> guard(lock);
		queries.push_back(make_uniq<PlannedQuery>());
		return *queries.back();
	}

	void QueryEnd() override {
		lock_guard<mutex> guard(lock);
		queries.clear();
	}
};

unique_ptr<PhysicalPlan> Plan(ClientContext &context, const QueryInStatement::query_t &query) {
	RulesOff without_rules(context);
	Planner planner(context);
	planner.CreatePlan(query(*planner.binder));
	planner.Optimize();
	return PhysicalPlanGenerator(context).Plan(std::move(planner.plan));
}

void ReadyRecursion(PhysicalOperator &op) {
	if (op.type == PhysicalOperatorType::RECURSIVE_CTE || op.type == PhysicalOperatorType::RECURSIVE_KEY_CTE) {
		op.Cast<PhysicalRecursiveCTE>().recursive_meta_pipeline->Ready();
	}
	for (auto &child : op.children) {
		ReadyRecursion(child.get());
	}
}

void Schedule(Executor &executor, PlannedQuery &query, PhysicalOperator &sink) {
	query.pipelines = make_shared_ptr<MetaPipeline>(executor, query.build, &sink);
	query.pipelines->Build(query.plan->Root());
	vector<shared_ptr<MetaPipeline>> all;
	query.pipelines->GetMetaPipelines(all, true, false);
	query.build.ResolveExternalInputs(all, false);
	query.pipelines->Ready();
	ReadyRecursion(query.plan->Root());
	executor.ReschedulePipelines(all, query.events);
}

bool HasEnded(const PlannedQuery &query) {
	return std::all_of(query.events.begin(), query.events.end(),
	                   [](const shared_ptr<Event> &event) { return event->IsFinished(); });
}

void WaitForEnd(ClientContext &context, Executor &executor, const PlannedQuery &query) {
	while (!HasEnded(query)) {
		auto worked = executor.WorkOnTasks();
		if (executor.HasError()) {
			executor.ThrowException();
		}
		context.InterruptCheck();
		if (!worked && !HasEnded(query)) {
			executor.WaitForTask();
		}
	}
}

} // namespace

unique_lock<mutex> QueryInStatement::BindingLock() {
	return unique_lock<mutex>(QueriesOfStatement::Get(context).binding);
}

vector<vector<Value>> QueryInStatement::Run(const query_t &select) {
	auto &executor = Executor::Get(context);
	auto &query = QueriesOfStatement::Get(context).Add();
	{
		auto binding = BindingLock();
		query.plan = Plan(context, select);
	}
	auto &sink = query.plan->Make<PhysicalKeepRows>(query.plan->Root().types);
	Schedule(executor, query, sink);
	WaitForEnd(context, executor, query);
	vector<vector<Value>> result;
	for (auto &row : sink.sink_state->Cast<KeptRows>().rows.Rows()) {
		vector<Value> values;
		for (idx_t column = 0; column < sink.types.size(); column++) {
			values.push_back(row.GetValue(column));
		}
		result.push_back(std::move(values));
	}
	return result;
}

} // namespace merganser
