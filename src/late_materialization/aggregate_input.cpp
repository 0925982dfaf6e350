#include "late_materialization/aggregate_input.hpp"

#include "duckdb/execution/expression_executor.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_comparison_expression.hpp"
#include "duckdb/planner/expression/bound_conjunction_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/list.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! The column under casts that widen an integer: those change neither equality nor, cast back, the value.
optional_ptr<const BoundColumnRefExpression> ColumnUnderWidening(const Expression &expression) {
	reference<const Expression> current = expression;
	while (BoundCastExpression::IsCast(current.get())) {
		auto &cast = current.get().Cast<BoundFunctionExpression>();
		auto source = BoundCastExpression::SourceType(cast);
		auto &target = BoundCastExpression::TargetType(cast);
		if (!source.IsIntegral() || !target.IsIntegral() || BoundCastExpression::IsTryCast(cast) ||
		    !BoundCastExpression::CastIsInvertible(source, target)) {
			return nullptr;
		}
		current = BoundCastExpression::Child(cast);
	}
	if (!AggregateInput::IsColumn(current.get())) {
		return nullptr;
	}
	return current.get().Cast<BoundColumnRefExpression>();
}

bool MayExchangeValues(const LogicalType &left, const LogicalType &right) {
	if (!ColumnEquivalences::HasIdentityEquality(left) || !ColumnEquivalences::HasIdentityEquality(right)) {
		return false;
	}
	return left == right || (left.IsIntegral() && right.IsIntegral());
}

} // namespace

bool BaseRelation::Delivers(const ColumnBinding &column) const {
	return std::find(columns.begin(), columns.end(), column) != columns.end();
}

idx_t BaseRelation::PositionOf(const ColumnBinding &column) const {
	for (idx_t i = 0; i < columns.size(); i++) {
		if (columns[i] == column) {
			return i;
		}
	}
	throw InternalException("Column of a relation that does not list it");
}

AggregateInput::AggregateInput(ClientContext &context, RelationKeys &relation_keys, LogicalOperator &root)
    : context(context), relation_keys(relation_keys) {
	Visit(root);
	SettleKeys();
}

void AggregateInput::SettleKeys() {
	for (auto &relation : relations) {
		for (auto &key : relation.keys) {
			auto no_null = std::all_of(key.columns.begin(), key.columns.end(), [&](const ColumnBinding &column) {
				return not_null.find(column) != not_null.end();
			});
			if (key.enforced && key.nullable && no_null) {
				key.nullable = false;
				key.guaranteed = true;
			}
		}
	}
}

void AggregateInput::Visit(LogicalOperator &op) {
	ViewMatch match;
	if (relation_keys.TryMatchView(op, match)) {
		AddViewRelation(op, std::move(match));
	}
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_FILTER:
		Visit(*op.children[0]);
		for (auto &condition : op.expressions) {
			AddCondition(*condition);
		}
		break;
	case LogicalOperatorType::LOGICAL_PROJECTION:
		VisitProjection(op.Cast<LogicalProjection>());
		break;
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
		Visit(*op.children[0]);
		Visit(*op.children[1]);
		break;
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_DELIM_JOIN:
	case LogicalOperatorType::LOGICAL_ASOF_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
		VisitJoin(op.Cast<LogicalJoin>());
		break;
	case LogicalOperatorType::LOGICAL_MATERIALIZED_CTE:
		Visit(*op.children[1]);
		break;
	case LogicalOperatorType::LOGICAL_GET:
		AddScan(op.Cast<LogicalGet>());
		break;
	default:
		VisitOpaque(op, false);
		break;
	}
}

void AggregateInput::VisitJoin(LogicalJoin &join) {
	auto &left = *join.children[0];
	auto &right = *join.children[1];
	auto one_sided =
	    join.type == LogicalOperatorType::LOGICAL_DELIM_JOIN || join.type == LogicalOperatorType::LOGICAL_ASOF_JOIN;
	switch (join.join_type) {
	case JoinType::INNER:
		Visit(left);
		if (one_sided) {
			VisitOpaque(right, false);
			return;
		}
		Visit(right);
		break;
	case JoinType::LEFT:
		Visit(left);
		if (one_sided) {
			VisitOpaque(right, true);
		} else {
			VisitNullSupplied(right);
			AddLookup(join, 1);
		}
		return;
	case JoinType::SINGLE:
		Visit(left);
		VisitOpaque(right, true);
		return;
	case JoinType::SEMI:
	case JoinType::ANTI:
	case JoinType::MARK:
		Visit(left);
		VisitOpaque(right, false);
		return;
	case JoinType::RIGHT:
		if (one_sided) {
			VisitOpaque(left, true);
			VisitOpaque(right, false);
		} else {
			VisitNullSupplied(left);
			Visit(right);
			AddLookup(join, 0);
		}
		return;
	case JoinType::OUTER:
		if (one_sided) {
			VisitOpaque(left, true);
			VisitOpaque(right, true);
		} else {
			VisitNullSupplied(left);
			VisitNullSupplied(right);
		}
		return;
	default:
		VisitOpaque(left, true);
		VisitOpaque(right, true);
		return;
	}
	if (join.type == LogicalOperatorType::LOGICAL_ANY_JOIN) {
		AddCondition(*join.Cast<LogicalAnyJoin>().condition);
		return;
	}
	for (auto &condition : join.Cast<LogicalComparisonJoin>().conditions) {
		if (!condition.IsComparison()) {
			AddCondition(condition.GetJoinExpression());
		} else {
			AddComparison(condition.GetComparisonType(), condition.GetLHS(), condition.GetRHS());
		}
	}
}

void AggregateInput::VisitOpaque(LogicalOperator &op, bool null_supplied) {
	for (auto &binding : op.GetColumnBindings()) {
		if (null_supplied || null_supplied_in > 0) {
			outer_joined.insert(binding.table_index);
		}
		rows_of[binding.table_index] = op.EstimateCardinality(context);
	}
}

void AggregateInput::VisitNullSupplied(LogicalOperator &op) {
	null_supplied_in++;
	Visit(op);
	null_supplied_in--;
}

void AggregateInput::AddLookup(const LogicalJoin &join, idx_t null_supplied) {
	auto relation = RelationUnderProjections(*join.children[null_supplied]);
	if (!relation || join.type != LogicalOperatorType::LOGICAL_COMPARISON_JOIN) {
		return;
	}
	vector<ComparedColumns> lookup;
	for (auto &condition : join.Cast<LogicalComparisonJoin>().conditions) {
		if (!condition.IsComparison() || condition.GetComparisonType() != ExpressionType::COMPARE_EQUAL) {
			return;
		}
		auto column = Resolve(null_supplied == 0 ? condition.GetLHS() : condition.GetRHS());
		auto probe = Resolve(null_supplied == 0 ? condition.GetRHS() : condition.GetLHS());
		if (!IsColumn(*column) || !IsColumn(*probe) || column->GetReturnType() != probe->GetReturnType() ||
		    !ColumnEquivalences::HasIdentityEquality(column->GetReturnType())) {
			return;
		}
		lookup.push_back(
		    {column->Cast<BoundColumnRefExpression>().Binding(), probe->Cast<BoundColumnRefExpression>().Binding()});
		if (!relation->Delivers(lookup.back().column)) {
			return;
		}
	}
	relation->lookup = std::move(lookup);
}

//! A filter in between would leave rows out that the relation has.
optional_ptr<BaseRelation> AggregateInput::RelationUnderProjections(const LogicalOperator &op) {
	for (auto &relation : relations) {
		if (relation.source.get() == &op && !relation.keys.empty()) {
			return relation;
		}
	}
	return op.type == LogicalOperatorType::LOGICAL_PROJECTION ? RelationUnderProjections(*op.children[0]) : nullptr;
}

void AggregateInput::VisitProjection(LogicalProjection &projection) {
	Visit(*projection.children[0]);
	for (idx_t i = 0; i < projection.expressions.size(); i++) {
		ColumnBinding output(projection.table_index, ProjectionIndex(i));
		auto resolved = Resolve(*projection.expressions[i]);
		if (null_supplied_in > 0 && !IsColumn(*resolved)) {
			outer_joined.insert(projection.table_index);
		} else {
			definitions[output] = std::move(resolved);
		}
	}
}

void AggregateInput::AddScan(LogicalGet &get) {
	rows_of[get.table_index] = get.EstimateCardinality(context);
	ScanKeys scan_keys;
	if (!relation_keys.TryOfScan(get, scan_keys)) {
		VisitOpaque(get, false);
		return;
	}
	BaseRelation relation;
	relation.source = get;
	relation.name = std::move(scan_keys.name);
	relation.keys = std::move(scan_keys.keys);
	relation.foreign_keys = std::move(scan_keys.foreign_keys);
	relation.objects = std::move(scan_keys.objects);
	relation.cardinality = rows_of[get.table_index];
	relation.null_supplied = null_supplied_in > 0;
	auto &column_ids = get.GetColumnIds();
	for (idx_t i = 0; i < column_ids.size(); i++) {
		ColumnBinding binding(get.table_index, ProjectionIndex(i));
		relation_of[binding] = relations.size();
		relation.columns.push_back(binding);
		relation.column_names.push_back(get.GetColumnName(column_ids[i]).GetIdentifierName());
		relation.types.push_back(get.GetColumnType(column_ids[i]));
	}
	relations.push_back(std::move(relation));
}

void AggregateInput::AddViewRelation(LogicalOperator &op, ViewMatch match) {
	BaseRelation relation;
	relation.source = op;
	relation.name = std::move(match.name);
	relation.keys = std::move(match.keys);
	relation.cardinality = op.EstimateCardinality(context);
	relation.null_supplied = null_supplied_in > 0;
	relation.columns = op.GetColumnBindings();
	relation.column_names = std::move(match.column_names);
	op.ResolveOperatorTypes();
	relation.types = op.types;
	for (auto &column : relation.columns) {
		relation_of[column] = relations.size();
	}
	relations.push_back(std::move(relation));
}

void AggregateInput::AddCondition(const Expression &condition) {
	if (condition.GetExpressionType() == ExpressionType::CONJUNCTION_AND) {
		ExpressionIterator::EnumerateChildren(condition, [&](const Expression &child) { AddCondition(child); });
		return;
	}
	if (BoundComparisonExpression::IsComparison(condition)) {
		auto &comparison = condition.Cast<BoundFunctionExpression>();
		AddComparison(condition.GetExpressionType(), BoundComparisonExpression::Left(comparison),
		              BoundComparisonExpression::Right(comparison));
	} else if (condition.GetExpressionType() == ExpressionType::OPERATOR_IS_NOT_NULL) {
		AddNotNull(*condition.Cast<BoundOperatorExpression>().GetChildren()[0]);
	} else if (condition.GetExpressionType() == ExpressionType::COMPARE_IN) {
		auto &operands = condition.Cast<BoundOperatorExpression>().GetChildren();
		if (operands.size() == 2) {
			AddEquality(*operands[0], *operands[1]);
		}
	}
	NoteSelectiveFilter(condition);
}

void AggregateInput::AddComparison(ExpressionType type, const Expression &left, const Expression &right) {
	if (type == ExpressionType::COMPARE_DISTINCT_FROM || type == ExpressionType::COMPARE_NOT_DISTINCT_FROM) {
		return;
	}
	AddNotNull(left);
	AddNotNull(right);
	if (type == ExpressionType::COMPARE_EQUAL) {
		AddEquality(left, right);
	}
}

void AggregateInput::AddNotNull(const Expression &expression) {
	auto resolved = Resolve(expression);
	if (auto column = ColumnUnderWidening(*resolved)) {
		not_null.insert(column->Binding());
	}
}

void AggregateInput::AddEquality(const Expression &left_side, const Expression &right_side) {
	auto left = Resolve(left_side);
	auto right = Resolve(right_side);
	auto left_column = ColumnUnderWidening(*left);
	auto right_column = ColumnUnderWidening(*right);
	if (left_column && right_column) {
		if (MayExchangeValues(left_column->GetReturnType(), right_column->GetReturnType())) {
			equivalences.AddEqual(left_column->Binding(), right_column->Binding());
		}
		return;
	}
	auto column = left_column ? left_column : right_column;
	auto &other = left_column ? *right : *left;
	if (null_supplied_in > 0 || !column || !other.IsFoldable() ||
	    !MayExchangeValues(column->GetReturnType(), other.GetReturnType())) {
		return;
	}
	Value value;
	if (!ExpressionExecutor::TryEvaluateScalar(context, other, value) || value.IsNull()) {
		return;
	}
	auto constant = value.DefaultTryCastAs(column->GetReturnType());
	if (constant) {
		equivalences.AddConstant(column->Binding(), std::move(*constant));
	}
}

void AggregateInput::NoteSelectiveFilter(const Expression &condition) {
	auto resolved = Resolve(condition);
	unordered_set<TableIndex> tables;
	ExpressionIterator::VisitExpression<BoundColumnRefExpression>(
	    *resolved, [&](const BoundColumnRefExpression &column) { tables.insert(column.Binding().table_index); });
	if (tables.size() == 1) {
		filtered.insert(*tables.begin());
	}
}

unique_ptr<Expression> AggregateInput::Resolve(const Expression &expression) const {
	auto result = expression.Copy();
	ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
	    result, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &owner) {
		    if (relation_of.find(column.Binding()) != relation_of.end()) {
			    return;
		    }
		    auto definition = definitions.find(column.Binding());
		    if (definition != definitions.end()) {
			    owner = definition->second->Copy();
		    }
	    });
	return result;
}

optional_idx AggregateInput::RelationOf(const ColumnBinding &column) const {
	auto entry = relation_of.find(column);
	return entry == relation_of.end() ? optional_idx() : optional_idx(entry->second);
}

bool AggregateInput::IsOuterJoined(const ColumnBinding &column) const {
	auto relation = RelationOf(column);
	if (!relation.IsValid()) {
		return outer_joined.find(column.table_index) != outer_joined.end();
	}
	auto &keys = relations[relation.GetIndex()].keys;
	return relations[relation.GetIndex()].null_supplied &&
	       std::any_of(keys.begin(), keys.end(), [](const RelationKey &key) { return key.IsUsable(); });
}

string AggregateInput::NameOf(const ColumnBinding &column) const {
	auto index = RelationOf(column);
	if (!index.IsValid()) {
		return column.ToString();
	}
	auto &relation = relations[index.GetIndex()];
	return relation.name + "." + relation.column_names[relation.PositionOf(column)];
}

optional_idx AggregateInput::SmallestRelationOf(const ColumnBinding &column) const {
	optional_idx result;
	for (auto &equal : equivalences.EqualTo(column)) {
		auto index = RelationOf(equal);
		if (index.IsValid() &&
		    (!result.IsValid() || relations[index.GetIndex()].cardinality < relations[result.GetIndex()].cardinality)) {
			result = index;
		}
	}
	return result;
}

bool AggregateInput::IsOneRow(const BaseRelation &relation) const {
	return std::any_of(relation.keys.begin(), relation.keys.end(), [&](const RelationKey &key) {
		return std::all_of(key.columns.begin(), key.columns.end(),
		                   [&](const ColumnBinding &column) { return bool(equivalences.ConstantOf(column)); });
	});
}

bool AggregateInput::IsColumn(const Expression &expression) {
	return expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF;
}

idx_t AggregateInput::EstimatedRows() const {
	double rows = 0;
	double share = 1;
	for (auto &entry : rows_of) {
		rows = MaxValue(rows, double(entry.second));
		if (filtered.find(entry.first) != filtered.end()) {
			share *= FILTER_SELECTIVITY;
		}
	}
	// The rows of others that join one row of a relation are as many as join each of its rows, on average.
	for (auto &relation : relations) {
		if (IsOneRow(relation)) {
			share /= double(MaxValue<idx_t>(relation.cardinality, 1));
		}
	}
	return idx_t(rows * share);
}

} // namespace merganser
