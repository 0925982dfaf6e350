//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/exported_operator.hpp
//
// An operator that exists only in the plan of a stage: it is written as SQL and never executed.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

class ExportedOperator : public LogicalExtensionOperator {
public:
	//! `name` as plans print it, in capitals with underscores.
	explicit ExportedOperator(string name);

	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	string GetExtensionName() const override;
	optional_ptr<const string> GetTypeBindingVerificationIdentifier() const noexcept override;

private:
	const string name;
	const string identifier;
};

} // namespace merganser
