#include "ordered_windows/window_functions.hpp"

#include "duckdb/common/set.hpp"
#include "duckdb/function/window/window_aggregate_function.hpp"

namespace merganser {

static unique_ptr<WindowExecutor> MakeExecutor(ClientContext &context, BoundWindowExpression &function,
                                               WindowSharedExpressions &shared) {
	if (function.GetExpressionType() == ExpressionType::WINDOW_AGGREGATE) {
		return make_uniq<WindowAggregateExecutor>(function, context, shared);
	}
	return make_uniq<WindowExecutor>(function, shared);
}

WindowFunctions::WindowFunctions(ClientContext &context, const vector<unique_ptr<Expression>> &functions) {
	for (auto &function : functions) {
		executors.push_back(MakeExecutor(context, function->Cast<BoundWindowExpression>(), shared));
	}
}

vector<idx_t> WindowFunctions::OrderLengths() const {
	set<idx_t> lengths;
	for (auto &executor : executors) {
		lengths.insert(executor->wexpr.OrderBy().size());
	}
	lengths.erase(0);
	return vector<idx_t>(lengths.begin(), lengths.end());
}

} // namespace merganser
