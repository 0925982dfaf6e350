//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/stage_planner.hpp
//
// Problem: one process runs a plan on one machine. The planner cuts DuckDB's optimised plan into stages that several
// tasks run.
//
// It walks the plan from the scans up. Each operator says what it needs of the rows below it (any split, equal keys
// together, all rows in one task); where the rows below lie otherwise, and only there, an exchange is put in:
//   aggregate      partial states per task, hashed by the groups, combined; or the rows hashed by the groups
//   join           the small side to all tasks, where its kind allows that; or both sides hashed by the equal keys
//   DISTINCT, EXCEPT, INTERSECT, window   rows hashed by the keys
//   join, aggregate, DISTINCT, window by a key in whose order the files lie      ranges of it, without an exchange
//   top N, LIMIT   first N of each task, then of all
//   shared CTE     a stage of its own, computed once
//   ORDER BY       one range of the sort key for each task, by a sample; few rows in one task
//   everything else   all rows gathered in one task, with the reason
//
// Which rows must come in which order is found before (order_needs.hpp). Each Cut… tells the order its rows come in;
// a piece whose order is needed and not kept is an error, so that DuckDB runs the query alone:
//   a scan, an exchange of rows without a key, a shared query   each share has the rows behind those of the one before
//   UNION ALL      each branch has shares of its own, behind those of the branch before it
//   hashed rows    come in their order in each task: enough for an aggregate by the keys
//   gathered rows  are read task after task
//
// Sound because an operator over a part of its rows gives the part of its result that belongs to it, where rows that
// meet (equal keys) are together and a side that every row must see is complete in each task. An operator not listed is
// never cut. Limits: rows that tie in ORDER BY come in any order; grouping sets, samples, delim joins, recursive CTEs
// and positional joins run on one task.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/order_needs.hpp"
#include "stages/stage.hpp"

#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

class LogicalExchange;
class LogicalJoinBackGuard;
struct RowGroupKeys;
struct ScanByKey;

class StagePlanner {
public:
	StagePlanner(ClientContext &context, Binder &binder);
	~StagePlanner();

	//! Cuts `plan` into stages; `plan` is consumed. Returns none, with the reason, where it cannot run in several
	//! tasks. A COPY with PARTITION_BY sees no order of rows but that of an ORDER BY; those that agree on its columns
	//! come to one task of the last stage, where they can be hashed.
	unique_ptr<QueryStages> Plan(unique_ptr<LogicalOperator> plan, string &reason,
	                             const vector<idx_t> &partition_by = {});

	//! The plans of the rows the session must send, in the order of QueryStages::sent.
	vector<unique_ptr<LogicalOperator>> TakeSentPlans();

	//! Exports the SQL of a stage; throws NotImplementedException where DuckDB cannot.
	static void ExportStage(ClientContext &context, Stage &stage);

private:
	ClientContext &context;
	Binder &binder;
	const idx_t tasks;
	const idx_t broadcast_bytes;
	const idx_t distribute_bytes;
	const idx_t send_bytes;
	unique_ptr<QueryStages> result;
	//! The plan being cut; operators above a rewritten aggregate refer to its columns.
	optional_ptr<unique_ptr<LogicalOperator>> root;
	vector<unique_ptr<LogicalOperator>> sent_plans;
	unique_ptr<OrderNeeds> needs;
	idx_t input_bytes = 0;
	//! Reasons for the piece of plan that is being built; they go to the next stage.
	vector<string> pending_reasons;

	struct SharedStage {
		idx_t stage;
		vector<LogicalType> types;
		vector<LogicalType> sql_types;
	};
	unordered_map<idx_t, SharedStage> shared;
	unordered_map<const LogicalOperator *, SlicedScan> sliced;
	//! What footers say, by table index and column.
	map<std::pair<idx_t, idx_t>, vector<RowGroupKeys>> row_groups;
	//! Joins of the stages being built that nothing above relies on to keep equal keys together.
	unordered_map<LogicalOperator *, LateBroadcast> late_broadcasts;

	using Slot = unique_ptr<LogicalOperator>;
	using Keys = vector<unique_ptr<Expression>>;

	//! Cuts what is below `op`, and tells how the rows of `op` lie and come.
	Partitioning Cut(Slot &op);
	Partitioning CutOperator(Slot &op);
	Partitioning CutScan(Slot &op);
	Partitioning ReadSlices(LogicalGet &get, SlicedScan scan);
	Partitioning CutUnary(Slot &op);
	Partitioning CutProjection(Slot &op);
	Partitioning CutAggregate(Slot &op);
	Partitioning CutDistinct(Slot &op);
	Partitioning CutWindow(Slot &op);
	Partitioning CutOrder(Slot &op);
	//! Divides the rows below into one range of the sort key for each task.
	void DivideIntoRanges(Slot &op, const vector<BoundOrderByNode> &orders);
	Partitioning CutTopN(Slot &op);
	Partitioning CutLimit(Slot &op);
	Partitioning CutJoin(Slot &op);
	//! Those that would have to read ranges of `key` so that rows of `op` equal in it are in one task; none where they
	//! cannot.
	vector<ScanByKey> ScansByKey(LogicalOperator &op, const Partitioning &lies, const ColumnBinding &key);
	void CollectScans(LogicalOperator &op, vector<reference<LogicalGet>> &scans);
	//! Whether `op` may see its scans divided in another way.
	bool MayDivideOtherwise(LogicalOperator &op);
	const vector<RowGroupKeys> &RowGroupsOf(const LogicalGet &get, idx_t column);
	//! Has all of them read the same ranges, where their row groups lie so that this pays.
	bool DivideByKey(vector<ScanByKey> scans);
	//! Has the tasks read ranges of one of `keys`, columns of `op`, where that pays; `delivered` says so then.
	bool ReadInRanges(LogicalOperator &op, Partitioning &delivered, const vector<ColumnBinding> &keys);
	//! The same for both sides of a join by one pair of its keys; how its rows lie then, or nothing.
	optional<Partitioning> JoinInRanges(LogicalOperator &op, const Partitioning &left, const Partitioning &right,
	                                    const Keys &left_keys, const Keys &right_keys);
	Partitioning KeepOrderOfLeftSide(Slot &op, const Partitioning &left, const Partitioning &right);
	Partitioning HashBothSides(Slot &op, const Partitioning &left, const Partitioning &right,
	                           vector<unique_ptr<Expression>> left_keys, vector<unique_ptr<Expression>> right_keys);
	//! Hashes both sides of a join, first the one that may turn out to be small.
	void HashSmallerSideFirst(Slot &op, const Partitioning &left, const Partitioning &right,
	                          vector<unique_ptr<Expression>> left_keys, vector<unique_ptr<Expression>> right_keys);
	//! Whether rows of the scan it stands on are missing, by DuckDB's estimates; also where it stands on none.
	bool LeavesOutRows(LogicalOperator &op);
	//! Hashes the small side of a join and leaves, of the other side, the rows that have its keys. Returns how the
	//! small side lies then.
	Partitioning KeepMatching(Slot &op, bool small_is_right, const Partitioning &small);
	//! Whether rows of `op` that agree on all of `columns` are in one task; they must be from then on.
	bool KeepsTogether(LogicalOperator &op, const Partitioning &delivered, const vector<ColumnBinding> &columns);
	//! The rows of `op` must stay as the joins in it have hashed them.
	void RelyOnHash(LogicalOperator &op);
	//! Whether the rows are so few that each task may read them all for itself.
	bool MayRepeat(const LogicalOperator &op);
	void Repeat(Slot &op);
	Partitioning CutUnion(Slot &op);
	//! Moves the shares of what is read in a branch of UNION ALL behind those of the branches before it.
	void Place(LogicalOperator &op, idx_t first);
	Partitioning CutSetOperation(Slot &op);
	Partitioning CutSharedQuery(Slot &op);
	Partitioning CutSharedReference(Slot &op);
	Partitioning CutNarrowRows(Slot &op);
	Partitioning CutJoinBack(Slot &op);
	void FetchIntoOneTask(const LogicalJoinBackGuard &guard, Slot &narrow, const Keys &narrow_keys, Slot &wide,
	                      const Keys &wide_keys, const Partitioning &wide_lies);
	void FetchIntoEachTask(const LogicalJoinBackGuard &guard, Slot &narrow, const Partitioning &narrow_lies,
	                       const Keys &narrow_keys, Slot &wide, const Keys &wide_keys, const Partitioning &wide_lies);
	//! The checks of declared keys, and then the rows that rely on them.
	Partitioning CutCheckedRows(Slot &op);
	Partitioning CutTableFunction(Slot &op);
	optional_ptr<LogicalOperator> FindRegionScan(Slot &input, vector<ColumnBinding> columns);
	Partitioning CutSessionRows(Slot &op);
	Partitioning CutExtension(Slot &op);
	//! Runs the operator in one task over its gathered inputs.
	Partitioning OneTask(Slot &op, const string &reason);
	//! Leaves the whole subtree in one task; only its leaves are replaced.
	void KeepWhole(Slot &op);

	//! Ends a stage at `op` and puts an exchange in its place.
	void Exchange(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys, ReadMode mode,
	              const string &reason);
	void Gather(Slot &op, const Partitioning &delivered, const string &reason);
	Partitioning Hash(Slot &op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys,
	                  const string &reason);
	//! Brings rows that agree on these columns of `op` into one task.
	Partitioning BringTogether(Slot &op, Partitioning delivered, const vector<idx_t> &columns);
	Stage &AddStage(Slot op, const Partitioning &delivered, vector<unique_ptr<Expression>> keys, idx_t partitions,
	                const string &reason);
	//! `op` with the keys that are none of its columns behind them; tells where each key stands.
	Slot WithKeys(Slot op, vector<unique_ptr<Expression>> keys, vector<idx_t> &positions);
	void Send(Slot &op, ReadMode mode);
	void CollectInputs(LogicalOperator &op, Stage &stage);
	//! Throws where a stage has not all shares of what it reads.
	void CheckPlacements(const Stage &stage) const;
	bool IsSelfContained(LogicalOperator &op);
	idx_t Bytes(LogicalOperator &op);
};

} // namespace merganser
