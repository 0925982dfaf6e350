//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/value_ranges.hpp
//
// Cuts a column's values into ranges, so that few row groups have rows in more than one:
//   row groups [a, c] [c, f] [g, g] [h, k]   ->   borders c, g: regions below c, from c and below g, from g
// A range is a region where a scan of it keeps only rows between its borders, so each value, and with it every
// partition, lies whole in one region whatever the statistics say: borders that are chosen badly make reading slow, and
// never wrong. NULL belongs to the last region.
//
// A source (a file, or a table) is read as a list of pieces, one for each region in which statistics say it has rows.
// Its first piece has no lower bound and its last none above, and one of them takes NULL, so every row of a source is
// in exactly one of its pieces, also where statistics lie. A source with one piece is read without a filter: there
// wholeness rests on its statistics, which are exact or wider than the truth, and is verified while rows stream
// (input_verification.hpp), as in all regions.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

//! What statistics say of a column in one row group.
struct RowGroupRange {
	//! Which file it lies in, among those of the scan; 0 in a table.
	idx_t source;
	idx_t rows;
	//! Bounds of its values, which need not occur; both NULL where all values are.
	Value min;
	Value max;
	bool may_have_null;
};

class ValueRanges {
public:
	//! Of at least one row group. Regions get about `region_rows` rows, or more where ranges overlap.
	ValueRanges(vector<RowGroupRange> groups, idx_t region_rows);

	//! Part of a source that lies in one region.
	struct Piece {
		idx_t region;
		idx_t source;
		//! Rows from this value on; NULL: no bound.
		Value from;
		//! Rows below this value; NULL: no bound.
		Value below;
		//! Whether rows with a value belong to it; false: only those with NULL.
		bool has_values;
		bool has_null;
		//! The whole source: no filter is needed.
		bool is_whole;
	};

	idx_t Count() const {
		return borders.size() + 1;
	}
	//! Of all sources, in the order of regions, then sources.
	vector<Piece> Pieces() const;
	//! Per region, about how many rows it has.
	const vector<idx_t> &Rows() const {
		return rows;
	}

private:
	void FindBorders(idx_t region_rows);
	idx_t RegionOf(const Value &value) const;
	void AddPieces(idx_t source, const vector<idx_t> &members, vector<Piece> &result) const;

	//! Sorted by `min`, those of NULLs alone last.
	vector<RowGroupRange> groups;
	//! Where the regions behind the first begin, ascending.
	vector<Value> borders;
	vector<idx_t> rows;
};

} // namespace merganser
