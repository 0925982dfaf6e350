#include "stages/two_phase_aggregate.hpp"

#include "duckdb/function/aggregate/distributive_functions.hpp"
#include "duckdb/function/builtin_function_lookup.hpp"
#include "duckdb/function/function_binder.hpp"
#include "duckdb/function/scalar/generic_common.hpp"
#include "duckdb/function/scalar/generic_functions.hpp"
#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

namespace {

//! By name and number of arguments: max(x) has a state, max(x, n) has not. Add an entry only with a test.
bool IsListed(const string &name, idx_t arguments) {
	static const unordered_map<string, idx_t> functions {
	    {"count", 1},      {"count_star", 0},  {"sum", 1},      {"sum_no_overflow", 1}, {"avg", 1},
	    {"min", 1},        {"max", 1},         {"bool_and", 1}, {"bool_or", 1},         {"bit_and", 1},
	    {"bit_or", 1},     {"bit_xor", 1},     {"var_pop", 1},  {"var_samp", 1},        {"variance", 1},
	    {"stddev_pop", 1}, {"stddev_samp", 1}, {"stddev", 1},   {"first", 1},           {"any_value", 1},
	};
	auto entry = functions.find(name);
	return entry != functions.end() && entry->second == arguments;
}

bool IsPossibleFor(const BoundAggregateExpression &aggregate) {
	auto &function = aggregate.Function();
	return !aggregate.IsDistinct() && !aggregate.GetOrderBys() && !aggregate.IsVolatile() &&
	       aggregate.StateExportMode() == AggregateStateExportMode::NONE && function.HasStateCombineCallback() &&
	       function.HasGetStateTypeCallback() &&
	       IsListed(function.GetName().GetIdentifierName(), aggregate.GetChildren().size());
}

//! DuckDB's optimiser turns sum of decimals into sum_no_overflow, whose state does not know their scale: take sum
//! again.
unique_ptr<BoundAggregateExpression> WithFullState(ClientContext &context, const Expression &expression) {
	auto result = unique_ptr_cast<Expression, BoundAggregateExpression>(expression.Copy());
	if (result->Function().GetName() != "sum_no_overflow") {
		return result;
	}
	auto filter = std::move(result->GetFilterMutable());
	auto arguments = std::move(result->GetChildrenMutable());
	auto function = GetBuiltinAggregateFunction(context, "sum", {arguments[0]->GetReturnType()});
	return FunctionBinder(context).BindAggregateFunction(std::move(function), std::move(arguments), std::move(filter));
}

//! The value of the state; its type must be that of the aggregate by itself, a cast could hide that the state lost
//! something.
unique_ptr<Expression> Finalize(ClientContext &context, unique_ptr<Expression> state, const Expression &aggregate) {
	vector<unique_ptr<Expression>> arguments;
	arguments.push_back(std::move(state));
	auto function = GetBuiltinScalarFunction(context, "finalize", {arguments[0]->GetReturnType()});
	auto result = FunctionBinder(context).BindScalarFunction(function, std::move(arguments));
	if (result->GetReturnType() != aggregate.GetReturnType()) {
		throw NotImplementedException("The state of %s gives %s instead of %s", aggregate.ToString(),
		                              result->GetReturnType().ToString(), aggregate.GetReturnType().ToString());
	}
	return result;
}

} // namespace

bool TwoPhaseAggregate::IsPossible(const LogicalAggregate &aggregate) {
	for (auto &expression : aggregate.expressions) {
		if (!IsPossibleFor(expression->Cast<BoundAggregateExpression>())) {
			return false;
		}
	}
	return true;
}

//! DuckDB takes every function for dependent on the order that does not say otherwise.
bool TwoPhaseAggregate::SeesOrder(const BoundAggregateFunction &function, idx_t arguments) {
	static const unordered_set<string> others {"approx_count_distinct", "corr", "covar_pop", "covar_samp"};
	auto name = function.GetName().GetIdentifierName();
	auto takes_first = name == "first" || name == "any_value";
	return function.GetOrderDependent() == AggregateOrderDependent::ORDER_DEPENDENT && !others.count(name) &&
	       (takes_first || !IsListed(name, arguments));
}

reference<LogicalOperator> TwoPhaseAggregate::Split(ClientContext &context, Binder &binder,
                                                    unique_ptr<LogicalOperator> &root,
                                                    unique_ptr<LogicalOperator> &op) {
	auto &whole = op->Cast<LogicalAggregate>();
	auto partial_groups = binder.GenerateTableIndex();
	auto partial_states = binder.GenerateTableIndex();
	auto groups = binder.GenerateTableIndex();
	auto states = binder.GenerateTableIndex();
	auto output = binder.GenerateTableIndex();
	FunctionBinder functions(context);

	vector<unique_ptr<Expression>> partial;
	vector<unique_ptr<Expression>> combined;
	vector<unique_ptr<Expression>> outputs;
	for (idx_t i = 0; i < whole.groups.size(); i++) {
		outputs.push_back(make_uniq<BoundColumnRefExpression>(whole.groups[i]->GetReturnType(),
		                                                      ColumnBinding(groups, ProjectionIndex(i))));
	}
	for (idx_t i = 0; i < whole.expressions.size(); i++) {
		auto state = ExportAggregateFunction::Bind(WithFullState(context, *whole.expressions[i]));
		auto type = state->GetReturnType();
		vector<unique_ptr<Expression>> arguments;
		arguments.push_back(
		    make_uniq<BoundColumnRefExpression>(type, ColumnBinding(partial_states, ProjectionIndex(i))));
		auto combine = GetBuiltinAggregateFunction(context, CombineAggrFun::Name, {type});
		combined.push_back(functions.BindAggregateFunction(std::move(combine), std::move(arguments)));
		auto reference = make_uniq<BoundColumnRefExpression>(combined[i]->GetReturnType(),
		                                                     ColumnBinding(states, ProjectionIndex(i)));
		outputs.push_back(Finalize(context, std::move(reference), *whole.expressions[i]));
		partial.push_back(std::move(state));
	}

	auto lower = make_uniq<LogicalAggregate>(partial_groups, partial_states, std::move(partial));
	auto upper = make_uniq<LogicalAggregate>(groups, states, std::move(combined));
	for (idx_t i = 0; i < whole.groups.size(); i++) {
		upper->groups.push_back(make_uniq<BoundColumnRefExpression>(whole.groups[i]->GetReturnType(),
		                                                            ColumnBinding(partial_groups, ProjectionIndex(i))));
		lower->groups.push_back(std::move(whole.groups[i]));
	}
	for (auto aggregate : {lower.get(), upper.get()}) {
		if (op->has_estimated_cardinality) {
			aggregate->SetEstimatedCardinality(op->estimated_cardinality);
		}
	}
	lower->children.push_back(std::move(op->children[0]));
	upper->children.push_back(std::move(lower));
	reference<LogicalOperator> result = *upper;

	ColumnBindingReplacer replacer;
	auto bindings = op->GetColumnBindings();
	for (idx_t i = 0; i < bindings.size(); i++) {
		replacer.replacement_bindings.emplace_back(bindings[i], ColumnBinding(output, ProjectionIndex(i)));
	}
	auto projection = make_uniq<LogicalProjection>(output, std::move(outputs));
	if (op->has_estimated_cardinality) {
		projection->SetEstimatedCardinality(op->estimated_cardinality);
	}
	projection->children.push_back(std::move(upper));
	replacer.stop_operator = projection.get();
	op = std::move(projection);
	replacer.VisitOperator(*root);
	op->ResolveOperatorTypes();
	return result;
}

} // namespace merganser
