#include "stages/plan_columns.hpp"

#include "duckdb/common/type_visitor.hpp"
#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"

namespace merganser {

idx_t PlanColumns::Width(const LogicalType &type) {
	auto physical = type.InternalType();
	return TypeIsConstantSize(physical) ? GetTypeIdSize(physical) : 24;
}

bool PlanColumns::CanHash(const LogicalType &type) {
	return !TypeVisitor::Contains(type, [](const LogicalType &inner) {
		return inner.id() == LogicalTypeId::VARIANT || inner.id() == LogicalTypeId::GEOMETRY ||
		       inner.id() == LogicalTypeId::LAMBDA;
	});
}

bool PlanColumns::CanHash(const vector<unique_ptr<Expression>> &keys) {
	for (auto &key : keys) {
		if (!CanHash(key->GetReturnType()) || key->IsVolatile()) {
			return false;
		}
	}
	return !keys.empty();
}

vector<unique_ptr<Expression>> PlanColumns::Copies(const vector<unique_ptr<Expression>> &expressions) {
	vector<unique_ptr<Expression>> result;
	for (auto &expression : expressions) {
		result.push_back(expression->Copy());
	}
	return result;
}

vector<unique_ptr<Expression>> PlanColumns::Over(const vector<unique_ptr<Expression>> &expressions,
                                                 const vector<ColumnBinding> &columns,
                                                 const vector<ColumnBinding> &others) {
	ColumnBindingReplacer replacer;
	for (idx_t i = 0; i < columns.size(); i++) {
		replacer.replacement_bindings.emplace_back(columns[i], others[i]);
	}
	auto result = Copies(expressions);
	for (auto &expression : result) {
		replacer.VisitExpression(&expression);
	}
	return result;
}

vector<ColumnBinding> PlanColumns::Plain(const vector<unique_ptr<Expression>> &expressions) {
	vector<ColumnBinding> result;
	for (auto &expression : expressions) {
		if (expression->GetExpressionClass() != ExpressionClass::BOUND_COLUMN_REF) {
			return {};
		}
		result.push_back(expression->Cast<BoundColumnRefExpression>().Binding());
	}
	return result;
}

optional<ColumnBinding> PlanColumns::ColumnOf(const Expression &expression) {
	if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF) {
		return expression.Cast<BoundColumnRefExpression>().Binding();
	}
	if (expression.GetExpressionClass() != ExpressionClass::BOUND_FUNCTION) {
		return {};
	}
	auto &function = expression.Cast<BoundFunctionExpression>();
	auto &name = function.Function().GetName().GetIdentifierName();
	auto is_packing =
	    StringUtil::StartsWith(name, "__internal_compress_") || StringUtil::StartsWith(name, "__internal_decompress_");
	return is_packing ? ColumnOf(*function.GetChildren()[0]) : optional<ColumnBinding>();
}

optional<ColumnBinding> PlanColumns::ColumnOfValue(const Expression &expression) {
	if (!BoundCastExpression::IsCast(expression)) {
		return ColumnOf(expression);
	}
	auto &cast = expression.Cast<BoundFunctionExpression>();
	auto keeps = !BoundCastExpression::IsTryCast(cast) && BoundCastExpression::TargetType(cast).IsIntegral() &&
	             BoundCastExpression::SourceType(cast).IsIntegral();
	return keeps ? ColumnOfValue(BoundCastExpression::Child(cast)) : optional<ColumnBinding>();
}

vector<unique_ptr<Expression>> PlanColumns::All(LogicalOperator &op) {
	op.ResolveOperatorTypes();
	vector<unique_ptr<Expression>> result;
	auto bindings = op.GetColumnBindings();
	for (idx_t i = 0; i < bindings.size(); i++) {
		result.push_back(make_uniq<BoundColumnRefExpression>(op.types[i], bindings[i]));
	}
	return result;
}

bool PlanColumns::Contains(const vector<ColumnBinding> &bindings, const ColumnBinding &binding) {
	return std::find(bindings.begin(), bindings.end(), binding) != bindings.end();
}

Partitioning PlanColumns::KeepAvailable(Partitioning delivered, LogicalOperator &op) {
	auto bindings = op.GetColumnBindings();
	return delivered.Renamed([&](const ColumnBinding &key) {
		return Contains(bindings, key) ? optional<ColumnBinding>(key) : optional<ColumnBinding>();
	});
}

} // namespace merganser
