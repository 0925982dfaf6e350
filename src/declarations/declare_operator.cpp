#include "declarations/declare_operator.hpp"

#include "duckdb/execution/physical_plan_generator.hpp"

namespace merganser {

LogicalDeclare::LogicalDeclare(DeclarationChange change)
    : change(make_shared_ptr<const DeclarationChange>(std::move(change))) {
}

PhysicalOperator &LogicalDeclare::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	return planner.Make<PhysicalDeclare>(change, estimated_cardinality);
}

string LogicalDeclare::GetName() const {
	return "DECLARE";
}

InsertionOrderPreservingMap<string> LogicalDeclare::ParamsToString() const {
	return change->ToText();
}

idx_t LogicalDeclare::EstimateCardinality(ClientContext &context) {
	return 1;
}

bool LogicalDeclare::RequireOptimizer() const {
	return false;
}

bool LogicalDeclare::SupportSerialization() const {
	return false;
}

void LogicalDeclare::ResolveTypes() {
	types = {LogicalType::BOOLEAN};
}

PhysicalDeclare::PhysicalDeclare(PhysicalPlan &plan, shared_ptr<const DeclarationChange> change,
                                 idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, {LogicalType::BOOLEAN}, estimated_cardinality),
      change(std::move(change)) {
}

string PhysicalDeclare::GetName() const {
	return "DECLARE";
}

InsertionOrderPreservingMap<string> PhysicalDeclare::ParamsToString() const {
	return change->ToText();
}

SourceResultType PhysicalDeclare::GetDataInternal(ExecutionContext &context, DataChunk &chunk,
                                                  OperatorSourceInput &input) const {
	change->Apply(context.client);
	return SourceResultType::FINISHED;
}

} // namespace merganser
