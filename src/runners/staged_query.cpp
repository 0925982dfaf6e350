#include "runners/staged_query.hpp"

#include "exchange/exchange_compression.hpp"
#include "exchange/partitioned_rows.hpp"
#include "runners/stage_error.hpp"

#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/execution/column_binding_resolver.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parallel/meta_pipeline.hpp"
#include "duckdb/parallel/pipeline.hpp"

namespace merganser {

namespace {

const char *const NAME = "STAGED_QUERY";

//! Of some scans DuckDB expects nothing, or too little: a few more rows are no reason to keep them here.
const idx_t ALWAYS_SENT = idx_t(16) << 20;

vector<Identifier> ColumnNames(idx_t count) {
	vector<Identifier> result;
	for (idx_t i = 0; i < count; i++) {
		result.emplace_back("c" + to_string(i));
	}
	return result;
}

InsertionOrderPreservingMap<string> Describe(const QueryStages &stages) {
	InsertionOrderPreservingMap<string> result;
	for (auto &stage : stages.stages) {
		auto inputs = stage->InputsText();
		result["Stage " + to_string(stage->number)] = StringUtil::Format(
		    "%llu tasks, %s%s%s", stage->tasks, stage->PartitioningText(), inputs.empty() ? "" : ", reads ", inputs);
	}
	return result;
}

//! Whether tasks read a database file under a name that their workers give it.
bool AttachesDatabases(const QueryStages &stages) {
	for (auto &stage : stages.stages) {
		for (auto &scan : stage->scans) {
			if (scan.database) {
				return true;
			}
		}
	}
	return false;
}

struct SendState : public GlobalSinkState {
	SendState(ClientContext &context, const vector<LogicalType> &types, idx_t partitions)
	    : folder(make_uniq<ExchangeFolder>(context)), path(folder->SentFile(0)),
	      file(make_uniq<ExchangeFileWriter>(FileSystem::GetFileSystem(*context.db), path, ColumnNames(types.size()),
		                                     types, partitions, ExchangeCompression::IsOn(context))),
	      rows(context, types, {}, partitions), most_bytes(MaxValue(Settings::SendMaxBytes(context), ALWAYS_SENT)) {
	}
	~SendState() override {
		file.reset();
	}

	//! Empty where the rows may be sent.
	string WhyHere() {
		auto bytes = file->Bytes();
		return bytes <= most_bytes
		           ? string()
				   : StringUtil::Format("a scan of the session has %llu bytes, more than merganser_send_max_bytes "
				                        "allows it to send, %llu",
				                        bytes, most_bytes);
	}

	unique_ptr<ExchangeFolder> folder;
	string path;
	unique_ptr<ExchangeFileWriter> file;
	PartitionedRows rows;
	const idx_t most_bytes;
};

} // namespace

StagedQueryState::StagedQueryState(ClientContext &context) : folder(context) {
}

void StagedQueryState::Start(QueryRun run) {
	runner = StageRunner::Make(std::move(run));
	started = runner.get();
	runner->Start([this]() {
		annotated_lock_guard<annotated_mutex> guard(lock);
		ended = true;
		UnblockTasks();
	});
}

SourceResultType StagedQueryState::Wait(const InterruptState &interrupt_state) {
	annotated_lock_guard<annotated_mutex> guard(lock);
	return ended ? SourceResultType::HAVE_MORE_OUTPUT : BlockSource(interrupt_state);
}

LogicalStagedQuery::LogicalStagedQuery(unique_ptr<QueryStages> stages_p, vector<ColumnBinding> bindings,
                                       vector<LogicalType> types, vector<unique_ptr<LogicalOperator>> sent)
    : stages(std::move(stages_p)), output_bindings(std::move(bindings)), output_types(std::move(types)) {
	children = std::move(sent);
}

vector<ColumnBinding> LogicalStagedQuery::GetColumnBindings() {
	return output_bindings;
}

vector<TableIndex> LogicalStagedQuery::GetTableIndex() const {
	vector<TableIndex> result;
	for (auto &binding : output_bindings) {
		if (std::find(result.begin(), result.end(), binding.table_index) == result.end()) {
			result.push_back(binding.table_index);
		}
	}
	return result;
}

void LogicalStagedQuery::ResolveColumnBindings(ColumnBindingResolver &resolver, vector<ColumnBinding> &bindings) {
	for (auto &child : children) {
		resolver.VisitOperator(*child);
	}
	bindings = output_bindings;
}

void LogicalStagedQuery::ResolveTypes() {
	types = output_types;
}

string LogicalStagedQuery::GetName() const {
	return NAME;
}

InsertionOrderPreservingMap<string> LogicalStagedQuery::ParamsToString() const {
	return Describe(*stages);
}

PhysicalOperator &LogicalStagedQuery::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto &result = MakeSource(planner);
	for (idx_t i = 0; i < children.size(); i++) {
		auto &rows = planner.CreatePlan(*children[i]);
		auto &send = planner.Make<PhysicalSend>(rows.types, rows.estimated_cardinality, stages->sent[i].partitions,
		                                        !AttachesDatabases(*stages));
		send.children.push_back(rows);
		result.children.push_back(send);
	}
	return result;
}

PhysicalOperator &LogicalStagedQuery::MakeSource(PhysicalPlanGenerator &planner) const {
	return planner.Make<PhysicalStagedQuery>(types, estimated_cardinality, stages);
}

PhysicalSend::PhysicalSend(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality, idx_t partitions,
                           bool may_stay)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality),
      partitions(partitions), may_stay(may_stay) {
}

string PhysicalSend::GetName() const {
	return "SEND_TO_STAGES";
}

string PhysicalSend::File() const {
	return sink_state->Cast<SendState>().path;
}

string PhysicalSend::WhyHere() const {
	return may_stay ? sink_state->Cast<SendState>().WhyHere() : string();
}

void PhysicalSend::Remove() const {
	sink_state->Cast<SendState>().folder.reset();
}

unique_ptr<GlobalSinkState> PhysicalSend::GetGlobalSinkState(ClientContext &context) const {
	return make_uniq<SendState>(context, types, partitions);
}

unique_ptr<LocalSinkState> PhysicalSend::GetLocalSinkState(ExecutionContext &context) const {
	return make_uniq<LocalSinkState>();
}

void PhysicalSend::CheckMayStay() const {
	auto why = may_stay ? string() : sink_state->Cast<SendState>().WhyHere();
	if (!why.empty()) {
		throw InvalidInputException("%s, and other tasks of the query read an attached database under a name that only "
		                            "workers have. SET merganser_send_max_bytes to a larger size, or SET "
		                            "merganser_runner = '' to run the query in DuckDB alone",
		                            why);
	}
}

SinkResultType PhysicalSend::Sink(ExecutionContext &context, DataChunk &chunk, OperatorSinkInput &input) const {
	auto &state = input.global_state.Cast<SendState>();
	state.rows.Append(chunk, *state.file);
	CheckMayStay();
	return SinkResultType::NEED_MORE_INPUT;
}

SinkCombineResultType PhysicalSend::Combine(ExecutionContext &context, OperatorSinkCombineInput &input) const {
	return SinkCombineResultType::FINISHED;
}

SinkFinalizeType PhysicalSend::Finalize(Pipeline &pipeline, Event &event, ClientContext &context,
                                        OperatorSinkFinalizeInput &input) const {
	auto &state = input.global_state.Cast<SendState>();
	state.rows.Flush(*state.file);
	CheckMayStay();
	state.file->SpreadBlocks();
	state.file->Finish();
	return SinkFinalizeType::READY;
}

PhysicalStagedQuery::PhysicalStagedQuery(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
                                         shared_ptr<QueryStages> stages)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality),
      stages(std::move(stages)) {
}

string PhysicalStagedQuery::GetName() const {
	return NAME;
}

InsertionOrderPreservingMap<string> PhysicalStagedQuery::ParamsToString() const {
	return Describe(*stages);
}

unique_ptr<GlobalSourceState> PhysicalStagedQuery::GetGlobalSourceState(ClientContext &context) const {
	return make_uniq<StagedQueryState>(context);
}

void PhysicalStagedQuery::BuildPipelines(Pipeline &current, MetaPipeline &meta_pipeline) {
	op_state.reset();
	meta_pipeline.GetState().SetPipelineSource(current, *this);
	for (auto &child : children) {
		auto &send = child.get();
		send.sink_state.reset();
		auto &sending = meta_pipeline.CreateChildMetaPipeline(current, send);
		sending.Build(send.children[0].get());
	}
}

vector<const_reference<PhysicalOperator>> PhysicalStagedQuery::GetSources() const {
	return {*this};
}

ProgressData PhysicalStagedQuery::GetProgress(ClientContext &context, GlobalSourceState &gstate) const {
	auto &state = gstate.Cast<StagedQueryState>();
	ProgressData result;
	auto runner = state.started.load();
	auto percent = runner ? runner->Progress() : 0;
	if (percent < 0) {
		result.SetInvalid();
	} else {
		result.done = percent;
		result.total = 100;
	}
	return result;
}

void PhysicalStagedQuery::TakeFiles(ClientContext &context, StagedQueryState &state) const {
	try {
		state.files = state.runner->Finish();
	} catch (std::exception &exception) {
		StageError::Throw(ErrorData(exception), *stages);
	}
	for (auto &child : children) {
		child.get().Cast<PhysicalSend>().Remove();
	}
	state.rows = make_uniq<FullVectors>(context, stages->stages.back()->sql_types);
	state.rows_are_there = true;
}

bool PhysicalStagedQuery::NextRows(ClientContext &context, StagedQueryState &state) const {
	return state.rows->Next([&](DataChunk &block) { return NextBlock(context, state, block); });
}

bool PhysicalStagedQuery::NextBlock(ClientContext &context, StagedQueryState &state, DataChunk &block) const {
	while (true) {
		if (!state.reader) {
			if (state.next_file >= state.files.size()) {
				return false;
			}
			auto &file_system = FileSystem::GetFileSystem(context);
			auto &file = state.files[state.next_file++];
			state.reader = make_uniq<ExchangeFileReader>(file_system, file.path);
			state.reader->Verify(file.identity);
			state.next_block = 0;
			if (state.reader->Index().types != stages->stages.back()->sql_types) {
				throw IOException("The exchange file \"%s\" is not the one the last stage wrote", file.path);
			}
		}
		auto &blocks = state.reader->Index().blocks;
		if (state.next_block < blocks.size()) {
			state.reader->ReadBlock(blocks[state.next_block++], block);
			return true;
		}
		state.reader.reset();
	}
}

SourceResultType PhysicalStagedQuery::RunToEnd(ClientContext &context, StagedQueryState &state,
                                               const InterruptState &interrupt_state) const {
	if (!state.runner) {
		QueryRun run {context, stages, state.folder, {}};
		for (auto &child : children) {
			auto &send = child.get().Cast<PhysicalSend>();
			run.sent_files.push_back(send.File());
			run.why_here = run.why_here.empty() ? send.WhyHere() : run.why_here;
		}
		state.Start(std::move(run));
	}
	if (!state.rows_are_there) {
		auto result = state.Wait(interrupt_state);
		if (result != SourceResultType::HAVE_MORE_OUTPUT) {
			return result;
		}
		TakeFiles(context, state);
	}
	return SourceResultType::HAVE_MORE_OUTPUT;
}

SourceResultType PhysicalStagedQuery::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                      OperatorSourceInput &input) const {
	auto &state = input.global_state.Cast<StagedQueryState>();
	auto result = RunToEnd(context.client, state, input.interrupt_state);
	if (result != SourceResultType::HAVE_MORE_OUTPUT) {
		return result;
	}
	if (!NextRows(context.client, state)) {
		return SourceResultType::FINISHED;
	}
	auto &rows = state.rows->Rows();
	for (idx_t i = 0; i < types.size(); i++) {
		if (rows.data[i].GetType() == types[i]) {
			chunk.data[i].Reference(rows.data[i]);
		} else {
			VectorOperations::Cast(context.client, rows.data[i], chunk.data[i], rows.size());
		}
	}
	chunk.SetChildCardinality(rows.size());
	return SourceResultType::HAVE_MORE_OUTPUT;
}

} // namespace merganser
