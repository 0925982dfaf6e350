//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/columns_read.hpp
//
// Which output columns of an operator anything above it reads, up to the root of the plan:
//   SELECT id, revenue FROM (SELECT id, name, sum(price) AS revenue, count(*) AS n FROM ... GROUP BY id, name)
// reads id and revenue of the aggregate; a view's other columns are not read.
//
// A projection reads what those of its expressions read that are read themselves. Operators known to hand on their
// input's columns by name read what their own expressions and the operators above them read. Any other operator (set
// operations, INSERT, COPY, CTEs, DISTINCT) counts as reading all columns of its input.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/ancestor_path.hpp"

#include "duckdb/planner/column_binding_map.hpp"

namespace merganser {

struct ColumnsRead {
	//! The columns of `op` read above it, where it stands below `ancestors`.
	static column_binding_set_t Of(const AncestorPath &ancestors, LogicalOperator &op);
};

} // namespace merganser
