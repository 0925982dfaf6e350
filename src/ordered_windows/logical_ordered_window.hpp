//===----------------------------------------------------------------------===//
//                         Merganser
//
// ordered_windows/logical_ordered_window.hpp
//
// A mark above a LogicalWindow of DuckDB: its physical plan may be ours. To everything else, writing the plan as bytes
// or as SQL included, it is the window below it, whose columns and bindings it hands on. So a window that is left to
// DuckDB is planned by DuckDB, as if there were no mark. Printed in logical plans, before the choice, as WINDOW_CHOICE.
//===----------------------------------------------------------------------===//

#pragma once

#include "ordered_windows/choose_window.hpp"

#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

class LogicalOrderedWindow : public LogicalExtensionOperator {
public:
	explicit LogicalOrderedWindow(unique_ptr<LogicalOperator> window);

	LogicalOperator &Window() const {
		return *children[0];
	}
	//! Decided once. The column bindings of the plan are resolved to positions.
	const WindowDecision &Decision(ClientContext &context);

	string GetName() const override {
		return "WINDOW_CHOICE";
	}
	vector<ColumnBinding> GetColumnBindings() override {
		return Window().GetColumnBindings();
	}
	idx_t EstimateCardinality(ClientContext &context) override;
	void Serialize(Serializer &serializer) const override;
	optional_ptr<const string> GetTypeBindingVerificationIdentifier() const noexcept override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;

protected:
	void ResolveTypes() override {
		types = Window().types;
	}

private:
	unique_ptr<WindowDecision> decision;
};

} // namespace merganser
