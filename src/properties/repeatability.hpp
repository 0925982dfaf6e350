//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/repeatability.hpp
//
// Problem: a file that carries rows from one task to others is lost after some of them have read it. The task runs
// again. Are the rows it writes now those that were read? If not, a row the first readers saw in partition 3 may now be
// in partition 5, where later readers see it once more, and another row is seen by nobody.
//   SELECT b, list(id) FROM (SELECT id, floor(random() * 1000) AS b FROM t) GROUP BY b
//
// Definition. A task has inputs: slices of files that do not change, and exchange files. Let it run any number of
// times, on any worker of the query, with inputs that have
//   the same rows (as multisets, bit for bit) in the same partitions, and
//   the same rows in the same order where the input is ROWS_IN_ORDER.
// What it writes is
//   ROWS            repeatable, if each partition has the same rows, as a multiset, bit for bit, every time;
//   ROWS_IN_ORDER   repeatable in order, if each partition has the same rows in the same order every time;
//   NOTHING         otherwise, or where neither is known.
// The weaker contains the stronger: what satisfies ROWS_IN_ORDER satisfies ROWS, and everything satisfies NOTHING.
//
// It is said of one task relative to its inputs, not of a whole query: whoever writes a file again that is not
// repeatable must run all its readers again, and theirs, so an input that changed is never mixed with what was made of
// it before (python/merganser/ray/query.py).
//
// Sound as long as each operator is judged by what is the same in every run: threads take chunks in any order, so an
// operator that several of them feed gives its rows in any order, and a value that depends on the order of its input
// (list, sum of DOUBLE, a LIMIT, a row number among ties) is another one each time. What is not known to be the same is
// NOTHING. That is never wrong, and costs readers that run again after a fault, nothing else.
// Printed in stages as "not repeatable: <why>".
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

class Repeatability {
public:
	enum class Level : uint8_t { NOTHING, ROWS, ROWS_IN_ORDER };

	//! Nothing is known.
	Repeatability();

	static Repeatability InOrder();
	//! `why` the order may be another one.
	static Repeatability InAnyOrder(string why);
	//! `why` the rows may be others.
	static Repeatability None(string why);

	bool Satisfies(Level wanted) const {
		return level >= wanted;
	}
	//! Why it is not more; empty for ROWS_IN_ORDER.
	const string &Why() const {
		return why;
	}
	//! Of rows made of both: the weaker, this one where they are equal.
	const Repeatability &And(const Repeatability &other) const;
	//! Of the same rows in an order that is not fixed.
	Repeatability WithoutOrder(string why_not) const;
	//! "repeatable", "repeatable in any order: <why>", "not repeatable: <why>"
	string ToString() const;

private:
	Repeatability(Level level, string why);

	Level level;
	string why;
};

} // namespace merganser
