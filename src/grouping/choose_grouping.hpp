//===----------------------------------------------------------------------===//
//                         Merganser
//
// grouping/choose_grouping.hpp
//
// Chooses how a table function's input becomes partitions, best first:
//   rows          the function decides row by row
//   single        one partition for all rows, or a function that cannot be split: sorted as a whole, or in one stream
//                 in the order in which rows are produced (arrival_of_input.hpp, one_stream.hpp)
//   fused         the input is a table function with the same partition set, in whatever order it is written, whose
//                 rows still come in the order this call asks for: no group operator at all
//   region_local  the scan's layout, declared, recorded or found, says that every region holds whole partitions; they
//                 stream where it says in this order too, else each region is tried, and sorted if need be
//   hashed        everything else
// Sound because a partition is identified by the set of its columns, SQL leaves the order between partitions open, and
// what is assumed about a fused input is what that input really delivers, never what this call would like. A subset or
// a superset of the input's partition set is not fused: neither is clustered.
//
// What is relied on: a call's stream is clustered by its partition set, ordered within each partition, and nothing
// between that stream and the operator which arranged it reorders rows. The last is made true by hold_nothing_back.hpp.
// One partition has one stream: fused and region-local calls stand in the one pipeline of a scan or a sort, and where
// several pipelines lie below a call without PARTITION BY, one_stream.hpp ends them. All of it is verified while rows
// stream by: input_verification.hpp.
//===----------------------------------------------------------------------===//

#pragma once

#include "grouping/input_origin.hpp"
#include "grouping/scan_layout.hpp"

namespace merganser {

//! `function` sits in a plan whose column bindings are resolved to positions. `layout` is filled for REGION_LOCAL.
GroupingDecision ChooseGrouping(ClientContext &context, LogicalTableFunction &function, ScanLayout &layout);

//! The partition set, and the order inside a partition, that an operator needs its input in: positions in the input.
struct WantedRows {
	vector<idx_t> partition;
	vector<OrderItem> ordering;
};

//! FUSED or REGION_LOCAL where the origin of the input gives its rows as wanted; else `otherwise`, with the reason why
//! not. `wanted` is null where a column of it is no plain column of the input. FUSED, it is
//! parallel where its input is.
GroupingDecision ChooseGrouping(ClientContext &context, optional_ptr<const WantedRows> wanted,
                                const InputOrigin &origin, const GroupingDecision &otherwise, ScanLayout &layout);

//! HASHED or SINGLE: what a call with set semantics can always do.
GroupingDecision GroupingOfUnknownInput(const LogicalTableFunction &function);

} // namespace merganser
