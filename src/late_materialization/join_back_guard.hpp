//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/join_back_guard.hpp
//
// Problem: a foreign key or a declared key is a promise. If it is broken, a join-back returns a row twice or loses it.
// Two operators see that it cannot happen unnoticed:
//   NarrowRows    above the narrow plan, numbers its rows 0, 1, ... in an extra column
//   JoinBackGuard above each join of the join-back, checks that every number passes exactly once
//
// A number met twice fails the query at once: the key has duplicates. A number not met when the input is exhausted
// fails it too: no row has the key, so a foreign key is broken, the key is NULL or the data changed between the two
// scans. Errors: InvalidInputException with a sentence of join_back_promise.hpp. Limit: keys of rows that do not
// survive the top-N are not looked at here; key_check.hpp looks at all values of a declared key.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/join_back_promise.hpp"
#include "travelling_operator.hpp"

#include "duckdb/execution/physical_operator.hpp"

namespace merganser {

class PhysicalNarrowRows;

//! Ties the physical operators of one join-back together while the physical plan is built.
struct JoinBackIdentity {
	optional_ptr<const PhysicalNarrowRows> narrow_rows;
};

class LogicalNarrowRows : public TravellingOperator {
public:
	//! Delivers its child's columns and one more, BIGINT, under `row_number_index`; at most `bound` rows.
	LogicalNarrowRows(TableIndex row_number_index, idx_t bound, shared_ptr<JoinBackIdentity> identity);

	ColumnBinding RowNumber() const {
		return ColumnBinding(row_number_index, ProjectionIndex(0));
	}
	unique_ptr<LogicalOperator> CopyAlone() const override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

	vector<ColumnBinding> GetColumnBindings() override;
	vector<TableIndex> GetTableIndex() const override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	//! Throws NotImplementedException: a copy would need an identity of its own, so DuckDB must not make one.
	string GetExtensionName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool SupportSerialization() const override {
		return false;
	}

protected:
	void ResolveTypes() override;

private:
	TableIndex row_number_index;
	idx_t bound;
	shared_ptr<JoinBackIdentity> identity;
};

class LogicalJoinBackGuard : public TravellingOperator {
public:
	LogicalJoinBackGuard(ColumnBinding row_number, idx_t bound, JoinBackPromise promise,
	                     shared_ptr<JoinBackIdentity> identity);

	const Expression &RowNumber() const {
		return *expressions[0];
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
	//! Throws NotImplementedException: a copy would need an identity of its own, so DuckDB must not make one.
	string GetExtensionName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	bool SupportSerialization() const override {
		return false;
	}

protected:
	void ResolveTypes() override;

private:
	idx_t bound;
	JoinBackPromise promise;
	shared_ptr<JoinBackIdentity> identity;
};

class PhysicalNarrowRows : public PhysicalOperator {
public:
	PhysicalNarrowRows(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	bool ParallelOperator() const override {
		return true;
	}
	//! How many rows have been numbered in this execution.
	idx_t RowsNumbered() const;
};

class PhysicalJoinBackGuard : public PhysicalOperator {
public:
	PhysicalJoinBackGuard(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
	                      const PhysicalNarrowRows &narrow_rows, idx_t row_number_column, JoinBackPromise promise);

	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	unique_ptr<GlobalOperatorState> GetGlobalOperatorState(ClientContext &context) const override;
	OperatorResultType Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
	                           GlobalOperatorState &gstate, OperatorState &state) const override;
	OperatorFinalResultType OperatorFinalize(Pipeline &pipeline, Event &event, ClientContext &context,
	                                         OperatorFinalizeInput &input) const override;
	bool RequiresOperatorFinalize() const override {
		return true;
	}
	bool ParallelOperator() const override {
		return true;
	}

private:
	const PhysicalNarrowRows &narrow_rows;
	idx_t row_number_column;
	JoinBackPromise promise;
};

} // namespace merganser
