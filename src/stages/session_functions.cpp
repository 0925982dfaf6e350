#include "stages/session_functions.hpp"

#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/logical_get.hpp"

namespace merganser {

namespace {

//! Volatile, yet the same in every task: each row is computed once, in one of them.
bool MayRunInTask(const string &function) {
	static const unordered_set<string> names {"random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "error"};
	return names.count(function) > 0;
}

//! Constant within a query because the session says so, other than by settings, which tasks have too.
bool AsksTheSession(const string &function) {
	static const unordered_set<string> names {"now",
	                                          "today",
	                                          "get_current_timestamp",
	                                          "get_current_time",
	                                          "current_date",
	                                          "current_localtime",
	                                          "current_localtimestamp",
	                                          "transaction_timestamp",
	                                          "txid_current",
	                                          "age",
	                                          "current_schema",
	                                          "current_schemas",
	                                          "current_database",
	                                          "current_setting",
	                                          "getvariable",
	                                          "in_search_path"};
	return names.count(function) > 0;
}

bool IsBoundToSession(const BoundScalarFunction &function) {
	auto name = function.GetName().GetIdentifierName();
	switch (function.GetStability()) {
	case FunctionStability::CONSISTENT:
		return false;
	case FunctionStability::CONSISTENT_WITHIN_QUERY:
		return AsksTheSession(name);
	default:
		return !MayRunInTask(name);
	}
}

string FindIn(const Expression &expression) {
	if (expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION) {
		auto &function = expression.Cast<BoundFunctionExpression>().Function();
		if (IsBoundToSession(function)) {
			return function.GetName().GetIdentifierName();
		}
	}
	string found;
	ExpressionIterator::EnumerateChildren(
	    expression, [&](const Expression &child) { found = found.empty() ? FindIn(child) : found; });
	return found;
}

//! merganser_verify keeps the time of a verification in the catalog.
bool ChangesTheCatalog(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_GET &&
	       op.Cast<LogicalGet>().function.GetName().GetIdentifierName() == "merganser_verify";
}

} // namespace

string SessionFunctions::Find(LogicalOperator &op) {
	if (ChangesTheCatalog(op)) {
		return op.Cast<LogicalGet>().function.GetName().GetIdentifierName();
	}
	string found;
	LogicalOperatorVisitor::EnumerateExpressions(
	    op, [&](unique_ptr<Expression> *expression) { found = found.empty() ? FindIn(**expression) : found; });
	for (auto &child : op.children) {
		if (found.empty()) {
			found = Find(*child);
		}
	}
	return found;
}

} // namespace merganser
