#include "late_materialization/columns_read.hpp"

#include "late_materialization/aggregate_shape.hpp"

#include "duckdb/planner/logical_operator_visitor.hpp"
#include "duckdb/planner/operator/logical_projection.hpp"

namespace merganser {

namespace {

column_binding_set_t AllColumns(LogicalOperator &op) {
	column_binding_set_t result;
	for (auto &column : op.GetColumnBindings()) {
		result.insert(column);
	}
	return result;
}

bool HandsColumnsOn(const LogicalOperator &op) {
	switch (op.type) {
	case LogicalOperatorType::LOGICAL_FILTER:
	case LogicalOperatorType::LOGICAL_ORDER_BY:
	case LogicalOperatorType::LOGICAL_LIMIT:
	case LogicalOperatorType::LOGICAL_WINDOW:
	case LogicalOperatorType::LOGICAL_COMPARISON_JOIN:
	case LogicalOperatorType::LOGICAL_ANY_JOIN:
	case LogicalOperatorType::LOGICAL_CROSS_PRODUCT:
		return !op.HasProjectionMap();
	default:
		return false;
	}
}

//! What `op`, of whose output `read` is read, reads of its child.
column_binding_set_t ReadOfChild(LogicalOperator &op, const column_binding_set_t &read, LogicalOperator &child) {
	column_binding_set_t result;
	auto collect = [&](unique_ptr<Expression> *expression) {
		AggregateShape::CollectColumns(**expression, result);
	};
	if (op.type == LogicalOperatorType::LOGICAL_PROJECTION) {
		auto &projection = op.Cast<LogicalProjection>();
		for (idx_t i = 0; i < projection.expressions.size(); i++) {
			if (read.find(ColumnBinding(projection.table_index, ProjectionIndex(i))) != read.end()) {
				collect(&projection.expressions[i]);
			}
		}
		return result;
	}
	if (op.type == LogicalOperatorType::LOGICAL_AGGREGATE_AND_GROUP_BY) {
		LogicalOperatorVisitor::EnumerateExpressions(op, collect);
		return result;
	}
	if (!HandsColumnsOn(op)) {
		return AllColumns(child);
	}
	result = read;
	LogicalOperatorVisitor::EnumerateExpressions(op, collect);
	return result;
}

} // namespace

column_binding_set_t ColumnsRead::Of(const AncestorPath &ancestors, LogicalOperator &op) {
	auto read = AllColumns(ancestors.empty() ? op : *ancestors[0].get());
	for (idx_t i = 0; i < ancestors.size(); i++) {
		auto &child = i + 1 < ancestors.size() ? *ancestors[i + 1].get() : op;
		read = ReadOfChild(*ancestors[i].get(), read, child);
	}
	return read;
}

} // namespace merganser
