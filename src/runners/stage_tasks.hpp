//===----------------------------------------------------------------------===//
//                         Merganser
//
// runners/stage_tasks.hpp
//
// The tasks of the stages of one execution of a query: decided stage by stage, when what the stage reads is there.
//
// Problem: the planner divides every stage alike, by estimates. Many tasks for few rows cost more than the rows do, and
// a join hashed because of a wrong estimate exchanges a large side for nothing. Exact bytes are known just before a
// stage runs:
//   neighbouring shares are computed by one task as long as they have about merganser_task_bytes together, and enough
//   beside what every task reads whole
//     partitions of 5, 0, 3, 90, 1 and 1 MB, merganser_task_bytes 16 MB  ->  tasks of the shares 0-2, 3, 4-5
//   a join whose one side turned out small computes its other side itself, share by share, and reads all of the small
//   side; the other side is never exchanged
//     WITH merganser_stage_4 AS NOT MATERIALIZED (<SQL of stage 4>),
//          merganser_stage_3 AS NOT MATERIALIZED (FROM merganser_exchange([...])) FROM (<SQL of stage 5>)
//
// Sound because every share is computed by exactly one task, and neighbours keep the order of ordered partitions. Only
// those joins change whose kind lets the small side go to all tasks, and in whose stage nothing relies on equal keys
// being together (stage_planner.hpp). A decision is made once: tasks that run again are the same tasks.
// Limits: a share with more bytes is not divided further; sizes of scans are estimates, before filters.
//===----------------------------------------------------------------------===//

#pragma once

#include "exchange/exchange_file.hpp"
#include "runners/json_document.hpp"
#include "stages/stage.hpp"

namespace merganser {

//! A piece of a task's statement, or what stands there once it is known.
struct SqlPart {
	//! FILES: the list of the exchange files of an input; IDENTITIES: of each its identity (exchange_file.hpp); TARGET:
	//! the file the task writes.
	enum class Kind : uint8_t { TEXT, FILES, IDENTITIES, TARGET };

	Kind kind;
	//! The text, or the name of the input.
	string text;
};

//! What one relation in the SQL of a task is. One of the pointers is set, or none for an input.
struct TaskRelation {
	string name;
	optional_ptr<const SlicedScan> scan;
	//! A stage that is computed here.
	optional_ptr<const Stage> stage;
	StageInput input;

	bool IsInput() const {
		return !scan && !stage;
	}
};

//! How a stage runs.
struct StageDecision {
	//! What each task computes; none where `inside` is set.
	vector<Shares> tasks;
	//! The stage whose tasks compute this one.
	optional_idx inside;
	//! What the statements of the tasks read, each after what it reads itself.
	vector<TaskRelation> relations;
	//! Whether a file of it may be written again without its readers.
	bool repeatable = false;
	//! What was decided otherwise than the plan says, and why.
	vector<string> reasons;

	//! The input of this name.
	const StageInput &InputOf(const string &name) const;
	//! Rows of the files its tasks divide.
	idx_t ScannedRows() const;
};

class StageTasks {
public:
	StageTasks(shared_ptr<const QueryStages> query, idx_t task_bytes);

	//! A stage has written its exchange. Only the first time counts.
	void StageEnds(idx_t stage, vector<idx_t> partition_bytes);
	//! The session has written an exchange.
	void RowsAreSent(idx_t sent, vector<idx_t> partition_bytes);
	//! All it has to write, one file each. Returns these files as they are.
	vector<ExchangeFileName> RowsAreSent(FileSystem &file_system, const vector<string> &paths);
	//! The stages that must have ended before this one is decided; those it reads among them.
	vector<idx_t> Awaited(idx_t stage) const;
	const StageDecision &Decide(idx_t stage);
	//! COPY (WITH ... FROM (<SQL of the stage>)) TO <target> (...); the stage is decided.
	vector<SqlPart> Sql(idx_t stage, idx_t task) const;
	//! What it has in variables.
	vector<FileList> Lists(idx_t stage, idx_t task) const;

	//! The decision with the statements, as foreign_runner.hpp describes it.
	string ToJson(idx_t stage);

private:
	const shared_ptr<const QueryStages> query;
	const idx_t task_bytes;
	unordered_map<idx_t, vector<idx_t>> bytes_of_stages;
	unordered_map<idx_t, vector<idx_t>> bytes_of_sent;
	unordered_map<idx_t, StageDecision> decisions;

	void ComputeInside(const Stage &stage, StageDecision &decision) const;
	void AddRelations(const Stage &stage, StageDecision &decision) const;
	void AddRelation(const Stage &stage, const StageInput &input, StageDecision &decision) const;
	void Divide(const Stage &stage, StageDecision &decision) const;
	void AddBytes(const TaskRelation &relation, idx_t shares, vector<idx_t> &bytes) const;
	void WriteJson(idx_t stage, JsonDocument &document);
	const vector<idx_t> &Bytes(const StageInput &input) const;
	bool IsSmall(const LateBroadcast &late) const;
};

} // namespace merganser
