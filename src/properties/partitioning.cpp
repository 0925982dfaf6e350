#include "properties/partitioning.hpp"

namespace merganser {

static string ColumnNames(const set<idx_t> &columns, const vector<string> &names) {
	vector<string> result;
	for (auto column : columns) {
		result.push_back(names[column]);
	}
	return StringUtil::Join(result, ", ");
}

ClusteringSet::ClusteringSet(const vector<idx_t> &columns_p) : columns(columns_p.begin(), columns_p.end()) {
}

bool ClusteringSet::Satisfies(const ClusteringSet &wanted) const {
	return columns == wanted.columns;
}

string ClusteringSet::ToString(const vector<string> &names) const {
	return "{" + ColumnNames(columns, names) + "}";
}

OrderingList::OrderingList(vector<OrderItem> items_p) : items(std::move(items_p)) {
}

static vector<OrderItem> WithoutConstants(const vector<OrderItem> &items, const set<idx_t> &constant) {
	vector<OrderItem> result;
	for (auto &item : items) {
		if (!constant.count(item.column)) {
			result.push_back(item);
		}
	}
	return result;
}

bool OrderingList::Satisfies(const OrderingList &wanted, const set<idx_t> &constant) const {
	auto have = WithoutConstants(items, constant);
	auto want = WithoutConstants(wanted.items, constant);
	if (want.size() > have.size()) {
		return false;
	}
	return std::equal(want.begin(), want.end(), have.begin());
}

string OrderingList::ToString(const vector<string> &names) const {
	vector<string> result;
	for (auto &item : items) {
		auto text = names[item.column];
		if (item.direction == OrderType::DESCENDING) {
			text += " DESC";
		}
		if (item.null_order == OrderByNullType::NULLS_FIRST) {
			text += " NULLS FIRST";
		}
		result.push_back(text);
	}
	return "[" + StringUtil::Join(result, ", ") + "]";
}

RegionLocalSet::RegionLocalSet(const vector<idx_t> &columns_p) : columns(columns_p.begin(), columns_p.end()) {
}

bool RegionLocalSet::Satisfies(const ClusteringSet &partition) const {
	return std::includes(partition.Columns().begin(), partition.Columns().end(), columns.begin(), columns.end());
}

string RegionLocalSet::ToString(const vector<string> &names) const {
	return "{" + ColumnNames(columns, names) + "}";
}

bool LeadingColumnsAre(const OrderingList &layout, const ClusteringSet &partition) {
	set<idx_t> leading;
	for (auto &item : layout.Items()) {
		if (leading.size() == partition.Columns().size()) {
			break;
		}
		if (!partition.Columns().count(item.column)) {
			return false;
		}
		leading.insert(item.column);
	}
	return leading == partition.Columns();
}

} // namespace merganser
