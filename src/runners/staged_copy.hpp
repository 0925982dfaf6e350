//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/staged_copy.hpp
//
// Stands in the plan for a COPY whose files the tasks write: a query in stages whose last stage returns the list of
// files the accepted attempts wrote. When the list is complete, the files get their names (output_folder.hpp): those of
// FILENAME_PATTERN, numbered in each folder in the order of the tasks. A file without rows is left out, unless there
// would be none. Returns what the COPY returns in DuckDB.
// Errors: IOException where a worker does not see the folder, or this process does not see a file a task wrote;
// InvalidInputException where FILENAME_PATTERN names a folder or gives two files one name.
//===----------------------------------------------------------------------===//

#pragma once

#include "runners/task_copy.hpp"
#include "runners/staged_query.hpp"

namespace merganser {

class LogicalStagedCopy : public LogicalStagedQuery {
public:
	LogicalStagedCopy(TaskCopy copy, unique_ptr<QueryStages> stages, vector<ColumnBinding> bindings,
	                  vector<unique_ptr<LogicalOperator>> sent);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;

protected:
	PhysicalOperator &MakeSource(PhysicalPlanGenerator &planner) const override;

private:
	const TaskCopy copy;
};

class PhysicalStagedCopy : public PhysicalStagedQuery {
public:
	PhysicalStagedCopy(PhysicalPlan &plan, TaskCopy copy, shared_ptr<QueryStages> stages);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalSourceState> GetGlobalSourceState(ClientContext &context) const override;

protected:
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;

private:
	const TaskCopy copy;
};

} // namespace merganser
