//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/arrival_order.hpp
//
// In which order all rows of a piece of plan arrive where no ORDER BY asks for one, and who lost it. The kinds are
// those of row_order.hpp:
//   NONE          any, and another one at the next run: what hashes, joins or exchanges rows between threads gives
//   AS_PRODUCED   that of the files, tables and branches below, one after the other: what DuckDB keeps at every number
//                of threads while preserve_insertion_order is on
//   SORTED        by an ORDER BY, or one row, which every list sorts: kept whatever the setting is
// Rows that come from two pieces, one after the other, have the weaker of their orders. Nothing follows from an order
// for the rows of one partition but that they have it too.
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/row_order.hpp"

namespace merganser {

struct ArrivalOrder {
	RowOrder::Kind kind = RowOrder::Kind::NONE;
	//! NONE: the operator that gives rows in any order.
	string lost_by;

	static ArrivalOrder LostBy(string name) {
		return {RowOrder::Kind::NONE, std::move(name)};
	}
	//! Of the rows of both, one after the other.
	static const ArrivalOrder &Weaker(const ArrivalOrder &left, const ArrivalOrder &right) {
		return right.kind < left.kind ? right : left;
	}
	//! Whether it is the same at every run.
	bool IsKept(bool preserve_insertion_order) const {
		return kind == RowOrder::Kind::SORTED || (kind == RowOrder::Kind::AS_PRODUCED && preserve_insertion_order);
	}
};

} // namespace merganser
