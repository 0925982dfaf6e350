//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/plan_copy.hpp
//
// Problem: a plan is cut on a copy, so that a query no rule understands is never lost; but DuckDB copies a plan by
// writing and reading it, and neither our operators nor scans of a data frame survive that.
//
// The copy is made operator by operator: DuckDB's by DuckDB, ours by themselves, and a scan that only this session can
// run is not copied at all: SessionRows stands for it and knows where the original is. The mark of a window that may
// run over rows in order (ordered_windows/logical_ordered_window.hpp) is left out.
//===----------------------------------------------------------------------===//

#pragma once

#include "travelling_operator.hpp"

namespace merganser {

//! Stands in a copied plan for a scan of the session's own rows.
class LogicalSessionRows : public LogicalExtensionOperator {
public:
	explicit LogicalSessionRows(unique_ptr<LogicalOperator> &original);

	//! Takes the scan out of the plan that was copied.
	unique_ptr<LogicalOperator> TakeOriginal();
	const LogicalOperator &Original() const {
		return *original;
	}

	vector<ColumnBinding> GetColumnBindings() override;
	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	string GetExtensionName() const override;

protected:
	void ResolveTypes() override;

private:
	unique_ptr<LogicalOperator> &original;
	vector<ColumnBinding> bindings;
	vector<LogicalType> original_types;
};

struct PlanCopy {
	//! Throws NotImplementedException or SerializationException where an operator cannot be copied. `plan` must outlive
	//! the copy and is as before.
	static unique_ptr<LogicalOperator> Of(ClientContext &context, unique_ptr<LogicalOperator> &plan);
};

} // namespace merganser
