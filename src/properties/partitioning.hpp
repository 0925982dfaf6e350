//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/partitioning.hpp
//
// What is known about how an operator's rows arrive, as three separate types, because none follows from another.
//
// ClusteringSet (set): in every thread's stream, the rows that agree on these columns follow each other, and no other
// stream has rows that agree with them. Clustered by (a, b) says nothing about (a) or about (a, b, c).
//
// OrderingList (list): inside one cluster, rows arrive sorted by this list. Sorted by (x, y) implies sorted by (x),
// never by (y).
//
// RegionLocalSet (set): all rows that agree on these columns lie in one storage region. Local by (a) implies local by
// (a, b): more columns make smaller partitions. It does not imply that they follow each other there, and local by
// (a, b) does not imply local by (a): that is the classic source of wrong results.
//
// Columns are positions in the operator's output. Printed in plans as "clustered: {a, b}", "ordered: [t]",
// "region-local: {a}".
//===----------------------------------------------------------------------===//

#pragma once

#include "properties/order_item.hpp"

#include "duckdb/common/set.hpp"

namespace merganser {

class ClusteringSet {
public:
	ClusteringSet() = default;
	explicit ClusteringSet(const vector<idx_t> &columns);

	//! Only the same set will do, in whatever order it was written.
	bool Satisfies(const ClusteringSet &wanted) const;
	const set<idx_t> &Columns() const {
		return columns;
	}
	string ToString(const vector<string> &names) const;

private:
	set<idx_t> columns;
};

class OrderingList {
public:
	OrderingList() = default;
	explicit OrderingList(vector<OrderItem> items);

	//! `wanted` is a prefix of this list once the columns that are constant inside a cluster are left out of both.
	bool Satisfies(const OrderingList &wanted, const set<idx_t> &constant) const;
	const vector<OrderItem> &Items() const {
		return items;
	}
	string ToString(const vector<string> &names) const;

private:
	vector<OrderItem> items;
};

class RegionLocalSet {
public:
	explicit RegionLocalSet(const vector<idx_t> &columns);

	//! `partition` contains this set.
	bool Satisfies(const ClusteringSet &partition) const;
	const set<idx_t> &Columns() const {
		return columns;
	}
	string ToString(const vector<string> &names) const;

private:
	set<idx_t> columns;
};

//! Whether rows sorted by `layout` are clustered by `partition`: its columns lead the list, in any order.
bool LeadingColumnsAre(const OrderingList &layout, const ClusteringSet &partition);

} // namespace merganser
