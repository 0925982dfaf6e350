#include "late_materialization/same_plan.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

bool SameNamedParameters(const LogicalGet &left, const LogicalGet &right) {
	if (left.named_parameters.size() != right.named_parameters.size()) {
		return false;
	}
	for (auto &entry : left.named_parameters) {
		auto other = right.named_parameters.find(entry.first);
		if (other == right.named_parameters.end() || !Value::NotDistinctFrom(entry.second, other->second)) {
			return false;
		}
	}
	return true;
}

//! `FROM 'file.parquet'` calls parquet_scan, another name of read_parquet.
string FunctionOf(const LogicalGet &get) {
	auto name = get.function.GetName().GetIdentifierName();
	return name == "parquet_scan" ? "read_parquet" : name;
}

class PlanComparison {
public:
	bool AreSame(const LogicalOperator &left, const LogicalOperator &right) {
		if (left.type != right.type || left.children.size() != right.children.size() ||
		    left.expressions.size() != right.expressions.size()) {
			return false;
		}
		for (idx_t i = 0; i < left.children.size(); i++) {
			if (!AreSame(*left.children[i], *right.children[i])) {
				return false;
			}
		}
		switch (left.type) {
		case LogicalOperatorType::LOGICAL_GET: {
			auto &left_get = left.Cast<LogicalGet>();
			auto &right_get = right.Cast<LogicalGet>();
			if (!SamePlan::AreSameScans(left_get, right_get) || left_get.GetColumnIds() != right_get.GetColumnIds()) {
				return false;
			}
			right_index[left_get.table_index] = right_get.table_index;
			return true;
		}
		case LogicalOperatorType::LOGICAL_PROJECTION:
			right_index[left.Cast<LogicalProjection>().table_index] = right.Cast<LogicalProjection>().table_index;
			return SameExpressions(left, right);
		case LogicalOperatorType::LOGICAL_FILTER:
			return SameExpressions(left, right);
		default:
			return false;
		}
	}

private:
	bool SameExpressions(const LogicalOperator &left, const LogicalOperator &right) const {
		for (idx_t i = 0; i < left.expressions.size(); i++) {
			auto translated = left.expressions[i]->Copy();
			ExpressionIterator::VisitExpressionMutable<BoundColumnRefExpression>(
			    translated, [&](BoundColumnRefExpression &column, unique_ptr<Expression> &) {
				    auto index = right_index.find(column.Binding().table_index);
				    if (index != right_index.end()) {
					    column.BindingMutable().table_index = index->second;
				    }
			    });
			if (!translated->Equals(*right.expressions[i])) {
				return false;
			}
		}
		return true;
	}

	unordered_map<TableIndex, TableIndex> right_index;
};

} // namespace

bool SamePlan::AreSameScans(const LogicalGet &left, const LogicalGet &right) {
	return FunctionOf(left) == FunctionOf(right) && left.parameters == right.parameters &&
	       SameNamedParameters(left, right) && left.names == right.names && left.returned_types == right.returned_types;
}

bool SamePlan::AreSame(const LogicalOperator &left, const LogicalOperator &right) {
	PlanComparison comparison;
	return comparison.AreSame(left, right);
}

} // namespace merganser
