#include "late_materialization/foreign_key_elimination.hpp"

#include "duckdb/optimizer/column_binding_replacer.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_comparison_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/list.hpp"

#include <algorithm>

namespace merganser {

namespace {

bool IsInnerJoin(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT ||
	       (op.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN &&
	        op.Cast<LogicalComparisonJoin>().join_type == JoinType::INNER);
}

//! Follows a column up through an operator that only renames or filters; false if the column does not come out of it.
bool TryRise(const LogicalOperator &op, ColumnBinding &column) {
	if (op.type == LogicalOperatorType::LOGICAL_FILTER) {
		return true;
	}
	auto &projection = op.Cast<LogicalProjection>();
	for (idx_t i = 0; i < projection.expressions.size(); i++) {
		auto &expression = *projection.expressions[i];
		if (expression.GetExpressionClass() == ExpressionClass::BOUND_COLUMN_REF &&
		    expression.Cast<BoundColumnRefExpression>().Binding() == column) {
			column = ColumnBinding(projection.table_index, ProjectionIndex(i));
			return true;
		}
	}
	return false;
}

bool Delivers(LogicalOperator &op, const ColumnBinding &column) {
	auto bindings = op.GetColumnBindings();
	return std::find(bindings.begin(), bindings.end(), column) != bindings.end();
}

bool DeliversAll(LogicalOperator &op, const Expression &expression) {
	column_binding_set_t columns;
	AggregateShape::CollectColumns(expression, columns);
	return std::all_of(columns.begin(), columns.end(),
	                   [&](const ColumnBinding &column) { return Delivers(op, column); });
}

void VisitExpressions(LogicalOperator &op, const std::function<void(unique_ptr<Expression> &)> &callback) {
	LogicalOperatorVisitor::EnumerateExpressions(op,
	                                             [&](unique_ptr<Expression> *expression) { callback(*expression); });
}

//! Whether the condition is `x = x`.
bool IsTrivialEquality(const Expression &expression) {
	if (expression.GetExpressionType() != ExpressionType::COMPARE_EQUAL) {
		return false;
	}
	auto &comparison = expression.Cast<BoundFunctionExpression>();
	return BoundComparisonExpression::Left(comparison).Equals(BoundComparisonExpression::Right(comparison));
}

unique_ptr<Expression> IsNotNull(unique_ptr<Expression> value) {
	auto result = make_uniq<BoundOperatorExpression>(ExpressionType::OPERATOR_IS_NOT_NULL, LogicalType::BOOLEAN);
	result->GetChildrenMutable().push_back(std::move(value));
	return std::move(result);
}

} // namespace

//! Where a dimension stands in the narrow plan and what takes the place of its key.
struct ForeignKeyElimination::Dimension {
	//! Owner of the join that brings it in, and which child of it the dimension is.
	optional_ptr<unique_ptr<LogicalOperator>> join;
	idx_t side;
	//! Operators from the dimension's scan up to the join, the scan's parent first.
	vector<reference<LogicalOperator>> above_scan;
	//! All columns the dimension delivers to the join.
	column_binding_set_t columns;
	//! Whether the foreign key's value can be NULL, in which case the row joins nothing.
	bool nullable = true;
	//! Key column as the join sees it -> the foreign key's value.
	column_binding_map_t<unique_ptr<Expression>> replacements;

	LogicalOperator &Root() const {
		return *(*join)->children[side];
	}

	bool Uses(const Expression &expression) const {
		column_binding_set_t used;
		AggregateShape::CollectColumns(expression, used);
		return std::any_of(used.begin(), used.end(),
		                   [&](const ColumnBinding &column) { return columns.find(column) != columns.end(); });
	}

	//! The condition without the dimension. One that only says the dimension's row exists becomes x IS NOT NULL, or
	//! nothing where x cannot be NULL.
	void AddReplaced(const Expression &condition, vector<unique_ptr<Expression>> &result) const {
		auto replaced = Replaced(condition);
		if (!Uses(condition) || !IsTrivialEquality(*replaced)) {
			result.push_back(std::move(replaced));
		} else if (nullable) {
			auto &value = BoundComparisonExpression::Left(replaced->Cast<BoundFunctionExpression>());
			result.push_back(IsNotNull(value.Copy()));
		}
	}

	unique_ptr<Expression> Replaced(const Expression &expression) const {
		auto result = expression.Copy();
		ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
		    result, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &owner) {
			    auto replacement = replacements.find(column.Binding());
			    if (replacement != replacements.end()) {
				    owner = replacement->second->Copy();
			    }
		    });
		return result;
	}
};

ForeignKeyElimination::ForeignKeyElimination(ClientContext &context, LogicalAggregate &narrow,
                                             const AggregateInput &input)
    : context(context), narrow(narrow), input(input) {
}

vector<EliminatedDimension> ForeignKeyElimination::Apply(const vector<JoinBackLink> &chain) {
	vector<EliminatedDimension> eliminated;
	for (bool progress = true; progress;) {
		progress = false;
		// The last link first: removing nation frees customer's c_nationkey.
		for (idx_t i = chain.size(); i-- > 0;) {
			auto &relation = input.Relations()[chain[i].relation];
			EliminatedDimension dimension;
			dimension.link = i;
			if (removed.find(relation.source.get()) == removed.end() && TryRemove(relation, dimension.foreign_key)) {
				removed.insert(relation.source.get());
				eliminated.push_back(std::move(dimension));
				progress = true;
			}
		}
	}
	return eliminated;
}

bool ForeignKeyElimination::TryRemove(const BaseRelation &relation, RelationForeignKey &relied_on) {
	for (auto &from : input.Relations()) {
		if (from.source == relation.source || from.null_supplied || relation.null_supplied ||
		    removed.find(from.source.get()) != removed.end()) {
			continue;
		}
		for (auto &foreign_key : from.foreign_keys) {
			Dimension place;
			if (!TryFindDimension(relation, place) || !TryReplaceKey(relation, foreign_key, from, place) ||
			    !AllUsesReplaceable(narrow, place)) {
				continue;
			}
			for (auto &group : narrow.groups) {
				group = place.Replaced(*group);
			}
			for (auto &aggregate : narrow.expressions) {
				aggregate = place.Replaced(*aggregate);
			}
			ReplaceUses(narrow.children[0], place);
			relied_on = foreign_key;
			return true;
		}
	}
	return false;
}

bool ForeignKeyElimination::TryFindDimension(const BaseRelation &relation, Dimension &result) {
	AncestorPath path;
	if (relation.source->type != LogicalOperatorType::LOGICAL_GET ||
	    !AncestorPaths::TryFind(narrow.children[0], *relation.source, path)) {
		return false;
	}
	idx_t position = path.size() - 1;
	while (position > 0 && path[position - 1].get()->type == LogicalOperatorType::LOGICAL_PROJECTION) {
		position--;
		result.above_scan.push_back(*path[position].get());
	}
	if (position == 0 || !IsInnerJoin(*path[position - 1].get())) {
		return false;
	}
	result.join = path[position - 1].get();
	result.side = (*result.join)->children[0].get() == path[position].get().get() ? 0 : 1;
	for (auto &column : result.Root().GetColumnBindings()) {
		result.columns.insert(column);
	}
	return true;
}

bool ForeignKeyElimination::TryReplaceKey(const BaseRelation &dimension, const RelationForeignKey &foreign_key,
                                          const BaseRelation &from, Dimension &place) {
	auto object = std::find_if(dimension.objects.begin(), dimension.objects.end(), [&](const ScannedObject &candidate) {
		return candidate.name == foreign_key.referenced;
	});
	if (object == dimension.objects.end()) {
		return false;
	}
	place.nullable = foreign_key.nullable;
	AncestorPath path;
	if (!AncestorPaths::TryFind(narrow.children[0], *from.source, path)) {
		return false;
	}
	for (idx_t i = 0; i < foreign_key.columns.size(); i++) {
		auto scanned = object->scan_column.find(foreign_key.referenced_columns[i]);
		if (scanned == object->scan_column.end()) {
			return false;
		}
		auto referenced = std::find_if(dimension.column_names.begin(), dimension.column_names.end(),
		                               [&](const string &name) { return StringUtil::CIEquals(name, scanned->second); });
		if (referenced == dimension.column_names.end()) {
			return false;
		}
		auto index = NumericCast<idx_t>(referenced - dimension.column_names.begin());
		auto key_column = dimension.columns[index];
		auto value = foreign_key.columns[i];
		if (!input.Equivalences().AreEqual(key_column, value)) {
			return false;
		}
		auto from_type = from.types[value.column_index];
		for (auto &op : place.above_scan) {
			if (!TryRise(op.get(), key_column)) {
				return false;
			}
		}
		for (idx_t p = path.size() - 1; p-- > 0;) {
			auto &op = *path[p].get();
			if (op.type != LogicalOperatorType::LOGICAL_PROJECTION && op.type != LogicalOperatorType::LOGICAL_FILTER) {
				break;
			}
			if (!TryRise(op, value)) {
				return false;
			}
		}
		place.replacements[key_column] = BoundCastExpression::AddCastToType(
		    context, make_uniq<BoundColumnRefExpression>(from_type, value), dimension.types[index]);
	}
	return true;
}

bool ForeignKeyElimination::AllUsesReplaceable(LogicalOperator &op, const Dimension &place) {
	if (&op == &place.Root()) {
		return true;
	}
	bool possible = true;
	auto is_removed_join = &op == place.join->get();
	VisitExpressions(op, [&](unique_ptr<Expression> &expression) {
		if (!place.Uses(*expression)) {
			return;
		}
		auto replaced = place.Replaced(*expression);
		if (place.Uses(*replaced)) {
			possible = false;
			return;
		}
		auto delivered = std::any_of(op.children.begin(), op.children.end(), [&](unique_ptr<LogicalOperator> &child) {
			return child.get() != &place.Root() && DeliversAll(*child, *replaced);
		});
		possible = possible && (delivered || (is_removed_join && DeliversAll(*op.children[1 - place.side], *replaced)));
	});
	if (op.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN && !is_removed_join) {
		// A replaced side must come from the child it came from, or the condition would change its meaning.
		for (auto &condition : op.Cast<LogicalComparisonJoin>().conditions) {
			if (!condition.IsComparison()) {
				continue;
			}
			possible = possible && DeliversAll(*op.children[0], *place.Replaced(condition.GetLHS())) &&
			           DeliversAll(*op.children[1], *place.Replaced(condition.GetRHS()));
		}
	}
	for (auto &child : op.children) {
		possible = possible && AllUsesReplaceable(*child, place);
	}
	return possible;
}

void ForeignKeyElimination::ReplaceUses(unique_ptr<LogicalOperator> &op, const Dimension &place) {
	if (place.join.get() == &op) {
		auto sibling = std::move(op->children[1 - place.side]);
		vector<unique_ptr<Expression>> remaining;
		if (op->type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN) {
			for (auto &condition : op->Cast<LogicalComparisonJoin>().conditions) {
				auto expression =
				    condition.IsComparison()
				        ? BoundComparisonExpression::Create(condition.GetComparisonType(), condition.GetLHS().Copy(),
				                                            condition.GetRHS().Copy())
				        : condition.GetJoinExpression().Copy();
				place.AddReplaced(*expression, remaining);
			}
		}
		op = std::move(sibling);
		if (!remaining.empty()) {
			auto filter = make_uniq<LogicalFilter>();
			filter->expressions = std::move(remaining);
			filter->children.push_back(std::move(op));
			op = std::move(filter);
		}
		return;
	}
	if (op->type == LogicalOperatorType::LOGICAL_FILTER) {
		op->Cast<LogicalFilter>().SplitPredicates();
		vector<unique_ptr<Expression>> conditions;
		for (auto &condition : op->expressions) {
			place.AddReplaced(*condition, conditions);
		}
		op->expressions = std::move(conditions);
	} else {
		VisitExpressions(*op, [&](unique_ptr<Expression> &expression) { expression = place.Replaced(*expression); });
	}
	for (auto &child : op->children) {
		ReplaceUses(child, place);
	}
	if (op->type == LogicalOperatorType::LOGICAL_FILTER && op->expressions.empty()) {
		auto child = std::move(op->children[0]);
		op = std::move(child);
	}
}

} // namespace merganser
