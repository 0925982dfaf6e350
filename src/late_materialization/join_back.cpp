#include "late_materialization/join_back.hpp"

#include "late_materialization/key_check.hpp"
#include "late_materialization/relation_copy.hpp"

#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

JoinBack::JoinBack(Optimizer &optimizer, const AggregateInput &input, const Deferral &deferral, AggregateShape &query)
    : optimizer(optimizer), input(input), deferral(deferral), query(query) {
}

void JoinBack::Apply(unique_ptr<LogicalOperator> &root) {
	auto old_bindings = query.aggregate->GetColumnBindings();
	auto plan = BuildNarrowAggregate();
	if (!deferral.Chain().empty()) {
		plan = ProjectRetained(std::move(plan));
		if (query.bound.IsValid()) {
			plan = LimitRows(std::move(plan));
		}
		plan = NumberRows(CheckKeys(std::move(plan)));
	}
	for (idx_t link = 0; link < deferral.Chain().size(); link++) {
		plan = AddLink(std::move(plan), link);
	}
	plan = RestoreOutput(std::move(plan));

	ColumnBindingReplacer replacer;
	auto new_bindings = plan->GetColumnBindings();
	for (idx_t i = 0; i < old_bindings.size(); i++) {
		replacer.replacement_bindings.emplace_back(old_bindings[i], new_bindings[i]);
	}
	replacer.stop_operator = plan.get();
	*query.slot = std::move(plan);
	replacer.VisitOperator(*root);
}

LogicalAggregate &JoinBack::NarrowAggregate() {
	return *narrow_aggregate;
}

LogicalJoinBackGuard &JoinBack::Guard(idx_t link) {
	return guards[link];
}

unique_ptr<LogicalOperator> JoinBack::BuildNarrowAggregate() {
	auto &aggregate = *query.aggregate;
	auto group_index = optimizer.binder.GenerateTableIndex();
	auto aggregate_index = optimizer.binder.GenerateTableIndex();
	vector<unique_ptr<Expression>> groups;
	vector<unique_ptr<Expression>> aggregates;
	for (auto &column : deferral.Columns()) {
		if (!column.retained || !column.read) {
			continue;
		}
		auto &target = column.is_group ? groups : aggregates;
		auto &source = column.is_group ? aggregate.groups : aggregate.expressions;
		ColumnBinding narrow(column.is_group ? group_index : aggregate_index, ProjectionIndex(target.size()));
		retained_output[column.output] = narrow;
		if (column.is_group && column.resolved->GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
			auto base = column.resolved->Cast<BoundColumnRefExpression>().Binding();
			materialized[base] = narrow;
			materialized_type[base] = column.resolved->GetReturnType();
		}
		target.push_back(source[column.index]->Copy());
	}
	auto narrow = make_uniq<LogicalAggregate>(group_index, aggregate_index, std::move(aggregates));
	narrow->groups = std::move(groups);
	narrow->children.push_back(std::move(aggregate.children[0]));
	narrow_aggregate = *narrow;
	if (query.having.empty()) {
		return std::move(narrow);
	}
	auto filter = make_uniq<LogicalFilter>();
	for (auto &condition : query.having) {
		filter->expressions.push_back(OverNarrowOutput(*condition));
	}
	filter->children.push_back(std::move(narrow));
	return std::move(filter);
}

unique_ptr<LogicalOperator> JoinBack::ProjectRetained(unique_ptr<LogicalOperator> narrow) {
	auto index = optimizer.binder.GenerateTableIndex();
	column_binding_map_t<ColumnBinding> projected;
	vector<unique_ptr<Expression>> expressions;
	auto bindings = narrow->GetColumnBindings();
	narrow->ResolveOperatorTypes();
	for (idx_t i = 0; i < bindings.size(); i++) {
		projected[bindings[i]] = ColumnBinding(index, ProjectionIndex(i));
		expressions.push_back(make_uniq<BoundColumnRefExpression>(narrow->types[i], bindings[i]));
	}
	Move(projected);
	for (idx_t i = 0; i < deferral.Chain().size(); i++) {
		auto &link = deferral.Chain()[i];
		for (auto &compared : link.compared) {
			if (deferral.ProviderOf(compared.probe, i).kind == Deferral::Provider::Kind::CONSTANT) {
				constants[compared.column] = ColumnBinding(index, ProjectionIndex(expressions.size()));
				expressions.push_back(Materialize(compared.probe, TypeOf(compared.column), i));
			}
		}
	}
	auto result = make_uniq<LogicalProjection>(index, std::move(expressions));
	result->children.push_back(std::move(narrow));
	return std::move(result);
}

unique_ptr<LogicalOperator> JoinBack::LimitRows(unique_ptr<LogicalOperator> narrow) {
	vector<BoundOrderByNode> orders;
	for (auto &node : query.orders) {
		orders.emplace_back(node.type, node.null_order, OverNarrowOutput(*node.expression));
	}
	auto order = make_uniq<LogicalOrder>(std::move(orders));
	order->children.push_back(std::move(narrow));
	auto bound = NumericCast<int64_t>(query.bound.GetIndex());
	auto limit = make_uniq<LogicalLimit>(BoundLimitNode::ConstantValue(bound), BoundLimitNode());
	limit->children.push_back(std::move(order));
	return std::move(limit);
}

unique_ptr<LogicalOperator> JoinBack::NumberRows(unique_ptr<LogicalOperator> narrow) {
	auto rows = make_uniq<LogicalNarrowRows>(optimizer.binder.GenerateTableIndex(), query.bound);
	row_number = rows->RowNumber();
	rows->children.push_back(std::move(narrow));
	return std::move(rows);
}

unique_ptr<LogicalOperator> JoinBack::AddLink(unique_ptr<LogicalOperator> plan, idx_t link_index) {
	auto &link = deferral.Chain()[link_index];
	auto &relation = input.Relations()[link.relation];
	auto &key = relation.keys[link.key];

	auto needed = link.fetched;
	for (auto &compared : link.compared) {
		needed.push_back(compared.column);
	}
	auto copy = RelationCopy::Create(optimizer.binder, relation, needed);

	vector<JoinCondition> conditions;
	for (auto &compared : link.compared) {
		auto type = TypeOf(compared.column);
		auto constant = constants.find(compared.column);
		auto probe = constant == constants.end() ? Materialize(compared.probe, type, link_index)
		                                         : make_uniq<BoundColumnRefExpression>(type, constant->second);
		auto found = make_uniq<BoundColumnRefExpression>(type, copy.bindings[compared.column]);
		conditions.emplace_back(std::move(probe), std::move(found), ExpressionType::COMPARE_EQUAL);
	}
	auto join = make_uniq<LogicalComparisonJoin>(query.read_to_end ? JoinType::LEFT : JoinType::SINGLE);
	join->conditions = std::move(conditions);
	join->children.push_back(std::move(plan));
	join->children.push_back(std::move(copy.plan));
	for (auto &column : link.fetched) {
		materialized[column] = copy.bindings[column];
		materialized_type[column] = TypeOf(column);
	}

	JoinBackPromise promise;
	promise.key = key.name;
	promise.table = key.object;
	promise.proof = key.proof;
	promise.found = link.found;
	auto &first = link.compared[0];
	unique_ptr<Expression> sought;
	if (link.found == FoundRows::ONE_UNLESS_NULL) {
		auto provider = deferral.ProviderOf(first.probe, link_index).column;
		sought = make_uniq<BoundColumnRefExpression>(materialized_type.at(provider), materialized.at(provider));
	}
	auto guard = make_uniq<LogicalJoinBackGuard>(
	    make_uniq<BoundColumnRefExpression>(LogicalType::BIGINT, row_number),
	    make_uniq<BoundColumnRefExpression>(TypeOf(first.column), copy.bindings[first.column]), std::move(sought),
	    query.bound, std::move(promise));
	guard->children.push_back(std::move(join));
	guards.emplace_back(*guard);
	return std::move(guard);
}

unique_ptr<LogicalOperator> JoinBack::RestoreOutput(unique_ptr<LogicalOperator> plan) {
	vector<unique_ptr<Expression>> expressions;
	for (auto &column : deferral.Columns()) {
		expressions.push_back(ShownValue(column));
	}
	auto projection = make_uniq<LogicalProjection>(optimizer.binder.GenerateTableIndex(), std::move(expressions));
	projection->children.push_back(std::move(plan));
	return std::move(projection);
}

unique_ptr<LogicalOperator> JoinBack::CheckKeys(unique_ptr<LogicalOperator> plan) {
	plan->ResolveOperatorTypes();
	auto types = plan->types;
	vector<unique_ptr<LogicalOperator>> branches;
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		auto &key = relation.keys[link.key];
		if (!key.guaranteed) {
			branches.push_back(LogicalKeyCheck::CreateBranch(optimizer, relation, key, types));
		}
	}
	if (branches.empty()) {
		return plan;
	}
	auto rows = plan->GetColumnBindings();
	branches.push_back(std::move(plan));
	auto result = make_uniq<LogicalSetOperation>(optimizer.binder.GenerateTableIndex(), types.size(),
	                                             std::move(branches), LogicalOperatorType::LOGICAL_UNION, true, false);
	column_binding_map_t<ColumnBinding> moved;
	auto outputs = result->GetColumnBindings();
	for (idx_t i = 0; i < rows.size(); i++) {
		moved[rows[i]] = outputs[i];
	}
	Move(moved);
	return std::move(result);
}

void JoinBack::Move(const column_binding_map_t<ColumnBinding> &moved) {
	for (auto columns : {&retained_output, &materialized, &constants}) {
		for (auto &entry : *columns) {
			entry.second = moved.at(entry.second);
		}
	}
}

unique_ptr<Expression> JoinBack::ShownValue(const OutputColumn &column) const {
	auto &aggregate = *query.aggregate;
	auto &expression = column.is_group ? *aggregate.groups[column.index] : *aggregate.expressions[column.index];
	if (column.retained && column.read) {
		return make_uniq<BoundColumnRefExpression>(expression.GetReturnType(), retained_output.at(column.output));
	}
	if (!column.displayed || !column.read) {
		return make_uniq<BoundConstantExpression>(Value(expression.GetReturnType()));
	}
	auto shown = column.resolved->Copy();
	ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
	    shown, [&](BoundColumnRefExpression &base, unique_ptr<Expression> &owner) {
		    owner = Materialize(base.Binding(), base.GetReturnType(), deferral.Chain().size());
	    });
	return shown;
}

unique_ptr<Expression> JoinBack::Materialize(const ColumnBinding &column, const LogicalType &type, idx_t links) const {
	auto provider = deferral.ProviderOf(column, links);
	if (provider.kind == Deferral::Provider::Kind::CONSTANT) {
		auto constant = provider.constant.DefaultTryCastAs(type);
		// A constant that does not fit the type equals no value of it: then there is no row to show it in.
		return make_uniq<BoundConstantExpression>(constant ? std::move(*constant) : Value(type));
	}
	auto value =
	    make_uniq<BoundColumnRefExpression>(materialized_type.at(provider.column), materialized.at(provider.column));
	return BoundCastExpression::AddCastToType(optimizer.context, std::move(value), type);
}

unique_ptr<Expression> JoinBack::OverNarrowOutput(const Expression &expression) const {
	auto result = expression.Copy();
	ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
	    result, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &) {
		    column.BindingMutable() = retained_output.at(column.Binding());
	    });
	return result;
}

LogicalType JoinBack::TypeOf(const ColumnBinding &column) const {
	auto &relation = input.Relations()[input.RelationOf(column).GetIndex()];
	return relation.types[relation.PositionOf(column)];
}

} // namespace merganser
