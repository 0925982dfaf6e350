//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/join_back_guard.hpp
//
// Problem: a foreign key or a declared key is a promise. If it is broken, a join-back returns a row twice or finds none
// for it. Two operators see that it cannot happen unnoticed:
//   NarrowRows    above the narrow plan, numbers its rows 0, 1, ... in an extra column
//   JoinBackGuard above each join of the join-back, looks at every row that passes
//
// A join of the join-back is a LEFT join: no narrow row can be lost in it, and one that found nothing passes with NULL
// in the key. That fails the query: no row has the key, so a foreign key is broken, the key is NULL or the data changed
// between the two scans. Only what an outer join of the query had supplied with NULL may find nothing, and then the
// value it looked for is NULL, or it looks for what that outer join did (FoundRows). A number met twice fails it too:
// the key has duplicates. Both are seen at the row itself, before it leaves, so a guard needs not be read to its end: a
// LIMIT above may stop when it has enough. Errors: InvalidInputException with a sentence of join_back_promise.hpp.
// Limit: keys of rows that do not come by are not looked at here; key_check.hpp looks at all values of a key that is
// declared or proved.
//
// A key proved over files is one of the files the proof has read, and every scan opens files anew: the narrow plan's
// those that were bound, others perhaps what has taken their place. So the guard looks whether they are still in the
// proof's version when the first row comes, which is when the narrow plan and the key check have read them, before any
// row leaves; and once more when the last has gone, for what the join has read meanwhile. Limits: remote files, and a
// join-back that a LIMIT ends.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/join_back_promise.hpp"
#include "travelling_operator.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

class LogicalNarrowRows : public TravellingOperator {
public:
	//! Delivers its child's columns and one more, BIGINT, under `row_number_index`; at most `bound` rows.
	LogicalNarrowRows(TableIndex row_number_index, optional_idx bound);

	ColumnBinding RowNumber() const {
		return ColumnBinding(row_number_index, ProjectionIndex(0));
	}
	optional_idx Bound() const {
		return bound;
	}
	unique_ptr<LogicalOperator> CopyAlone() const override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

	vector<ColumnBinding> GetColumnBindings() override;
	vector<TableIndex> GetTableIndex() const override;
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
	TableIndex row_number_index;
	optional_idx bound;
};

class LogicalJoinBackGuard : public TravellingOperator {
public:
	//! `row_number` is that of the narrow row, `found` a column of the joined key, NULL in a row that found nothing,
	//! `sought` the value it was compared with, which only FoundRows::ONE_UNLESS_NULL needs.
	LogicalJoinBackGuard(unique_ptr<Expression> row_number, unique_ptr<Expression> found, unique_ptr<Expression> sought,
	                     optional_idx bound, JoinBackPromise promise);

	const Expression &RowNumber() const {
		return *expressions[0];
	}
	const Expression &Found() const {
		return *expressions[1];
	}
	optional_ptr<const Expression> Sought() const {
		return expressions.size() > 2 ? expressions[2].get() : nullptr;
	}
	const JoinBackPromise &Promise() const {
		return promise;
	}
	//! The narrow plan no longer joins the table, because of this foreign key of `referencing`.
	void RelyOnForeignKey(string foreign_key, string referencing);
	unique_ptr<LogicalOperator> CopyAlone() const override;

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
	optional_idx bound;
	JoinBackPromise promise;
};

class PhysicalNarrowRows : public PhysicalOperator {
public:
	PhysicalNarrowRows(PhysicalPlan &plan, vector<LogicalType> types, optional_idx bound, idx_t estimated_cardinality);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}

private:
	optional_idx bound;
};

class PhysicalJoinBackGuard : public PhysicalOperator {
public:
	PhysicalJoinBackGuard(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
	                      idx_t row_number_column, idx_t found_column, optional_idx sought_column,
	                      JoinBackPromise promise);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}
	bool RequiresOperatorFinalize() const override {
		return promise.proof != nullptr;
	}
	OperatorFinalResultType OperatorFinalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                                         OperatorFinalizeInput &input) const override;

private:
	void RequireFound(ClientContext &context, DataChunk &input) const;

	idx_t row_number_column;
	idx_t found_column;
	optional_idx sought_column;
	JoinBackPromise promise;
};

} // namespace merganser
