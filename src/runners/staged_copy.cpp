#include "runners/staged_copy.hpp"

#include "runners/copy_manifest.hpp"

#include "duckdb/common/types/uuid.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"

namespace merganser {

namespace {

const char *const NAME = "STAGED_COPY";

void Describe(const TaskCopy &copy, InsertionOrderPreservingMap<string> &result) {
	result["Folder"] = copy.target.folder;
	result["Format"] = copy.format;
}

struct StagedCopyState : public StagedQueryState {
	StagedCopyState(ClientContext &context, const TaskCopy &copy)
	    : StagedQueryState(context), output(make_uniq<OutputFolder>(copy.target)), written(copy) {
	}
	~StagedCopyState() override {
		// Its tasks write to the folder.
		runner.reset();
	}

	unique_ptr<OutputFolder> output;
	WrittenFiles written;
	bool is_published = false;
	vector<vector<Value>> returned;
	idx_t next_returned = 0;
};

//! What is overwritten has other names, so that its readers do not read the new files for them.
string SuffixOfNames(const TaskCopy &copy, const OutputFolder &output) {
	auto replaces = copy.target.mode == CopyOverwriteMode::COPY_OVERWRITE && output.HasFiles();
	return replaces ? "_" + UUID::ToString(UUID::GenerateRandomUUID()) : string();
}

void Publish(ClientContext &context, const TaskCopy &copy, StagedCopyState &state) {
	auto &written = state.written;
	written.Name(FileSystem::GetFileSystem(context), SuffixOfNames(copy, *state.output));
	vector<StagedFile> files;
	for (auto &file : written.Files()) {
		files.push_back({file.staged, file.relative});
	}
	files.push_back(CopyManifest::Write(copy, written.Files(), written.Rows()));
	state.output->Publish(files);
	state.output.reset();
	state.returned = written.ReturnedRows();
	state.is_published = true;
}

//! A task elsewhere could not make its folder or its files, perhaps since it does not see the session's.
void CheckIsSeen(ClientContext &context, const TaskCopy &copy, const std::exception &exception) {
	ErrorData error(exception);
	if (error.Type() != ExceptionType::IO || Settings::RunsInThisProcess(context) ||
	    !StringUtil::Contains(error.RawMessage(), copy.target.staging)) {
		return;
	}
	throw IOException("%s\nEvery worker must see \"%s\" under this path; where they share no storage, SET "
	                  "merganser_exchange_shared = false and the session writes the files",
	                  error.RawMessage(), copy.target.folder);
}

} // namespace

LogicalStagedCopy::LogicalStagedCopy(TaskCopy copy_p, unique_ptr<QueryStages> stages, vector<ColumnBinding> bindings,
                                     vector<unique_ptr<LogicalOperator>> sent)
    : LogicalStagedQuery(std::move(stages), std::move(bindings), GetCopyFunctionReturnLogicalTypes(copy_p.return_type),
	                     std::move(sent)),
      copy(std::move(copy_p)) {
}

string LogicalStagedCopy::GetName() const {
	return NAME;
}

InsertionOrderPreservingMap<string> LogicalStagedCopy::ParamsToString() const {
	auto result = LogicalStagedQuery::ParamsToString();
	Describe(copy, result);
	return result;
}

PhysicalOperator &LogicalStagedCopy::MakeSource(PhysicalPlanGenerator &planner) const {
	return planner.Make<PhysicalStagedCopy>(copy, stages);
}

PhysicalStagedCopy::PhysicalStagedCopy(PhysicalPlan &plan, TaskCopy copy_p, shared_ptr<QueryStages> stages)
    : PhysicalStagedQuery(plan, GetCopyFunctionReturnLogicalTypes(copy_p.return_type), 1, std::move(stages)),
      copy(std::move(copy_p)) {
}

string PhysicalStagedCopy::GetName() const {
	return NAME;
}

InsertionOrderPreservingMap<string> PhysicalStagedCopy::ParamsToString() const {
	auto result = PhysicalStagedQuery::ParamsToString();
	Describe(copy, result);
	return result;
}

unique_ptr<GlobalSourceState> PhysicalStagedCopy::GetGlobalSourceState(ClientContext &context) const {
	return make_uniq<StagedCopyState>(context, copy);
}

SourceResultType PhysicalStagedCopy::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                     OperatorSourceInput &input) const {
	auto &state = input.global_state.Cast<StagedCopyState>();
	if (!state.is_published) {
		try {
			auto result = RunToEnd(context.client, state, input.interrupt_state);
			if (result != SourceResultType::HAVE_MORE_OUTPUT) {
				return result;
			}
		} catch (std::exception &exception) {
			CheckIsSeen(context.client, copy, exception);
			throw;
		}
		while (NextRows(context.client, state)) {
			state.written.Add(state.rows->Rows());
		}
		Publish(context.client, copy, state);
	}
	idx_t count = 0;
	for (; state.next_returned < state.returned.size() && count < STANDARD_VECTOR_SIZE; count++) {
		auto &row = state.returned[state.next_returned++];
		for (idx_t column = 0; column < row.size(); column++) {
			chunk.data[column].Append(row[column]);
		}
	}
	chunk.SetChildCardinality(count);
	return count > 0 ? SourceResultType::HAVE_MORE_OUTPUT : SourceResultType::FINISHED;
}

} // namespace merganser
