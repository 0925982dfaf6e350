#include "late_materialization/cost_estimate.hpp"

#include "late_materialization/column_width.hpp"

#include <algorithm>

namespace merganser {

namespace {

//! Below this many rows every plan takes about a millisecond.
const double SMALL_INPUT_ROWS = 10000;

bool FetchesWide(const AggregateInput &input, const JoinBackLink &link) {
	auto &relation = input.Relations()[link.relation];
	return std::any_of(link.fetched.begin(), link.fetched.end(), [&](const ColumnBinding &column) {
		return ColumnWidth::IsWide(relation.types[relation.PositionOf(column)]);
	});
}

//! Whether the join-back needs a column this link fetches to find the row of a later link.
bool FindsLaterLink(const AggregateInput &input, const Deferral &deferral, idx_t link) {
	auto &chain = deferral.Chain();
	for (idx_t later = link + 1; later < chain.size(); later++) {
		for (auto &column : input.Relations()[chain[later].relation].keys[chain[later].key].columns) {
			auto provider = deferral.ProviderOf(column, later);
			if (provider.kind == Deferral::Provider::Kind::FETCHED && provider.link == link) {
				return true;
			}
		}
	}
	return false;
}

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
		rows_read_again += double(relation.cardinality);
		for (auto &key_column : relation.keys[link.key].columns) {
			auto &type = relation.types[relation.PositionOf(key_column)];
			price_bytes += double(relation.cardinality) * double(ColumnWidth::Of(type));
		}
	}
}

bool CostEstimate::Pays() const {
	return input_rows >= SMALL_INPUT_ROWS && defers_wide && input_rows * saved_bytes_per_row > price_bytes;
}

optional_idx CostEstimate::FindThinLink(const AggregateInput &input, const Deferral &deferral) {
	auto &chain = deferral.Chain();
	for (idx_t i = chain.size(); i-- > 0;) {
		if (!FetchesWide(input, chain[i]) && !FindsLaterLink(input, deferral, i)) {
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
