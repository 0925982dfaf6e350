#include "late_materialization/key_check.hpp"

#include "late_materialization/key_check_by_bits.hpp"
#include "operator_export.hpp"

#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/function/aggregate/distributive_functions.hpp"
#include "duckdb/function/function_binder.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/planner/expression/bound_aggregate_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

const char *const KEY_CHECK_NAME = "KEY_CHECK";

//! EXPLAIN ANALYZE titles every operator of an extension "Extension", so the parameters say which one it is.
InsertionOrderPreservingMap<string> KeyCheckParameters(const JoinBackPromise &promise) {
	InsertionOrderPreservingMap<string> result;
	result["Key check"] = promise.key;
	result["Table"] = promise.table;
	return result;
}

unique_ptr<LogicalAggregate> CountByKey(Optimizer &optimizer, const BaseRelation &relation, const RelationKey &key) {
	auto copy = RelationCopy::Create(optimizer.binder, relation, key.columns);
	vector<unique_ptr<Expression>> counts;
	counts.push_back(FunctionBinder(optimizer.context).BindAggregateFunction(CountStarFun::GetFunction(), {}));
	auto group_index = optimizer.binder.GenerateTableIndex();
	auto result = make_uniq<LogicalAggregate>(group_index, optimizer.binder.GenerateTableIndex(), std::move(counts));
	for (auto &column : key.columns) {
		auto &type = relation.types[relation.PositionOf(column)];
		result->groups.push_back(make_uniq<BoundColumnRefExpression>(type, copy.bindings.at(column)));
	}
	result->children.push_back(std::move(copy.plan));
	return result;
}

string Failure(const string &condition, const string &message) {
	return " WHEN " + condition + " THEN error(" + Value(message).ToSQLString() + ")";
}

} // namespace

LogicalKeyCheck::LogicalKeyCheck(vector<unique_ptr<Expression>> columns, optional<DenseIntegers> integers,
                                 JoinBackPromise promise)
    : integers(integers), promise(std::move(promise)) {
	expressions = std::move(columns);
}

unique_ptr<LogicalOperator> LogicalKeyCheck::CreateBranch(Optimizer &optimizer, const BaseRelation &relation,
                                                          const RelationKey &key, const vector<LogicalType> &types) {
	auto counted = CountByKey(optimizer, relation, key);
	vector<unique_ptr<Expression>> columns;
	for (idx_t i = 0; i < counted->groups.size(); i++) {
		columns.push_back(make_uniq<BoundColumnRefExpression>(counted->groups[i]->GetReturnType(),
		                                                      ColumnBinding(counted->group_index, ProjectionIndex(i))));
	}
	columns.push_back(make_uniq<BoundColumnRefExpression>(LogicalType::BIGINT,
	                                                      ColumnBinding(counted->aggregate_index, ProjectionIndex(0))));
	JoinBackPromise promise;
	promise.key = key.name;
	promise.table = key.object;
	promise.proof = key.proof;
	auto check = make_uniq<LogicalKeyCheck>(std::move(columns), key.dense, std::move(promise));
	check->children.push_back(std::move(counted));
	auto limit = make_uniq<LogicalLimit>(BoundLimitNode::ConstantValue(1), BoundLimitNode());
	limit->children.push_back(std::move(check));
	vector<unique_ptr<Expression>> nulls;
	for (auto &type : types) {
		nulls.push_back(make_uniq<BoundConstantExpression>(Value(type)));
	}
	auto result = make_uniq<LogicalProjection>(optimizer.binder.GenerateTableIndex(), std::move(nulls));
	result->children.push_back(std::move(limit));
	return std::move(result);
}

unique_ptr<LogicalOperator> LogicalKeyCheck::CopyAlone() const {
	vector<unique_ptr<Expression>> columns;
	for (auto &column : expressions) {
		columns.push_back(column->Copy());
	}
	return make_uniq<LogicalKeyCheck>(std::move(columns), integers, promise);
}

LogicalPlanSQLExportResult LogicalKeyCheck::ToSQL(LogicalPlanSQLExportContext &context,
                                                  const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto columns = OperatorExport::ExportExpressions(*this, expressions.size(), input, context, path);
	if (columns.HasError()) {
		return LogicalPlanSQLExportResult::Failure(columns);
	}
	string text = "CASE";
	auto &checked = columns.GetValue();
	for (idx_t i = 0; i + 1 < checked.size(); i++) {
		text += Failure(checked[i]->ToString() + " IS NULL", promise.NullMessage());
	}
	text += Failure(checked.back()->ToString() + " > 1", promise.DuplicateMessage()) + " ELSE false END";
	auto &child = input.children[0];
	auto select = context.ForwardFields(child, input.fields);
	select->where_clause = Parser(context.GetClientContext()).ParseSingleExpression(text);
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(input.fields)});
}

vector<ColumnBinding> LogicalKeyCheck::GetColumnBindings() {
	return children[0]->GetColumnBindings();
}

void LogicalKeyCheck::ResolveTypes() {
	types = children[0]->types;
}

string LogicalKeyCheck::GetName() const {
	return KEY_CHECK_NAME;
}

string LogicalKeyCheck::GetExtensionName() const {
	throw NotImplementedException("A key check cannot be copied");
}

InsertionOrderPreservingMap<string> LogicalKeyCheck::ParamsToString() const {
	return KeyCheckParameters(promise);
}

PhysicalOperator &LogicalKeyCheck::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto counted = PhysicalKeyCheckByBits::FindCount(*children[0]);
	auto counted_integers = counted ? PhysicalKeyCheckByBits::IntegersOf(*counted, types[0], integers) : integers;
	if (counted && counted_integers) {
		auto &rows = planner.CreatePlan(*counted->children[0]);
		auto column = counted->groups[0]->Cast<BoundReferenceExpression>().Index();
		auto &by_bits = planner.Make<PhysicalKeyCheckByBits>(types, column, *counted_integers, promise);
		by_bits.children.push_back(rows);
		return by_bits;
	}
	auto &child = planner.CreatePlan(*children[0]);
	vector<idx_t> positions;
	for (auto &column : expressions) {
		positions.push_back(column->Cast<BoundReferenceExpression>().Index());
	}
	auto count = positions.back();
	positions.pop_back();
	auto &result = planner.Make<PhysicalKeyCheck>(types, std::move(positions), count, promise);
	result.children.push_back(child);
	return result;
}

PhysicalKeyCheck::PhysicalKeyCheck(PhysicalPlan &plan, vector<LogicalType> types, vector<idx_t> key_columns,
                                   idx_t count_column, JoinBackPromise promise)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), 1), key_columns(std::move(key_columns)),
      count_column(count_column), promise(std::move(promise)) {
}

string PhysicalKeyCheck::GetName() const {
	return KEY_CHECK_NAME;
}

InsertionOrderPreservingMap<string> PhysicalKeyCheck::ParamsToString() const {
	return KeyCheckParameters(promise);
}

OperatorResultType PhysicalKeyCheck::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                             GlobalOperatorState &gstate, OperatorState &state) const {
	UnifiedVectorFormat format;
	for (auto column : key_columns) {
		input.data[column].ToUnifiedFormat(format);
		for (idx_t i = 0; i < input.size(); i++) {
			if (!format.validity.RowIsValid(format.sel->get_index(i))) {
				throw promise.Broken(context.client, promise.NullMessage());
			}
		}
	}
	input.data[count_column].ToUnifiedFormat(format);
	auto counts = UnifiedVectorFormat::GetData<int64_t>(format);
	for (idx_t i = 0; i < input.size(); i++) {
		if (counts[format.sel->get_index(i)] > 1) {
			throw promise.Broken(context.client, promise.DuplicateMessage());
		}
	}
	chunk.SetChildCardinality(0);
	return OperatorResultType::NEED_MORE_INPUT;
}

} // namespace merganser
