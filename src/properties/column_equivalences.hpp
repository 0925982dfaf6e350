//===----------------------------------------------------------------------===//
//                         Merganser
//
// properties/column_equivalences.hpp
//
// Which columns hold the same value in every row of a plan, and which hold a known constant.
//   FROM o, c WHERE o_custkey = c_custkey AND c_region = 5   gives {o_custkey, c_custkey}, {c_region} = 5
// Definition: a and b are equivalent when, in each row, both are non-NULL and a = b, for types whose equality is
// identity (see HasIdentityEquality); hence either value may be shown for the other, after a cast between integer
// widths at most. Limits: FLOAT and DOUBLE (-0.0 = 0.0), collated VARCHAR, INTERVAL, TIMETZ and nestings of them take
// no part.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include "duckdb/planner/column_binding_map.hpp"

namespace merganser {

class ColumnEquivalences {
public:
	//! Whether two equal values of the type are always the same value, so that one may stand for the other.
	static bool HasIdentityEquality(const LogicalType &type);

	void AddEqual(const ColumnBinding &left, const ColumnBinding &right);
	void AddConstant(const ColumnBinding &column, Value constant);

	bool AreEqual(const ColumnBinding &left, const ColumnBinding &right) const;
	//! All columns equivalent to this one, itself first.
	vector<ColumnBinding> EqualTo(const ColumnBinding &column) const;
	//! The constant the column equals, or nullptr.
	optional_ptr<const Value> ConstantOf(const ColumnBinding &column) const;

private:
	struct EquivalenceClass {
		vector<ColumnBinding> members;
		vector<Value> constants;
	};

	idx_t ClassFor(const ColumnBinding &column);

	vector<EquivalenceClass> classes;
	column_binding_map_t<idx_t> class_of;
};

} // namespace merganser
