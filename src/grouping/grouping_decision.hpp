//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/grouping_decision.hpp
//
// How one table function gets its partitions, and why: printed by EXPLAIN and recorded in the decision log.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

enum class Grouping : uint8_t {
	ROWS,         //! row semantics: no partitions
	FUSED,        //! the input is a table function with the same partition set
	REGION_LOCAL, //! every storage region holds whole partitions
	HASHED,       //! hashed into bins, each sorted
	SINGLE        //! one instance over the whole input, sorted if need be
};

struct GroupingDecision {
	Grouping grouping = Grouping::SINGLE;
	//! One sentence for people, with the names of this query.
	string reason;
	//! What would make storage regions serve; empty if nothing would, or if they do.
	string remedy;
	//! Whether several threads each have a part of the partitions.
	bool parallel = false;
	//! REGION_LOCAL: the regions are not in the call's order, each is sorted by itself.
	bool sorts_regions = false;

	string Name() const;
};

} // namespace merganser
