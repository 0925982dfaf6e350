#include "late_materialization/distinct_as_aggregate.hpp"

#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_aggregate.hpp"

namespace merganser {

bool DistinctAsAggregate::IsCandidate(LogicalOperator &op) {
	if (op.type != LogicalOperatorType::LOGICAL_DISTINCT) {
		return false;
	}
	auto &distinct = op.Cast<LogicalDistinct>();
	auto columns = op.GetColumnBindings();
	if (distinct.distinct_type != DistinctType::DISTINCT ||
	    op.children[0]->type != LogicalOperatorType::LOGICAL_PROJECTION ||
	    columns.size() != distinct.distinct_targets.size() || columns.size() == 1) {
		return false;
	}
	for (idx_t i = 0; i < columns.size(); i++) {
		auto &target = *distinct.distinct_targets[i];
		if (target.GetExpressionClass() != ExpressionClass::BOUND_COLUMN_REF ||
		    target.Cast<BoundColumnRefExpression>().Binding() != columns[i]) {
			return false;
		}
	}
	return true;
}

DistinctAsAggregate::DistinctAsAggregate(Optimizer &optimizer, unique_ptr<LogicalOperator> &root,
                                         unique_ptr<LogicalOperator> &owner)
    : root(root), owner(owner), distinct(std::move(owner)) {
	auto group_index = optimizer.binder.GenerateTableIndex();
	auto aggregate = make_uniq<LogicalAggregate>(group_index, optimizer.binder.GenerateTableIndex(),
	                                             vector<unique_ptr<Expression>>());
	for (auto &target : distinct->Cast<LogicalDistinct>().distinct_targets) {
		aggregate->groups.push_back(target->Copy());
	}
	auto before = distinct->GetColumnBindings();
	aggregate->children.push_back(std::move(distinct->children[0]));
	auto after = aggregate->GetColumnBindings();
	owner = std::move(aggregate);
	Repoint(before, after);
}

void DistinctAsAggregate::Restore() {
	auto before = owner->GetColumnBindings();
	distinct->children[0] = std::move(owner->children[0]);
	auto after = distinct->GetColumnBindings();
	owner = std::move(distinct);
	Repoint(before, after);
}

void DistinctAsAggregate::Repoint(const vector<ColumnBinding> &from, const vector<ColumnBinding> &to) {
	ColumnBindingReplacer replacer;
	for (idx_t i = 0; i < from.size(); i++) {
		replacer.replacement_bindings.emplace_back(from[i], to[i]);
	}
	replacer.stop_operator = owner.get();
	replacer.VisitOperator(*root);
}

} // namespace merganser
