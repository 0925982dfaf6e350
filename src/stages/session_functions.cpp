#include "stages/session_functions.hpp"

#include "duckdb/main/client_context_state.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "duckdb/planner/operator/logical_sample.hpp"

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

bool IsRandom(const string &function) {
	static const unordered_set<string> names {"random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7"};
	return names.count(function) > 0;
}

struct Seed : public ClientContextState {
	static constexpr const char *NAME = "merganser_seed";
};

bool IsSeeded(ClientContext &context) {
	return context.registered_state->Get<Seed>(Seed::NAME) != nullptr;
}

string WhyNotFunction(ClientContext &context, const BoundScalarFunction &function) {
	auto name = function.GetName().GetIdentifierName();
	if (IsBoundToSession(function)) {
		return "the function " + name + " belongs to the session";
	}
	if (IsRandom(name) && IsSeeded(context)) {
		return "setseed was called, and the seed of " + name + " is the session's";
	}
	return string();
}

string WhyNotAggregate(const BoundAggregateExpression &aggregate) {
	auto without_bounds = aggregate.Function().GetName() == "bitstring_agg" && aggregate.GetChildren().size() == 1;
	return without_bounds ? "bitstring_agg without bounds needs DuckDB's statistics of its argument" : "";
}

string WhyNotSample(ClientContext &context, const SampleOptions &sample) {
	auto of_vectors = sample.method == SampleMethod::SYSTEM_SAMPLE ||
	                  (sample.method == SampleMethod::RESERVOIR_SAMPLE && sample.repeatable);
	if (of_vectors) {
		return "this sample depends on how rows come in vectors";
	}
	return IsSeeded(context) ? "setseed was called, and the seed of the sample is the session's" : "";
}

string WhyNotExpression(ClientContext &context, const Expression &expression) {
	string reason;
	if (expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION) {
		reason = WhyNotFunction(context, expression.Cast<BoundFunctionExpression>().Function());
	} else if (expression.GetExpressionClass() == ExpressionClass::BOUND_AGGREGATE) {
		reason = WhyNotAggregate(expression.Cast<BoundAggregateExpression>());
	}
	ExpressionIterator::EnumerateChildren(expression, [&](const Expression &child) {
		reason = reason.empty() ? WhyNotExpression(context, child) : reason;
	});
	return reason;
}

string WhyNotRowsOf(ClientContext &context, const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_SAMPLE) {
		return WhyNotSample(context, *op.Cast<LogicalSample>().sample_options);
	}
	if (op.type == LogicalOperatorType::LOGICAL_GET && op.Cast<LogicalGet>().extra_info.sample_options) {
		return WhyNotSample(context, *op.Cast<LogicalGet>().extra_info.sample_options);
	}
	return string();
}

bool CallsSetSeed(const Expression &expression) {
	auto found = expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION &&
	             expression.Cast<BoundFunctionExpression>().Function().GetName() == "setseed";
	ExpressionIterator::EnumerateChildren(expression,
	                                      [&](const Expression &child) { found = found || CallsSetSeed(child); });
	return found;
}

//! merganser_verify keeps the time of a verification in the catalog.
bool ChangesTheCatalog(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_GET &&
	       op.Cast<LogicalGet>().function.GetName().GetIdentifierName() == "merganser_verify";
}

} // namespace

string SessionFunctions::WhyNot(ClientContext &context, LogicalOperator &op) {
	if (ChangesTheCatalog(op)) {
		return "the function " + op.Cast<LogicalGet>().function.GetName().GetIdentifierName() +
		       " belongs to the session";
	}
	auto reason = WhyNotRowsOf(context, op);
	LogicalOperatorVisitor::EnumerateExpressions(op, [&](unique_ptr<Expression> *expression) {
		reason = reason.empty() ? WhyNotExpression(context, **expression) : reason;
	});
	for (auto &child : op.children) {
		reason = reason.empty() ? WhyNot(context, *child) : reason;
	}
	return reason;
}

void SessionFunctions::NoticeSeed(ClientContext &context, LogicalOperator &plan) {
	if (plan.type == LogicalOperatorType::LOGICAL_PROJECTION) {
		for (auto &expression : plan.expressions) {
			if (CallsSetSeed(*expression)) {
				context.registered_state->GetOrCreate<Seed>(Seed::NAME);
			}
		}
	}
	for (auto &child : plan.children) {
		NoticeSeed(context, *child);
	}
}

} // namespace merganser
