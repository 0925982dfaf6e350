#include "late_materialization/partial_reading.hpp"

#include "late_materialization/aggregate_input.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/operator/list.hpp"

#include <algorithm>

namespace merganser {

namespace {

bool IsJoin(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_COMPARISON_JOIN ||
	       op.type == LogicalOperatorType::LOGICAL_ANY_JOIN || op.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT;
}

//! Whether the rows of a side of the join that find no partner are left out.
bool LeavesOutRows(const LogicalOperator &join, bool of_left_side) {
	if (join.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT) {
		return true;
	}
	switch (join.Cast<LogicalJoin>().join_type) {
	case JoinType::INNER:
		return true;
	case JoinType::SEMI:
	case JoinType::RIGHT:
		return of_left_side;
	case JoinType::LEFT:
	case JoinType::RIGHT_SEMI:
		return !of_left_side;
	default:
		return false;
	}
}

//! An aggregate without groups, under projections: one row.
bool IsOneRow(const LogicalOperator &op) {
	if (op.type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
		return op.Cast<LogicalAggregate>().groups.empty();
	}
	return op.children.size() == 1 && IsOneRow(*op.children[0]);
}

idx_t RowsOf(ClientContext &context, LogicalOperator &op) {
	if (op.children.empty()) {
		return op.EstimateCardinality(context);
	}
	idx_t rows = 0;
	for (auto &child : op.children) {
		rows = MaxValue(rows, RowsOf(context, *child));
	}
	return op.type == LogicalOperatorType::LOGICAL_FILTER ? idx_t(double(rows) * AggregateInput::FILTER_SELECTIVITY)
	                                                      : rows;
}

//! The joins in `op` that DuckDB would put in order with a join above it.
idx_t JoinsOf(const LogicalOperator &op) {
	if (IsJoin(op)) {
		return 1 + JoinsOf(*op.children[0]) + JoinsOf(*op.children[1]);
	}
	return op.type == LogicalOperatorType::LOGICAL_FILTER ? JoinsOf(*op.children[0]) : 0;
}

//! Follows the group columns of one aggregate upwards.
class Reading {
public:
	Reading(ClientContext &context, const LogicalAggregate &aggregate, idx_t groups)
	    : context(context), groups(groups) {
		for (idx_t i = 0; i < aggregate.groups.size(); i++) {
			group_columns.insert(ColumnBinding(aggregate.group_index, ProjectionIndex(i)));
		}
	}

	//! Whether `op` has fewer groups read; `direct` where every_group.hpp has seen to its conditions.
	bool IsPartial(LogicalOperator &op, const LogicalOperator &child, bool direct) {
		if (op.type == LogicalOperatorType::LOGICAL_FILTER) {
			return !direct && std::any_of(op.expressions.begin(), op.expressions.end(),
			                              [&](const unique_ptr<Expression> &condition) { return Picks(*condition); });
		}
		if (IsJoin(op)) {
			auto left = op.children[0].get() == &child;
			return PicksByJoin(op, *op.children[left ? 1 : 0], left);
		}
		Rise(op);
		return false;
	}

private:
	//! Whether it reads group columns and nothing else.
	bool IsGroupColumn(const Expression &expression) const {
		auto columns = ColumnsOf(expression);
		return !columns.empty() && CountGroupColumns(columns) == columns.size();
	}

	bool ReadsGroupColumn(const Expression &expression) const {
		return CountGroupColumns(ColumnsOf(expression)) > 0;
	}

	static column_binding_set_t ColumnsOf(const Expression &expression) {
		column_binding_set_t result;
		AggregateShape::CollectColumns(expression, result);
		return result;
	}

	idx_t CountGroupColumns(const column_binding_set_t &columns) const {
		return NumericCast<idx_t>(std::count_if(columns.begin(), columns.end(), [&](const ColumnBinding &column) {
			return group_columns.count(column) > 0;
		}));
	}

	//! A condition on group columns alone, or one that joins them with the rows of a cross product.
	bool Picks(const Expression &condition) const {
		return IsGroupColumn(condition) || (smallest_product < groups && ReadsGroupColumn(condition));
	}

	bool PicksByJoin(LogicalOperator &join, LogicalOperator &other, bool left) {
		if (IsOneRow(other)) {
			return false;
		}
		joins += 1 + JoinsOf(other);
		if (joins > 1) {
			return true;
		}
		if (!LeavesOutRows(join, left)) {
			return false;
		}
		auto rows = RowsOf(context, other);
		if (join.type == LogicalOperatorType::LOGICAL_CROSS_PRODUCT) {
			smallest_product = MinValue(smallest_product, rows);
			return false;
		}
		if (join.type == LogicalOperatorType::LOGICAL_ANY_JOIN) {
			return rows < groups && ReadsGroupColumn(*join.Cast<LogicalAnyJoin>().condition);
		}
		auto &conditions = join.Cast<LogicalComparisonJoin>().conditions;
		return rows < groups && std::any_of(
		                            conditions.begin(), conditions.end(),
		                            [&](const JoinCondition &condition) {
			                            return condition.IsComparison()
			                                       ? ReadsGroupColumn(condition.GetLHS()) ||
			                                             ReadsGroupColumn(condition.GetRHS())
												   : ReadsGroupColumn(condition.GetJoinExpression());
		                            });
	}

	//! The group columns as the operator delivers them.
	void Rise(LogicalOperator &op) {
		joins = 0;
		if (op.type == LogicalOperatorType::LOGICAL_PROJECTION) {
			RiseThrough(op.Cast<LogicalProjection>().table_index, op.expressions);
		} else if (op.type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
			auto &aggregate = op.Cast<LogicalAggregate>();
			RiseThrough(aggregate.group_index, aggregate.groups);
		}
	}

	void RiseThrough(TableIndex index, const vector<unique_ptr<Expression>> &expressions) {
		column_binding_set_t risen;
		for (idx_t i = 0; i < expressions.size(); i++) {
			if (IsGroupColumn(*expressions[i])) {
				risen.insert(ColumnBinding(index, ProjectionIndex(i)));
			}
		}
		group_columns = std::move(risen);
	}

	ClientContext &context;
	const idx_t groups;
	column_binding_set_t group_columns;
	//! Joins met since the last operator around which DuckDB orders none.
	idx_t joins = 0;
	//! Rows of the smallest side of a cross product met so far.
	idx_t smallest_product = NumericLimits<idx_t>::Maximum();
};

bool IsDirect(const LogicalOperator &op) {
	return op.type == LogicalOperatorType::LOGICAL_PROJECTION || op.type == LogicalOperatorType::LOGICAL_FILTER ||
	       op.type == LogicalOperatorType::LOGICAL_ORDER_BY;
}

} // namespace

bool PartialReading::IsExpected(ClientContext &context, const AncestorPath &ancestors, const AggregateShape &shape,
                                idx_t groups) {
	Reading reading(context, *shape.aggregate, groups);
	reference<const LogicalOperator> child = *shape.aggregate;
	bool direct = true;
	for (Ascent ascent(ancestors); !ascent.AtTop(); ascent.Up()) {
		auto &op = ascent.Current();
		direct = direct && IsDirect(op);
		if (reading.IsPartial(op, child, direct)) {
			return true;
		}
		child = op;
	}
	return false;
}

} // namespace merganser
