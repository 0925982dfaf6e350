#include "late_materialization/cost_estimate.hpp"

#include "late_materialization/column_width.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Below this many rows every plan takes about a millisecond.
const double SMALL_INPUT_ROWS = 10000;

} // namespace

CostEstimate::CostEstimate(const AggregateInput &input, const Deferral &deferral)
    : input_rows(double(input.EstimatedRows())) {
	for (auto &column : deferral.Columns()) {
		if (column.retained) {
			continue;
		}
		auto type = column.resolved->GetReturnType();
		saved_bytes_per_row += double(ColumnWidth::Of(type));
		defers_wide = defers_wide || ColumnWidth::IsWide(type);
	}
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

bool CostEstimate::Pays() const {
	return input_rows >= SMALL_INPUT_ROWS && defers_wide && input_rows * saved_bytes_per_row > price_bytes;
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
	return StringUtil::Format("saves %llu rows x %llu bytes, reads again %llu rows (%llu bytes)", idx_t(input_rows),
	                          idx_t(saved_bytes_per_row), idx_t(rows_read_again), idx_t(price_bytes));
}

} // namespace merganser
