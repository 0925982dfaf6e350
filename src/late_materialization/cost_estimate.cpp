#include "late_materialization/cost_estimate.hpp"

#include "late_materialization/column_width.hpp"

#include "duckdb/planner/expression/bound_aggregate_expression.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! What one row of a join costs, in bytes moved.
const double JOINED_ROW_BYTES = 32;
//! What one row costs whose key is counted, in bytes moved.
const double CHECKED_ROW_BYTES = 60;
//! How many rows must meet one row of the other table for DuckDB to aggregate before the join.
const double AGGREGATED_FIRST_RATIO = 4;

} // namespace

CostEstimate::CostEstimate(const AggregateInput &input, const Deferral &deferral, const AggregateShape &shape)
    : input(input), deferral(deferral), shape(shape), input_rows(double(input.EstimatedRows())),
      groups(EstimateGroups()) {
	for (auto &column : deferral.Columns()) {
		if (column.retained) {
			continue;
		}
		auto type = column.resolved->GetReturnType();
		saved_bytes_per_row += double(ColumnWidth::Of(type));
		defers_wide = defers_wide || ColumnWidth::IsWide(type);
	}
	AddLinks();
	if (!shape.bound.IsValid()) {
		AddEveryGroup();
	}
}

void CostEstimate::AddLinks() {
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		auto &key = relation.keys[link.key];
		auto readings = key.guaranteed ? 1.0 : 2.0;
		rows_read_again += readings * double(relation.cardinality);
		for (auto &key_column : key.columns) {
			auto &type = relation.types[relation.PositionOf(key_column)];
			price_bytes += readings * double(relation.cardinality) * double(ColumnWidth::Of(type));
		}
	}
}

void CostEstimate::AddEveryGroup() {
	for (auto &link : deferral.Chain()) {
		auto &relation = input.Relations()[link.relation];
		if (!relation.keys[link.key].guaranteed) {
			price_bytes += double(relation.cardinality) * CHECKED_ROW_BYTES;
		}
		price_bytes += groups * JOINED_ROW_BYTES;
		if (IsAggregatedFirst()) {
			input_rows = MinValue(input_rows, double(relation.cardinality));
		}
	}
	if (!deferral.Chain().empty()) {
		price_bytes += groups * saved_bytes_per_row / 2;
	}
}

bool CostEstimate::IsAggregatedFirst() const {
	if (input.TableCount() != 2 || deferral.Chain().size() != 1) {
		return false;
	}
	for (auto &expression : shape.aggregate->expressions) {
		auto &aggregate = expression->Cast<BoundAggregateExpression>();
		if (aggregate.IsDistinct() || aggregate.GetFilter() || aggregate.GetOrderBys() ||
		    aggregate.GetChildren().size() > 1) {
			return false;
		}
	}
	auto dimension_rows = double(input.Relations()[deferral.Chain()[0].relation].cardinality);
	return input_rows >= AGGREGATED_FIRST_RATIO * dimension_rows;
}

//! At most the rows of the tables whose columns make up the narrow plan's group key.
double CostEstimate::EstimateGroups() const {
	unordered_set<idx_t> relations;
	double most = 1;
	for (auto &column : deferral.Columns()) {
		if (!column.is_group || !column.retained) {
			continue;
		}
		column_binding_set_t bases;
		AggregateShape::CollectColumns(*column.resolved, bases);
		for (auto &base : bases) {
			auto relation = input.SmallestRelationOf(base);
			if (!relation.IsValid()) {
				most = input_rows;
			} else if (relations.insert(relation.GetIndex()).second) {
				most *= double(input.Relations()[relation.GetIndex()].cardinality);
			}
		}
	}
	most = MinValue(most, input_rows);
	return shape.bound.IsValid() ? MinValue(most, double(shape.bound.GetIndex())) : most;
}

idx_t CostEstimate::Groups() const {
	return idx_t(groups);
}

bool CostEstimate::Pays() const {
	return input_rows >= double(SMALL_INPUT_ROWS) && defers_wide && input_rows * saved_bytes_per_row > price_bytes;
}

optional_idx CostEstimate::FindThinLink(const Deferral &deferral) {
	for (idx_t link = deferral.Chain().size(); link-- > 0;) {
		auto &columns = deferral.Columns();
		auto wide = std::any_of(columns.begin(), columns.end(), [&](const OutputColumn &column) {
			return !column.retained && ColumnWidth::IsWide(column.resolved->GetReturnType()) &&
			       deferral.RelyOn(column, link);
		});
		if (!wide) {
			return link;
		}
	}
	return optional_idx();
}

string CostEstimate::ToString() const {
	auto text =
	    StringUtil::Format("saves %llu rows x %llu bytes, reads again %llu rows (%llu bytes)", idx_t(input_rows),
		                   idx_t(saved_bytes_per_row), idx_t(rows_read_again), idx_t(price_bytes));
	return shape.bound.IsValid() ? text : text + StringUtil::Format(", fetches %llu rows", Groups());
}

} // namespace merganser
