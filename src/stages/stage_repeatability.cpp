#include "stages/stage_repeatability.hpp"

#include "grouping/logical_table_function.hpp"
#include "properties/column_equivalences.hpp"
#include "stages/join_back_check.hpp"
#include "stages/logical_exchange.hpp"
#include "stages/range_partition.hpp"

#include "duckdb/common/extension_type_info.hpp"
#include "duckdb/main/settings.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression/bound_window_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

using Level = Repeatability::Level;

const char *const COMBINE = "combine_aggr";

//! Volatile so that it is not computed early, but it never returns.
bool OnlyFails(const Expression &expression) {
	return expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION &&
	       expression.Cast<BoundFunctionExpression>().Function().GetName() == "error";
}

//! What in the expression gives another value each time; empty where nothing does.
string FindVolatile(const Expression &expression) {
	if (!expression.IsVolatile()) {
		return string();
	}
	string found;
	auto of_child = false;
	ExpressionIterator::EnumerateChildren(expression, [&](const Expression &child) {
		of_child = of_child || child.IsVolatile();
		found = found.empty() ? FindVolatile(child) : found;
	});
	if (!found.empty() || OnlyFails(expression)) {
		return found;
	}
	if (expression.GetExpressionClass() == ExpressionClass::BOUND_FUNCTION) {
		return expression.Cast<BoundFunctionExpression>().Function().GetName().GetIdentifierName() + "()";
	}
	return of_child ? string() : "a volatile expression";
}

//! Of the operator's own expressions.
string FindVolatile(LogicalOperator &op) {
	string found;
	LogicalOperatorVisitor::EnumerateExpressions(
	    op, [&](unique_ptr<Expression> *expression) { found = found.empty() ? FindVolatile(**expression) : found; });
	return found;
}

//! The type of a value that stands for all that are equal to it, if some of them are not identical.
string FindInexact(const vector<LogicalType> &types) {
	for (auto &type : types) {
		if (!ColumnEquivalences::HasIdentityEquality(type)) {
			return type.ToString();
		}
	}
	return string();
}

string EqualValuesDiffer(const string &type) {
	return "equal values of " + type + " need not be identical";
}

vector<LogicalType> TypesOf(const vector<unique_ptr<Expression>> &expressions) {
	vector<LogicalType> result;
	for (auto &expression : expressions) {
		result.push_back(expression->GetReturnType());
	}
	return result;
}

//! Whether sums of such numbers are the same in every order.
bool AddsExactly(const LogicalType &type) {
	return type.id() == LogicalTypeId::BOOLEAN || type.id() == LogicalTypeId::DECIMAL || type.IsIntegral();
}

//! DuckDB averages wider whole numbers as DOUBLE.
bool AveragesExactly(const LogicalType &type) {
	return type.id() != LogicalTypeId::HUGEINT && type.id() != LogicalTypeId::UHUGEINT && AddsExactly(type);
}

struct AggregateCall {
	string name;
	vector<LogicalType> arguments;
};

//! The aggregate that made a state, as DuckDB writes it into its type (EncodeStateParameters).
AggregateCall CallOfState(const LogicalType &state) {
	auto info = state.GetExtensionInfo();
	if (!state.IsAggregateState() || !info) {
		return {};
	}
	auto name = info->properties.find("function_name");
	auto parameters = info->properties.find("parameters");
	if (name == info->properties.end() || parameters == info->properties.end() ||
	    info->properties.count("order_bys") > 0 ||
	    parameters->second.type() != LogicalType::LIST(LogicalType::TYPE())) {
		return {};
	}
	AggregateCall result;
	result.name = name->second.ToString();
	for (auto &parameter : ListValue::GetChildren(parameters->second)) {
		result.arguments.push_back(TypeValue::GetType(parameter));
	}
	return result;
}

AggregateCall CallOf(const BoundAggregateExpression &aggregate) {
	AggregateCall call {aggregate.Function().GetName().GetIdentifierName(), TypesOf(aggregate.GetChildren())};
	return call.name == COMBINE && call.arguments.size() == 1 ? CallOfState(call.arguments[0]) : call;
}

//! Whether the value, and the state, of an aggregate is the same in whatever order its rows come.
bool IgnoresOrder(const AggregateCall &call) {
	auto &function = call.name;
	auto &arguments = call.arguments;
	if (function == "count" || function == "count_star") {
		return true;
	}
	if (arguments.size() != 1) {
		return false;
	}
	if (function == "sum" || function == "sum_no_overflow") {
		return AddsExactly(arguments[0]);
	}
	if (function == "avg") {
		return AveragesExactly(arguments[0]);
	}
	static const unordered_set<string> others {"min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"};
	return others.count(function) > 0 && ColumnEquivalences::HasIdentityEquality(arguments[0]);
}

//! Values that are the same for all rows that tie.
bool IsSameForTies(const Expression &expression) {
	static const unordered_set<string> names {"rank", "dense_rank", "rank_dense", "percent_rank", "cume_dist"};
	auto &function = expression.Cast<BoundWindowExpression>().WindowFunction();
	return function && names.count(function->GetName().GetIdentifierName()) > 0;
}

bool KeepsAllMatches(JoinType type) {
	switch (type) {
	case JoinType::INNER:
	case JoinType::LEFT:
	case JoinType::RIGHT:
	case JoinType::OUTER:
	case JoinType::SEMI:
	case JoinType::ANTI:
	case JoinType::MARK:
	case JoinType::RIGHT_SEMI:
	case JoinType::RIGHT_ANTI:
		return true;
	default:
		return false;
	}
}

class PlanWalk {
public:
	explicit PlanWalk(const QueryStages &query) : query(query) {
	}

	Repeatability Of(LogicalOperator &op) const {
		auto function = FindVolatile(op);
		return function.empty() ? OfKind(op) : Repeatability::None(function + " gives another value each time");
	}

private:
	const QueryStages &query;

	Repeatability OfKind(LogicalOperator &op) const {
		switch (op.type) {
		case LogicalOperatorType::LOGICAL_GET:
			return OfScan(op.Cast<LogicalGet>());
		case LogicalOperatorType::LOGICAL_DUMMY_SCAN:
		case LogicalOperatorType::LOGICAL_EXPRESSION_GET:
		case LogicalOperatorType::LOGICAL_CHUNK_GET:
		case LogicalOperatorType::LOGICAL_EMPTY_RESULT:
			return op.children.empty() ? Repeatability::InOrder() : OfChildren(op);
		case LogicalOperatorType::LOGICAL_PROJECTION:
		case LogicalOperatorType::LOGICAL_FILTER:
		case LogicalOperatorType::LOGICAL_UNNEST:
			return Of(*op.children[0]);
		case LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY:
			return OfAggregate(op.Cast<LogicalAggregate>());
		case LogicalOperatorType::LOGICAL_DISTINCT:
			return OfDistinct(op.Cast<LogicalDistinct>());
		case LogicalOperatorType::LOGICAL_WINDOW:
			return OfWindow(op);
		case LogicalOperatorType::LOGICAL_ORDER_BY:
			return Unordered(op, "rows that tie in ORDER BY come in any order");
		case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
		case LogicalOperatorType::LOGICAL_ANY_JOIN:
			return KeepsAllMatches(op.Cast<LogicalJoin>().join_type) ? Unordered(op, "a join gives rows in any order")
			                                                         : NotKnown(op);
		case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
			return Unordered(op, "a join gives rows in any order");
		case LogicalOperatorType::LOGICAL_UNION:
			return op.Cast<LogicalSetOperation>().setop_all ? Unordered(op, "UNION ALL gives rows in any order")
			                                                : OfSetOperation(op);
		case LogicalOperatorType::LOGICAL_EXCEPT:
		case LogicalOperatorType::LOGICAL_INTERSECT:
			return OfSetOperation(op);
		case LogicalOperatorType::LOGICAL_LIMIT:
		case LogicalOperatorType::LOGICAL_TOP_N:
			return Repeatability::None("which rows are the first depends on the order they come in");
		case LogicalOperatorType::LOGICAL_EXTENSION_OPERATOR:
			return OfExtension(op);
		default:
			return NotKnown(op);
		}
	}

	static Repeatability NotKnown(const LogicalOperator &op) {
		return Repeatability::None(op.GetName() + " may give other rows each time");
	}

	Repeatability OfChildren(LogicalOperator &op) const {
		auto result = Repeatability::InOrder();
		for (auto &child : op.children) {
			result = result.And(Of(*child));
		}
		return result;
	}

	Repeatability Unordered(LogicalOperator &op, const string &why) const {
		return OfChildren(op).WithoutOrder(why);
	}

	static Repeatability OfScan(const LogicalGet &get) {
		if (!get.children.empty() || get.extra_info.sample_options) {
			return NotKnown(get);
		}
		return Repeatability::InOrder();
	}

	Repeatability OfAggregate(LogicalAggregate &aggregate) const {
		auto inexact = FindInexact(TypesOf(aggregate.groups));
		if (!inexact.empty()) {
			return Repeatability::None(EqualValuesDiffer(inexact));
		}
		for (auto &expression : aggregate.expressions) {
			auto call = CallOf(expression->Cast<BoundAggregateExpression>());
			if (!IgnoresOrder(call)) {
				return Repeatability::None(call.name + "() depends on the order of its rows");
			}
		}
		return Unordered(aggregate, "an aggregate gives groups in any order");
	}

	//! DISTINCT ON keeps one row of several that differ.
	Repeatability OfDistinct(LogicalDistinct &distinct) const {
		if (distinct.distinct_type != DistinctType::DISTINCT) {
			return NotKnown(distinct);
		}
		return OfSetOperation(distinct);
	}

	Repeatability OfSetOperation(LogicalOperator &op) const {
		op.ResolveOperatorTypes();
		auto inexact = FindInexact(op.types);
		return inexact.empty() ? Unordered(op, op.GetName() + " gives rows in any order")
		                       : Repeatability::None(EqualValuesDiffer(inexact));
	}

	Repeatability OfWindow(LogicalOperator &op) const {
		for (auto &expression : op.expressions) {
			if (!IsSameForTies(*expression)) {
				return Repeatability::None("a window depends on the order of rows that tie");
			}
		}
		return Unordered(op, "a window gives rows in any order");
	}

	Repeatability OfExtension(LogicalOperator &op) const {
		auto exchange = dynamic_cast<LogicalExchange *>(&op);
		if (exchange) {
			return OfInput(exchange->input);
		}
		auto function = dynamic_cast<LogicalTableFunction *>(&op);
		if (function && function->definition.semantics == TableSemantics::ROW) {
			return Unordered(op, function->definition.name + " gives rows in any order");
		}
		if (dynamic_cast<LogicalRangeNumber *>(&op)) {
			return Unordered(op, "a join gives rows in any order");
		}
		if (dynamic_cast<LogicalJoinBackCheck *>(&op)) {
			return Unordered(op, "a window gives rows in any order");
		}
		return NotKnown(op);
	}

	//! Where a stage is not repeatable, what reads it runs again with it: until then its files are the same.
	Repeatability OfInput(const StageInput &input) const {
		if (!input.stage.IsValid() || query.Get(input.stage.GetIndex()).repeatability.Satisfies(Level::ROWS_IN_ORDER)) {
			return Repeatability::InOrder();
		}
		return Repeatability::InAnyOrder(
		    StringUtil::Format("the rows of stage %llu come in any order", input.stage.GetIndex()));
	}
};

Repeatability OfPartitions(const Stage &stage, Repeatability rows) {
	auto by_position = stage.partitions > 1 && stage.keys.empty() && !stage.partition_number.IsValid();
	if (by_position && rows.Satisfies(Level::ROWS) && !rows.Satisfies(Level::ROWS_IN_ORDER)) {
		return Repeatability::None("which share a row is in depends on the order of all, and " + rows.Why());
	}
	return rows;
}

} // namespace

void StageRepeatability::Mark(ClientContext &context, QueryStages &query) {
	auto one_thread_writes = duckdb::Settings::Get<PreserveInsertionOrderSetting>(context);
	for (auto &stage : query.stages) {
		auto rows = PlanWalk(query).Of(*stage->plan);
		if (!one_thread_writes) {
			rows = rows.WithoutOrder("preserve_insertion_order is off");
		}
		stage->repeatability = OfPartitions(*stage, std::move(rows));
		for (auto &input : stage->inputs) {
			if (input.stage.IsValid() && input.ordered) {
				query.stages[input.stage.GetIndex() - 1]->needed = Level::ROWS_IN_ORDER;
			}
		}
	}
	// Nothing reads the last one.
	for (idx_t i = 0; i + 1 < query.stages.size(); i++) {
		auto &stage = *query.stages[i];
		if (!stage.IsRepeatable()) {
			stage.reasons.push_back("not repeatable: " + stage.repeatability.Why());
		}
	}
}

} // namespace merganser
