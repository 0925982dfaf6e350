//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/key_check.hpp
//
// Problem: the guard of a join-back sees the keys of the rows shown. A value that stands twice has made one group of
// two before that, so such a group can have been sorted or filtered out although its halves belonged into the result:
//   customer (1, 'a'), (1, 'b'), (2, 'x')   sale (1, 10), (2, 15)
//   GROUP BY id, name ORDER BY sum(price) LIMIT 1      is (1, 'a', 10); grouped by id alone, 1 has 20 and 2 is first
// So a declared key is looked at as a whole, in the query that relies on it, by a branch that returns no row:
//   NarrowRows
//     UNION ALL, one input after the other
//       Projection (NULL, ...) <- Limit 1 <- KeyCheck <- Aggregate: groups = key columns, count(*) <- Scan customer
//       <the narrow plan>
//
// Sound because: the branch delivers nothing or fails, and it comes first. DuckDB runs the inputs of a UNION ALL that
// must keep their order (allow_out_of_order = false) one after the other, whatever reads them: the pipeline of each
// depends on that of the input before it. So no row has left when the check fails, and a LIMIT above, which stops
// reading when it has enough rows, has had none before the check is done. It reads with the bind data of the query's
// other scans, so the same files and the same snapshot. In stages every task checks the values of its partition.
// The Limit, which no row reaches, tells DuckDB's estimates that the branch adds nothing.
// Cost: one hash table of the key's values, which the cost estimate counts; integers that lie close together take a bit
// each instead (key_check_by_bits.hpp). Keys that DuckDB enforces have no branch.
// Errors: InvalidInputException with a sentence of join_back_promise.hpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/join_back_promise.hpp"
#include "late_materialization/relation_copy.hpp"
#include "travelling_operator.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/optimizer/optimizer.hpp"

namespace merganser {

//! A filter that lets no row pass: over columns of a key and how often each value stands, fails on NULL and on a number
//! above one.
class LogicalKeyCheck : public TravellingOperator {
public:
	//! `columns`: those of the key, then the count. `integers`: of the key's one column, if they lie close together.
	LogicalKeyCheck(vector<unique_ptr<Expression>> columns, optional<DenseIntegers> integers, JoinBackPromise promise);

	//! A plan of columns of these types and no rows, which fails where the key does not hold.
	static unique_ptr<LogicalOperator> CreateBranch(Optimizer &optimizer, const BaseRelation &relation,
	                                                const RelationKey &key, const vector<LogicalType> &types);

	unique_ptr<LogicalOperator> CopyAlone() const override;
	//! SELECT <columns> FROM <child> WHERE CASE WHEN <key> IS NULL THEN error(...) ... ELSE false END
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

	vector<ColumnBinding> GetColumnBindings() override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	//! Throws NotImplementedException: DuckDB copies plans by writing them, and has no way to read this one back.
	string GetExtensionName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool SupportSerialization() const override {
		return false;
	}

protected:
	void ResolveTypes() override;

private:
	optional<DenseIntegers> integers;
	JoinBackPromise promise;
};

class PhysicalKeyCheck : public PhysicalOperator {
public:
	//! Positions in the child's columns.
	PhysicalKeyCheck(PhysicalPlan &plan, vector<LogicalType> types, vector<idx_t> key_columns, idx_t count_column,
	                 JoinBackPromise promise);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}

private:
	vector<idx_t> key_columns;
	idx_t count_column;
	JoinBackPromise promise;
};

} // namespace merganser
