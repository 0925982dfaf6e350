//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/shapes/every_group.hpp
//
// The shape of a report of which every group goes on, to the user, a table, a file, a window, a join or an ORDER BY:
//   anything <- [Filter, Projection, Order]* <- [Filter = HAVING] <- Aggregate
//   CREATE TABLE mart AS SELECT c_custkey, c_name, c_comment, sum(price) FROM ... GROUP BY c_custkey, c_name, c_comment
// The join-back stands directly above the aggregate and HAVING, for all rows they return.
//
// Sound because: the join-back delivers the rows the aggregate would have delivered, each exactly once and with the
// same columns, so whatever stands above it sees no difference. A declared key is checked as a whole before the first
// row leaves (key_check.hpp), as what stands above may stop reading when it has enough; each row's guard looks at that
// row alone (join_back_guard.hpp). Whether all is read decides the kind of join (join_back.hpp): it is where only
// operators known to read their whole input stand up to the root, an ORDER BY or an aggregate.
//
// A filter further up reads fewer groups, and DuckDB would have pushed it below the aggregate, which it cannot through
// the join-back. Its conditions are added to HAVING, from where DuckDB pushes them further; the filter itself stays. Of
// two filters in a row either may come first, but one that can fail must not be asked of rows another has taken out,
// and a volatile one must not be asked twice: those two kinds stay where they are.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/aggregate_shape.hpp"

namespace merganser {

struct EveryGroup {
	//! The shape of the aggregate owned by `owner` under its ancestors. Leaves out what is displayed.
	static AggregateShape Of(const AncestorPath &ancestors, unique_ptr<LogicalOperator> &owner);
};

} // namespace merganser
