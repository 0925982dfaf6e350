#include "grouping/value_ranges.hpp"

#include <queue>

namespace merganser {

namespace {

bool BeginsLower(const RowGroupRange &a, const RowGroupRange &b) {
	if (a.min.IsNull() || b.min.IsNull()) {
		return !a.min.IsNull() && b.min.IsNull();
	}
	return a.min < b.min;
}

//! The row groups before a border that reach beyond it.
class Straddling {
public:
	void Add(const RowGroupRange &group) {
		open.push(&group);
		rows += group.rows;
	}
	idx_t RowsAt(const Value &border) {
		while (!open.empty() && open.top()->max < border) {
			rows -= open.top()->rows;
			open.pop();
		}
		return rows;
	}

private:
	struct EndsHigher {
		bool operator()(const RowGroupRange *a, const RowGroupRange *b) const {
			return b->max < a->max;
		}
	};

	std::priority_queue<const RowGroupRange *, vector<const RowGroupRange *>, EndsHigher> open;
	idx_t rows = 0;
};

} // namespace

ValueRanges::ValueRanges(vector<RowGroupRange> groups_p, idx_t region_rows) : groups(std::move(groups_p)) {
	std::stable_sort(groups.begin(), groups.end(), BeginsLower);
	FindBorders(region_rows);
	rows.resize(Count());
	for (auto &group : groups) {
		rows[group.min.IsNull() ? Count() - 1 : RegionOf(group.min)] += group.rows;
	}
}

void ValueRanges::FindBorders(idx_t region_rows) {
	Straddling straddling;
	idx_t gathered = 0;
	auto begin = groups[0].min;
	for (auto &group : groups) {
		if (group.min.IsNull()) {
			break;
		}
		auto twice = straddling.RowsAt(group.min); // rows that two regions would have to read
		auto enough = twice == 0 ? gathered * 2 >= region_rows : gathered >= region_rows && twice * 2 <= gathered;
		if (gathered > 0 && enough && begin < group.min) {
			borders.push_back(group.min);
			begin = group.min;
			gathered = 0;
		}
		straddling.Add(group);
		gathered += group.rows;
	}
}

idx_t ValueRanges::RegionOf(const Value &value) const {
	auto behind = std::upper_bound(borders.begin(), borders.end(), value,
	                               [](const Value &searched, const Value &border) { return searched < border; });
	return static_cast<idx_t>(behind - borders.begin());
}

void ValueRanges::AddPieces(idx_t source, const vector<idx_t> &members, vector<Piece> &result) const {
	set<idx_t> regions;
	auto may_have_null = false;
	for (auto member : members) {
		auto &group = groups[member];
		may_have_null = may_have_null || group.may_have_null;
		if (group.min.IsNull()) {
			continue;
		}
		auto end = RegionOf(group.max);
		for (auto i = RegionOf(group.min); i <= end; i++) {
			regions.insert(i);
		}
	}
	auto last = Count() - 1;
	auto null_apart = may_have_null && !regions.count(last);
	auto first_piece = result.size();
	for (auto region = regions.begin(); region != regions.end(); region++) {
		auto next = std::next(region);
		Piece piece {*region, source, Value(), Value(), true, false, false};
		if (region != regions.begin()) {
			piece.from = borders[*region - 1];
		}
		if (next != regions.end()) {
			piece.below = borders[*next - 1];
		}
		piece.has_null = next == regions.end() && !null_apart;
		result.push_back(std::move(piece));
	}
	if (null_apart) {
		result.push_back(Piece {last, source, Value(), Value(), regions.empty(), true, false});
	}
	result.back().is_whole = result.size() == first_piece + 1;
}

vector<ValueRanges::Piece> ValueRanges::Pieces() const {
	map<idx_t, vector<idx_t>> members;
	for (idx_t i = 0; i < groups.size(); i++) {
		members[groups[i].source].push_back(i);
	}
	vector<Piece> result;
	for (auto &source : members) {
		AddPieces(source.first, source.second, result);
	}
	std::stable_sort(result.begin(), result.end(), [](const Piece &a, const Piece &b) { return a.region < b.region; });
	return result;
}

} // namespace merganser
