#include "stages/exported_operator.hpp"

namespace merganser {

ExportedOperator::ExportedOperator(string name_p)
    : name(std::move(name_p)), identifier("merganser_" + StringUtil::Lower(name)) {
}

PhysicalOperator &ExportedOperator::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("%s belongs to the plan of a stage, which is exported, not executed", name);
}

string ExportedOperator::GetName() const {
	return name;
}

string ExportedOperator::GetExtensionName() const {
	return identifier;
}

optional_ptr<const string> ExportedOperator::GetTypeBindingVerificationIdentifier() const noexcept {
	return identifier;
}

} // namespace merganser
