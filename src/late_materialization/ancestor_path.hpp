//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/ancestor_path.hpp
//
// Where an operator stands in a plan, as the owning pointers from the root down to it, and a walk back up.
//===----------------------------------------------------------------------===//

#pragma once

#include "duckdb/planner/logical_operator.hpp"

#include "settings.hpp"

namespace merganser {

//! Owning pointers, the root's first.
using AncestorPath = vector<reference<unique_ptr<LogicalOperator>>>;

struct AncestorPaths {
	//! Appends the owners from `op` down to that of `target`; false, with nothing appended, if it is not below.
	static bool TryFind(unique_ptr<LogicalOperator> &op, const LogicalOperator &target, AncestorPath &path);
};

//! Walks up a path of ancestors, one operator at a time.
class Ascent {
public:
	explicit Ascent(const AncestorPath &ancestors);

	bool AtTop() const;
	LogicalOperator &Current() const;
	unique_ptr<LogicalOperator> &CurrentOwner() const;
	bool At(LogicalOperatorType type) const;
	void Up();

private:
	const AncestorPath &ancestors;
	idx_t remaining;
};

} // namespace merganser
