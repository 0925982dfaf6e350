//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/logical_exchange.hpp
//
// Stands in the plan of a stage for an input: the exchange of an earlier stage, or rows the session sends. It delivers
// the bindings and types of the piece of plan it replaces, so that nothing above it changes. Exported as SQL it reads
// the columns c0, c1, ... of a relation that a task binds to its exchange files.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/stage.hpp"

#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

class LogicalExchange : public LogicalExtensionOperator {
public:
	LogicalExchange(StageInput input, vector<ColumnBinding> bindings, vector<LogicalType> planned_types,
	                vector<LogicalType> sql_types);

	StageInput input;

	//! The same rows once more, as columns of `table_index`.
	unique_ptr<LogicalExchange> ReadAgain(TableIndex table_index) const;
	//! The same rows once more, for another stage, under these bindings.
	unique_ptr<LogicalExchange> ReadAs(vector<ColumnBinding> bindings) const;

	vector<ColumnBinding> GetColumnBindings() override;
	string GetName() const override;
	string GetExtensionName() const override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;
	bool SupportSerialization() const override {
		return false;
	}

protected:
	void ResolveTypes() override;

private:
	vector<ColumnBinding> bindings;
	vector<LogicalType> planned_types;
	vector<LogicalType> sql_types;
};

} // namespace merganser
