//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/row_order.hpp
//
// What is known about the order the rows of a piece of plan come in. Two things: which order, and between which rows.
//
// Which order (RowOrder::Kind), each a special case of the one before:
//   NONE          nothing is known.
//   AS_PRODUCED   the order in which DuckDB, on one node and with preserve_insertion_order = true, hands on the rows at
//                 this place of the plan.
//   SORTED        as AS_PRODUCED, and that order is an ORDER BY with this list: DuckDB keeps it with every setting.
//                 Rows that tie in the list may come in either order.
//
// Between which rows (RowOrder::Scope), where several tasks compute the piece:
//   EACH_TASK     between two rows of one task. What one task has and what another is not known.
//   ALL_ROWS      between any two rows: all of task 0 come before all of task 1, and so on.
// With one task both say the same.
//
// AS_PRODUCED of ALL_ROWS does not follow from AS_PRODUCED of EACH_TASK: rows hashed by a key have the second, and
// read one task after another they are in no order at all. Sorted by (a, b) is sorted by (a), never by (b).
//
// Columns of the list are positions in the output of the piece. Printed as "none", "as produced", "as produced in each
// task", "sorted by [a, b DESC]".
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/partitioning.hpp"

namespace merganser {

class RowOrder {
public:
	enum class Kind : uint8_t { NONE, AS_PRODUCED, SORTED };
	enum class Scope : uint8_t { EACH_TASK, ALL_ROWS };

	//! None.
	RowOrder() = default;
	static RowOrder AsProduced(Scope scope);
	static RowOrder Sorted(OrderingList list, Scope scope);

	//! Whether rows that come in this order come in the order `wanted`.
	bool Satisfies(const RowOrder &wanted) const;
	//! What is left of it between the rows of each task.
	RowOrder InEachTask() const;
	//! What is left of it where columns are computed anew: the rows come as before, the list names no columns any more.
	RowOrder WithoutColumns() const;
	string ToString(const vector<string> &names) const;

private:
	Kind kind = Kind::NONE;
	Scope scope = Scope::EACH_TASK;
	OrderingList list;
};

} // namespace merganser
