#include "declarations/same_plan.hpp"

#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/operator/list.hpp"

namespace merganser {

namespace {

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

ScanIdentity::ScanIdentity(const LogicalGet &get)
    : function(FunctionOf(get)), parameters(get.parameters), named_parameters(get.named_parameters), names(get.names),
      types(get.returned_types) {
}

bool ScanIdentity::IsSameCall(const ScanIdentity &other) const {
	if (function != other.function || parameters != other.parameters ||
	    named_parameters.size() != other.named_parameters.size()) {
		return false;
	}
	return std::all_of(named_parameters.begin(), named_parameters.end(), [&](const auto &entry) {
		auto found = other.named_parameters.find(entry.first);
		return found != other.named_parameters.end() && Value::NotDistinctFrom(entry.second, found->second);
	});
}

bool ScanIdentity::operator==(const ScanIdentity &other) const {
	return IsSameCall(other) && names == other.names && types == other.types;
}

bool SamePlan::AreSameScans(const LogicalGet &left, const LogicalGet &right) {
	return ScanIdentity(left) == ScanIdentity(right);
}

bool SamePlan::AreSame(const LogicalOperator &left, const LogicalOperator &right) {
	PlanComparison comparison;
	return comparison.AreSame(left, right);
}

} // namespace merganser
