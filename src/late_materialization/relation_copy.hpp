//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/relation_copy.hpp
//
// A second reading of a base relation, under fresh table indexes, delivering only the columns asked for.
// A scan shares the bind data of the first one, hence its file list and snapshot. A declared view that is more than one
// scan is copied operator by operator, with its filters, since its key holds only for the rows the view shows.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/aggregate_input.hpp"

#include "duckdb/planner/binder.hpp"

namespace merganser {

struct RelationCopy {
	unique_ptr<LogicalOperator> plan;
	//! Column of the relation -> the copy's column.
	column_binding_map_t<ColumnBinding> bindings;

	static RelationCopy Create(Binder &binder, const BaseRelation &relation, const vector<ColumnBinding> &columns);
	//! Whether every operator of the subtree can be copied.
	static bool IsSupported(const LogicalOperator &op);
};

} // namespace merganser
