//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/plausible_keys.hpp
//
// Problem: nobody has stated a key, and yet the query shows where one would be.
//   SELECT c_custkey, c_name, sum(o_totalprice) FROM customer JOIN orders ON c_custkey = o_custkey
//   GROUP BY c_custkey, c_name
// would be grouped by c_custkey alone if that were a key of customer. A candidate is a set of columns of one relation
//   * whose values the group key gives: each is a group column, a constant, equal to one of those, or a column of a
//     relation that a candidate reached before;
//   * which is what keys are made of: a column that is joined to another relation, or one named like an identifier, of
//     a type whose equality is identity; two of them together where none does it alone;
//   * of a relation that other group columns come from, or that leads to such a relation.
// What statistics rule out is no candidate: integers with clearly fewer values between the least and the greatest than
// the relation has rows, and columns with far fewer distinct values than rows.
//
// A candidate is a guess. Whoever uses one has to prove it, or to ask its owner; a candidate that is left out costs
// nothing but the chance.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/deferral.hpp"

namespace merganser {

struct PlausibleKey {
	//! Position among AggregateInput::Relations().
	idx_t relation;
	vector<ColumnBinding> columns;
};

struct PlausibleKeys {
	//! The most plausible of each relation first; of equals the one with fewer columns.
	static vector<PlausibleKey> Of(ClientContext &context, const AggregateInput &input, const Deferral &deferral);
};

} // namespace merganser
