#include "stages/built_in_names.hpp"

#include "duckdb/parser/expression/function_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/expression/window_expression.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"

namespace merganser {

namespace {

template <class CALL>
void QualifyCall(CALL &call) {
	auto &name = call.GetQualifiedName();
	if (name.Schema().empty() && name.Name() != "unnest") {
		call.SetQualifiedName(Identifier(SYSTEM_CATALOG), Identifier(DEFAULT_SCHEMA), Identifier(name.Name()));
	}
}

void QualifyIn(ParsedExpression &expression) {
	if (expression.GetExpressionClass() == ExpressionClass::FUNCTION) {
		auto &function = expression.Cast<FunctionExpression>();
		QualifyCall(function);
		function.IsOperatorMutable() = false; // an operator has no place for a schema
	} else if (expression.GetExpressionClass() == ExpressionClass::WINDOW) {
		QualifyCall(expression.Cast<WindowExpression>());
	} else if (expression.GetExpressionClass() == ExpressionClass::SUBQUERY) {
		BuiltInNames::Qualify(*expression.Cast<SubqueryExpression>().SubqueryMutable()->node);
	}
	ParsedExpressionIterator::EnumerateChildren(expression, [](ParsedExpression &child) { QualifyIn(child); });
}

} // namespace

void BuiltInNames::Qualify(QueryNode &query) {
	ParsedExpressionIterator::EnumerateQueryNodeChildren(
	    query, [](unique_ptr<ParsedExpression> &expression) { QualifyIn(*expression); });
}

} // namespace merganser
