#include "late_materialization/join_back_guard.hpp"

#include "operator_export.hpp"

#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parser/parser.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"

#include <atomic>
#include <mutex>

namespace merganser {

namespace {

const char *const NARROW_ROWS_NAME = "NARROW_ROWS";
const char *const GUARD_NAME = "JOIN_BACK_GUARD";

class NarrowRowsState : public GlobalOperatorState {
public:
	std::atomic<idx_t> numbered {0};
};

class JoinBackGuardState : public GlobalOperatorState {
public:
	std::mutex lock;
	vector<bool> seen;
	idx_t seen_count = 0;
};

//! EXPLAIN ANALYZE titles every operator of an extension "Extension", so the parameters say which one it is.
InsertionOrderPreservingMap<string> GuardParameters(const JoinBackPromise &promise, idx_t rows) {
	InsertionOrderPreservingMap<string> result;
	result["Join-back guard"] = promise.key;
	result["Table"] = promise.table;
	if (!promise.foreign_key.empty()) {
		result["Foreign key"] = promise.foreign_key;
	}
	PhysicalOperator::SetEstimatedCardinality(result, rows);
	return result;
}

InsertionOrderPreservingMap<string> NarrowRowsParameters(idx_t rows) {
	InsertionOrderPreservingMap<string> result;
	result["Narrow rows"] = StringUtil::Format("at most %llu", rows);
	PhysicalOperator::SetEstimatedCardinality(result, rows);
	return result;
}

//! Who copies a plan, as when a CTE is inlined twice, keeps the original on this exception and on no other.
[[noreturn]] void RefuseCopy() {
	throw NotImplementedException("A join-back cannot be copied");
}

} // namespace

LogicalNarrowRows::LogicalNarrowRows(TableIndex row_number_index, idx_t bound, shared_ptr<JoinBackIdentity> identity)
    : row_number_index(row_number_index), bound(bound), identity(std::move(identity)) {
	SetEstimatedCardinality(bound);
}

InsertionOrderPreservingMap<string> LogicalNarrowRows::ParamsToString() const {
	return NarrowRowsParameters(bound);
}

InsertionOrderPreservingMap<string> PhysicalNarrowRows::ParamsToString() const {
	return NarrowRowsParameters(estimated_cardinality);
}

vector<ColumnBinding> LogicalNarrowRows::GetColumnBindings() {
	auto result = children[0]->GetColumnBindings();
	result.push_back(RowNumber());
	return result;
}

vector<TableIndex> LogicalNarrowRows::GetTableIndex() const {
	return {row_number_index};
}

void LogicalNarrowRows::ResolveTypes() {
	types = children[0]->types;
	types.push_back(LogicalType::BIGINT);
}

string LogicalNarrowRows::GetName() const {
	return NARROW_ROWS_NAME;
}

string LogicalNarrowRows::GetExtensionName() const {
	RefuseCopy();
}

PhysicalOperator &LogicalNarrowRows::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto &child = planner.CreatePlan(*children[0]);
	auto &result = planner.Make<PhysicalNarrowRows>(types, bound);
	result.children.push_back(child);
	identity->narrow_rows = result.Cast<PhysicalNarrowRows>();
	return result;
}

PhysicalNarrowRows::PhysicalNarrowRows(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality) {
}

string PhysicalNarrowRows::GetName() const {
	return NARROW_ROWS_NAME;
}

unique_ptr<GlobalOperatorState> PhysicalNarrowRows::GetGlobalOperatorState(ClientContext &context) const {
	return make_uniq<NarrowRowsState>();
}

OperatorResultType PhysicalNarrowRows::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                               GlobalOperatorState &gstate, OperatorState &state) const {
	auto count = input.size();
	auto first = gstate.Cast<NarrowRowsState>().numbered.fetch_add(count);
	for (idx_t i = 0; i < input.ColumnCount(); i++) {
		chunk.data[i].Reference(input.data[i]);
	}
	auto numbers = FlatVector::Writer<int64_t>(chunk.data[input.ColumnCount()], count);
	for (idx_t i = 0; i < count; i++) {
		numbers.WriteValue(NumericCast<int64_t>(first + i));
	}
	chunk.SetChildCardinality(count);
	return OperatorResultType::NEED_MORE_INPUT;
}

idx_t PhysicalNarrowRows::RowsNumbered() const {
	return op_state ? op_state->Cast<NarrowRowsState>().numbered.load() : 0;
}

unique_ptr<LogicalOperator> LogicalNarrowRows::CopyAlone() const {
	return make_uniq<LogicalNarrowRows>(row_number_index, bound, make_shared_ptr<JoinBackIdentity>());
}

//! SELECT <all columns>, row_number() OVER () - 1 FROM <child>
LogicalPlanSQLExportResult LogicalNarrowRows::ToSQL(LogicalPlanSQLExportContext &context,
                                                    const LogicalPlanVerificationPath &path) {
	auto exported = OperatorExport::ExportInput(*this, context, path);
	if (exported.HasError()) {
		return LogicalPlanSQLExportResult::Failure(exported);
	}
	auto &input = exported.GetValue();
	auto &child = input.children[0];
	auto select = context.ForwardFields(child, child.relation.fields);
	auto row_number = Parser(context.GetClientContext()).ParseSingleExpression("row_number() OVER () - 1");
	row_number->SetAlias(LogicalPlanSQLExportHelpers::FieldIdentifier(select->select_list.size()));
	select->select_list.push_back(std::move(row_number));
	select->from_table = LogicalPlanSQLExportHelpers::CreateSubquery(std::move(child));
	return LogicalPlanSQLExportResult::Success({std::move(select), std::move(input.fields)});
}

LogicalJoinBackGuard::LogicalJoinBackGuard(ColumnBinding row_number, idx_t bound, JoinBackPromise promise,
                                           shared_ptr<JoinBackIdentity> identity)
    : bound(bound), promise(std::move(promise)), identity(std::move(identity)) {
	SetEstimatedCardinality(bound);
	expressions.push_back(make_uniq<BoundColumnRefExpression>(LogicalType::BIGINT, row_number));
}

void LogicalJoinBackGuard::RelyOnForeignKey(string foreign_key, string referencing) {
	promise.foreign_key = std::move(foreign_key);
	promise.referencing = std::move(referencing);
}

unique_ptr<LogicalOperator> LogicalJoinBackGuard::CopyAlone() const {
	auto row_number = expressions[0]->Cast<BoundColumnRefExpression>().Binding();
	return make_uniq<LogicalJoinBackGuard>(row_number, bound, promise, make_shared_ptr<JoinBackIdentity>());
}

vector<ColumnBinding> LogicalJoinBackGuard::GetColumnBindings() {
	return children[0]->GetColumnBindings();
}

void LogicalJoinBackGuard::ResolveTypes() {
	types = children[0]->types;
}

string LogicalJoinBackGuard::GetName() const {
	return GUARD_NAME;
}

string LogicalJoinBackGuard::GetExtensionName() const {
	RefuseCopy();
}

InsertionOrderPreservingMap<string> LogicalJoinBackGuard::ParamsToString() const {
	return GuardParameters(promise, bound);
}

PhysicalOperator &LogicalJoinBackGuard::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto &child = planner.CreatePlan(*children[0]);
	if (!identity->narrow_rows) {
		// DuckDB's statistics proved the join empty and took the narrow rows away: the query has no rows to guard.
		return child;
	}
	auto column = expressions[0]->Cast<BoundReferenceExpression>().Index();
	auto &result = planner.Make<PhysicalJoinBackGuard>(types, bound, *identity->narrow_rows, column, promise);
	result.children.push_back(child);
	return result;
}

PhysicalJoinBackGuard::PhysicalJoinBackGuard(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
                                             const PhysicalNarrowRows &narrow_rows, idx_t row_number_column,
                                             JoinBackPromise promise)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality),
      narrow_rows(narrow_rows), row_number_column(row_number_column), promise(std::move(promise)) {
}

string PhysicalJoinBackGuard::GetName() const {
	return GUARD_NAME;
}

InsertionOrderPreservingMap<string> PhysicalJoinBackGuard::ParamsToString() const {
	return GuardParameters(promise, estimated_cardinality);
}

unique_ptr<GlobalOperatorState> PhysicalJoinBackGuard::GetGlobalOperatorState(ClientContext &context) const {
	return make_uniq<JoinBackGuardState>();
}

OperatorResultType PhysicalJoinBackGuard::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                                  GlobalOperatorState &gstate_p, OperatorState &state) const {
	auto &gstate = gstate_p.Cast<JoinBackGuardState>();
	UnifiedVectorFormat format;
	input.data[row_number_column].ToUnifiedFormat(format);
	auto numbers = UnifiedVectorFormat::GetData<int64_t>(format);
	{
		std::lock_guard<std::mutex> guard(gstate.lock);
		for (idx_t i = 0; i < input.size(); i++) {
			auto number = NumericCast<idx_t>(numbers[format.sel->get_index(i)]);
			if (number >= gstate.seen.size()) {
				gstate.seen.resize(number + 1, false);
			}
			if (gstate.seen[number]) {
				throw InvalidInputException(promise.DuplicateMessage());
			}
			gstate.seen[number] = true;
			gstate.seen_count++;
		}
	}
	chunk.Reference(input);
	return OperatorResultType::NEED_MORE_INPUT;
}

OperatorFinalResultType PhysicalJoinBackGuard::OperatorFinalize(Pipeline &pipeline, Event &event,
                                                                ClientContext &context,
                                                                OperatorFinalizeInput &input) const {
	auto &gstate = input.global_state.Cast<JoinBackGuardState>();
	std::lock_guard<std::mutex> guard(gstate.lock);
	auto expected = narrow_rows.RowsNumbered();
	if (gstate.seen_count != expected) {
		throw InvalidInputException(promise.MissingMessageStart() +
		                            StringUtil::Format("%llu of %llu", expected - gstate.seen_count, expected) +
		                            promise.MissingMessageEnd());
	}
	return OperatorFinalResultType::FINISHED;
}

} // namespace merganser
