#include "late_materialization/cost_estimate.hpp"

#include "late_materialization/column_width.hpp"

namespace merganser {

namespace {

//! Below this many rows every plan takes about a millisecond.
const double SMALL_INPUT_ROWS = 10000;

} // namespace

CostEstimate::CostEstimate(const AggregateInput &input, const Deferral &deferral)
    : input(input), deferral(deferral), input_rows(double(input.EstimatedRows())) {
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
		rows_read_again += double(relation.cardinality);
		for (idx_t i = 0; i < relation.columns.size(); i++) {
			for (auto &key_column : relation.keys[link.key].columns) {
				if (relation.columns[i] == key_column) {
					price_bytes += double(relation.cardinality) * double(ColumnWidth::Of(relation.types[i]));
				}
			}
		}
	}
}

bool CostEstimate::Pays() const {
	return input_rows >= SMALL_INPUT_ROWS && defers_wide && input_rows * saved_bytes_per_row > price_bytes;
}

optional_idx CostEstimate::FindThinLink() const {
	auto &chain = deferral.Chain();
	for (idx_t i = chain.size(); i-- > 0;) {
		auto &relation = input.Relations()[chain[i].relation];
		bool wide = false;
		for (idx_t c = 0; c < relation.columns.size(); c++) {
			for (auto &fetched : chain[i].fetched) {
				wide = wide || (relation.columns[c] == fetched && ColumnWidth::IsWide(relation.types[c]));
			}
		}
		bool finds_later_link = false;
		for (idx_t later = i + 1; later < chain.size(); later++) {
			for (auto &column : input.Relations()[chain[later].relation].keys[chain[later].key].columns) {
				auto provider = deferral.ProviderOf(column, later);
				finds_later_link =
				    finds_later_link || (provider.kind == Deferral::Provider::Kind::FETCHED && provider.link == i);
			}
		}
		if (!wide && !finds_later_link) {
			return i;
		}
	}
	return optional_idx();
}

string CostEstimate::ToString() const {
	return StringUtil::Format("saves %llu rows x %llu bytes, reads again %llu rows (%llu bytes)", idx_t(input_rows),
	                          idx_t(saved_bytes_per_row), idx_t(rows_read_again), idx_t(price_bytes));
}

} // namespace merganser
