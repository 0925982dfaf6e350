#include "late_materialization/join_back_guard.hpp"

#include "operator_export.hpp"

#include "duckdb/common/vector/flat_vector.hpp"
#include "duckdb/execution/physical_plan_generator.hpp"
#include "duckdb/parser/parser.hpp"
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
	bool looked_at_files = false;
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

InsertionOrderPreservingMap<string> NarrowRowsParameters(optional_idx bound, idx_t rows) {
	InsertionOrderPreservingMap<string> result;
	result["Narrow rows"] = bound.IsValid() ? StringUtil::Format("at most %llu", bound.GetIndex()) : "every group";
	PhysicalOperator::SetEstimatedCardinality(result, rows);
	return result;
}

//! Who copies a plan, as when a CTE is inlined twice, keeps the original on this exception and on no other.
[[noreturn]] void RefuseCopy() {
	throw NotImplementedException("A join-back cannot be copied");
}

} // namespace

LogicalNarrowRows::LogicalNarrowRows(TableIndex row_number_index, optional_idx bound)
    : row_number_index(row_number_index), bound(bound) {
	if (bound.IsValid()) {
		SetEstimatedCardinality(bound.GetIndex());
	}
}

InsertionOrderPreservingMap<string> LogicalNarrowRows::ParamsToString() const {
	return NarrowRowsParameters(bound, estimated_cardinality);
}

InsertionOrderPreservingMap<string> PhysicalNarrowRows::ParamsToString() const {
	return NarrowRowsParameters(bound, estimated_cardinality);
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
	auto &result = planner.Make<PhysicalNarrowRows>(types, bound, estimated_cardinality);
	result.children.push_back(child);
	return result;
}

PhysicalNarrowRows::PhysicalNarrowRows(PhysicalPlan &plan, vector<LogicalType> types, optional_idx bound,
                                       idx_t estimated_cardinality)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality), bound(bound) {
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

unique_ptr<LogicalOperator> LogicalNarrowRows::CopyAlone() const {
	return make_uniq<LogicalNarrowRows>(row_number_index, bound);
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

LogicalJoinBackGuard::LogicalJoinBackGuard(unique_ptr<Expression> row_number, unique_ptr<Expression> found,
                                           unique_ptr<Expression> sought, optional_idx bound, JoinBackPromise promise)
    : bound(bound), promise(std::move(promise)) {
	if (bound.IsValid()) {
		SetEstimatedCardinality(bound.GetIndex());
	}
	expressions.push_back(std::move(row_number));
	expressions.push_back(std::move(found));
	if (sought) {
		expressions.push_back(std::move(sought));
	}
}

void LogicalJoinBackGuard::RelyOnForeignKey(string foreign_key, string referencing) {
	promise.foreign_key = std::move(foreign_key);
	promise.referencing = std::move(referencing);
}

unique_ptr<LogicalOperator> LogicalJoinBackGuard::CopyAlone() const {
	auto sought = Sought() ? Sought()->Copy() : nullptr;
	return make_uniq<LogicalJoinBackGuard>(RowNumber().Copy(), Found().Copy(), std::move(sought), bound, promise);
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
	return GuardParameters(promise, estimated_cardinality);
}

PhysicalOperator &LogicalJoinBackGuard::CreatePlan(ClientContext &context, PhysicalPlanGenerator &planner) {
	auto &child = planner.CreatePlan(*children[0]);
	auto row_number = RowNumber().Cast<BoundReferenceExpression>().Index();
	auto found = Found().Cast<BoundReferenceExpression>().Index();
	auto sought = Sought() ? optional_idx(Sought()->Cast<BoundReferenceExpression>().Index()) : optional_idx();
	auto &result =
	    planner.Make<PhysicalJoinBackGuard>(types, estimated_cardinality, row_number, found, sought, promise);
	result.children.push_back(child);
	return result;
}

PhysicalJoinBackGuard::PhysicalJoinBackGuard(PhysicalPlan &plan, vector<LogicalType> types, idx_t estimated_cardinality,
                                             idx_t row_number_column, idx_t found_column, optional_idx sought_column,
                                             JoinBackPromise promise)
    : PhysicalOperator(plan, PhysicalOperatorType::EXTENSION, std::move(types), estimated_cardinality),
      row_number_column(row_number_column), found_column(found_column), sought_column(sought_column),
      promise(std::move(promise)) {
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

void PhysicalJoinBackGuard::RequireFound(ClientContext &context, DataChunk &input) const {
	UnifiedVectorFormat found;
	input.data[found_column].ToUnifiedFormat(found);
	UnifiedVectorFormat sought;
	if (sought_column.IsValid()) {
		input.data[sought_column.GetIndex()].ToUnifiedFormat(sought);
	}
	for (idx_t i = 0; i < input.size(); i++) {
		auto excused = sought_column.IsValid() && !sought.validity.RowIsValid(sought.sel->get_index(i));
		if (!excused && !found.validity.RowIsValid(found.sel->get_index(i))) {
			throw promise.Broken(context, promise.MissingMessage());
		}
	}
}

OperatorResultType PhysicalJoinBackGuard::Execute(ExecutionContext &context, DataChunk &input, DataChunk &chunk,
                                                  GlobalOperatorState &gstate_p, OperatorState &state) const {
	if (promise.found != FoundRows::AT_MOST_ONE) {
		RequireFound(context.client, input);
	}
	UnifiedVectorFormat format;
	input.data[row_number_column].ToUnifiedFormat(format);
	auto numbers = UnifiedVectorFormat::GetData<int64_t>(format);
	auto &gstate = gstate_p.Cast<JoinBackGuardState>();
	{
		std::lock_guard<std::mutex> guard(gstate.lock);
		if (!gstate.looked_at_files) {
			promise.CheckFiles(context.client);
			gstate.looked_at_files = true;
		}
		for (idx_t i = 0; i < input.size(); i++) {
			auto number = NumericCast<idx_t>(numbers[format.sel->get_index(i)]);
			if (number >= gstate.seen.size()) {
				gstate.seen.resize(MaxValue<idx_t>(number + 1, 2 * gstate.seen.size()), false);
			}
			if (gstate.seen[number]) {
				throw promise.Broken(context.client, promise.DuplicateMessage());
			}
			gstate.seen[number] = true;
		}
	}
	chunk.Reference(input);
	return OperatorResultType::NEED_MORE_INPUT;
}

OperatorFinalResultType PhysicalJoinBackGuard::OperatorFinalize(Pipeline &pipeline, Event &event,
                                                                ClientContext &context,
                                                                OperatorFinalizeInput &input) const {
	promise.CheckFiles(context);
	return OperatorFinalResultType::FINISHED;
}

} // namespace merganser
