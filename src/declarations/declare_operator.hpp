//===----------------------------------------------------------------------===//
//                         Merganser
//
// declarations/declare_operator.hpp
//
// The plan of a statement that changes declarations (EXPLAIN shows DECLARE): runs a DeclarationChange, returns no rows.
//===----------------------------------------------------------------------===//

#pragma once

#include "declarations/declaration_change.hpp"

#include "duckdb/execution/physical_operator.hpp"
#include "duckdb/planner/operator/logical_extension_operator.hpp"

namespace merganser {

class LogicalDeclare : public LogicalExtensionOperator {
public:
	explicit LogicalDeclare(DeclarationChange change);

	PhysicalOperator &CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) override;
	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	idx_t EstimateCardinality(ClientContext &context) override;
	bool RequireOptimizer() const override;
	bool SupportSerialization() const override;

protected:
	void ResolveTypes() override;

private:
	shared_ptr<const DeclarationChange> change;
};

class PhysicalDeclare : public PhysicalOperator {
public:
	PhysicalDeclare(PhysicalPlan &plan, shared_ptr<const DeclarationChange> change, idx_t estimated_cardinality);

	bool IsSource() const override {
		return true;
	}
	string GetName() const override;
	InsertionOrderPreservingMap<string> ParamsToString() const override;
	SourceResultType GetDataInternal(ExecutionContext &context, DataChunk &chunk,
	                                 OperatorSourceInput &input) const override;

private:
	shared_ptr<const DeclarationChange> change;
};

} // namespace merganser
