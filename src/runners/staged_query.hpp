//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/staged_query.hpp
//
// A query in stages is, to DuckDB, one source operator: it runs the stages and reads the exchange of the last one. So
// sql(), execute(), prepared statements, CREATE TABLE AS, INSERT, COPY, EXPLAIN and interrupts work as for every other
// plan. While a runner runs the stages, no thread of DuckDB waits. Its inputs are the rows the session sends: each is
// an ordinary plan that ends in PhysicalSend, which writes an exchange file.
//
// Problem: how large these files become is known when they are written; of a table of long texts DuckDB may have
// expected 1 GB where it has 30. The query must not fail since a runner is set, and must not send 30 GB through a
// cluster either. What has been read cannot be given back, as it may be a stream. So where a file outgrows
// merganser_send_max_bytes, it is written to its end, stays here, and threads of this process run the tasks over it
// (local_runner.hpp): the same stages over the same rows. Limits: it needs room on the disk; and where workers attach a
// database file under a name of theirs, which this process does not have, the query ends with an error as soon as the
// file has outgrown the limit.
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/exchange_file.hpp"
#include "exchange/full_vectors.hpp"
#include "runners/exchange_folder.hpp"
#include "runners/stage_runner.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"

#include <atomic>

namespace merganser {

class LogicalStagedQuery : public LogicalExtensionOperator {
public:
	//! `bindings` and `types` are those of the plan it replaces; `sent` the plans of the rows the session sends.
	LogicalStagedQuery(unique_ptr<QueryStages> stages, vector<ColumnBinding> bindings, vector<LogicalType> types,
	                   vector<unique_ptr<LogicalOperator>> sent);

	const QueryStages &Stages() const {
		return *stages;
	}

	vector<ColumnBinding> GetColumnBindings() override;
	vector<TableIndex> GetTableIndex() const override;
	void ResolveColumnBindings(ColumnBindingResolver &resolver, vector<ColumnBinding> &bindings) override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool SupportSerialization() const override {
		return false;
	}

protected:
	shared_ptr<QueryStages> stages;

	void ResolveTypes() override;
	//! The operator that runs the stages, without those that send rows.
	virtual PhysicalOperator &MakeSource(PhysicalPlanGenerator &planner) const;

private:
	vector<ColumnBinding> output_bindings;
	vector<LogicalType> output_types;
};

//! Writes the rows of its child as one exchange file, in even shares for the tasks of a stage.
class PhysicalSend : public PhysicalOperator {
public:
	//! `may_stay`: whether the tasks can run in this process.
	PhysicalSend(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, idx_t partitions,
	             bool may_stay);

	//! The file of this execution.
	string File() const;
	//! Why the file must not leave this process; empty where it may.
	string WhyHere() const;
	//! Removes the file of this execution.
	void Remove() const;

	string GetName() const override;
	bool IsSink() const override {
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

private:
	const idx_t partitions;
	const bool may_stay;

	void CheckMayStay() const;
};

struct StagedQueryState : public GlobalSourceState {
	explicit StagedQueryState(ClientContext &context);

	void Start(QueryRun run);
	//! HAVE_MORE_OUTPUT once the stages have ended.
	SourceResultType Wait(const InterruptState &interrupt_state);

	ExchangeFolder folder;
	//! What other threads may ask for its progress.
	std::atomic<StageRunner *> started {nullptr};
	bool ended = false;
	bool rows_are_there = false;
	vector<ExchangeFileName> files;
	idx_t next_file = 0;
	idx_t next_block = 0;
	unique_ptr<ExchangeFileReader> reader;
	//! The rows as a COPY and a table that is written see them: as full vectors, not by the blocks of the tasks.
	unique_ptr<FullVectors> rows;
	//! Dies first: it calls back.
	unique_ptr<StageRunner> runner;
};

class PhysicalStagedQuery : public PhysicalOperator {
public:
	PhysicalStagedQuery(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
	                    shared_ptr<QueryStages> stages);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool IsSource() const override {
		return true;
	}
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;
	OrderPreservationType SourceOrder() const override {
		return OrderPreservationType::FIXED_ORDER;
	}
	ProgressData GetProgress(ClientContext &context, GlobalSourceState &gstate) const override;
	void BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) override;
	vector<const_reference<PhysicalOperator>> GetSources() const override;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;

	//! Starts the stages and waits for them; HAVE_MORE_OUTPUT once the rows of the last one are there.
	SourceResultType RunToEnd(ClientContext &context, StagedQueryState &state,
	                          const InterruptState &interrupt_state) const;
	//! Puts the next rows of the last stage into `state.rows`; false after the last.
	bool NextRows(ClientContext &context, StagedQueryState &state) const;

private:
	shared_ptr<QueryStages> stages;

	void TakeFiles(ClientContext &context, StagedQueryState &state) const;
	bool NextBlock(ClientContext &context, StagedQueryState &state, DataChunk &block) const;
};

} // namespace merganser
