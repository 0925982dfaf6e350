#include "stages/plan_copy.hpp"

#include "stages/sliced_files.hpp"

namespace merganser {

namespace {

bool IsScanOfTheSession(const LogicalOperator &op) {
	return !SlicedFiles::MaySlice(op.Cast<LogicalGet>());
}

//! Puts the children back however the copy ends.
class DetachedChildren {
public:
	explicit DetachedChildren(LogicalOperator &op) : op(op), children(std::move(op.children)) {
		op.children.clear();
	}
	~DetachedChildren() {
		op.children = std::move(children);
	}

private:
	LogicalOperator &op;
	vector<unique_ptr<LogicalOperator>> children;
};

//! Nothing where DuckDB cannot copy the scan.
unique_ptr<LogicalOperator> TryCopyScan(ClientContext &context, const LogicalOperator &scan) {
	try {
		return scan.Copy(context);
	} catch (const NotImplementedException &) {
		return nullptr;
	} catch (const SerializationException &) {
		return nullptr;
	}
}

unique_ptr<LogicalOperator> CopyWithoutChildren(ClientContext &context, LogicalOperator &op) {
	auto travelling = dynamic_cast<TravellingOperator *>(&op);
	if (travelling) {
		return travelling->CopyAlone();
	}
	DetachedChildren detached(op);
	return op.Copy(context);
}

} // namespace

LogicalSessionRows::LogicalSessionRows(unique_ptr<LogicalOperator> &original) : original(original) {
	original->ResolveOperatorTypes();
	bindings = original->GetColumnBindings();
	original_types = original->types;
}

unique_ptr<LogicalOperator> LogicalSessionRows::TakeOriginal() {
	return std::move(original);
}

vector<ColumnBinding> LogicalSessionRows::GetColumnBindings() {
	return bindings;
}

void LogicalSessionRows::ResolveTypes() {
	types = original_types;
}

string LogicalSessionRows::GetName() const {
	return "SESSION_ROWS";
}

string LogicalSessionRows::GetExtensionName() const {
	return "merganser_session_rows";
}

PhysicalOperator &LogicalSessionRows::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	throw InternalException("Rows of the session belong to a plan that is cut, not executed");
}

unique_ptr<LogicalOperator> PlanCopy::Of(ClientContext &context, unique_ptr<LogicalOperator> &plan) {
	unique_ptr<LogicalOperator> result;
	if (plan->type == LogicalOperatorType::LOGICAL_GET && plan->children.empty()) {
		result = IsScanOfTheSession(*plan) ? nullptr : TryCopyScan(context, *plan);
		if (!result) {
			result = make_uniq<LogicalSessionRows>(plan);
		}
	} else {
		result = CopyWithoutChildren(context, *plan);
		for (auto &child : plan->children) {
			result->children.push_back(Of(context, child));
		}
	}
	if (plan->has_estimated_cardinality) {
		result->SetEstimatedCardinality(plan->estimated_cardinality);
	}
	return result;
}

} // namespace merganser
