//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/range_partition.hpp
//
//   SELECT * FROM t ORDER BY a DESC NULLS FIRST, b
//
// Problem: one task that sorts all rows is as slow as one machine. The rows are divided into ranges of their sort key,
// one for each task; each task sorts its range, and the ranges follow each other in the order of the tasks.
//   SortKeySample   SELECT create_sort_key(a, 'DESC NULLS FIRST', b, 'ASC NULLS LAST') FROM <rows> USING SAMPLE …
//   RangeNumber     SELECT rows.*, (key > bounds[1])::BIGINT + (key > bounds[2])::BIGINT + … FROM <rows>,
//                   (SELECT quantile_disc(key, [0.25, 0.5, 0.75]) AS bounds FROM <samples>)
// Sound because create_sort_key is what DuckDB's own sort compares, and equal keys get the same number. Limit: a key
// that very many rows share makes one range large.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/exported_operator.hpp"

#include "duckdb/planner/bound_result_modifier.hpp"

namespace merganser {

//! The sort keys of some of its child's rows.
class LogicalSortKeySample : public ExportedOperator {
public:
	LogicalSortKeySample(TableIndex table_index, const vector<BoundOrderByNode> &orders);

	vector<ColumnBinding> GetColumnBindings() override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

protected:
	void ResolveTypes() override;

private:
	TableIndex table_index;
	vector<string> modifiers;
};

//! The rows of its second child and the number of their range, by the samples of its first child.
class LogicalRangeNumber : public ExportedOperator {
public:
	LogicalRangeNumber(TableIndex table_index, const vector<BoundOrderByNode> &orders, idx_t ranges);

	ColumnBinding Number() const {
		return ColumnBinding(table_index, ProjectionIndex(0));
	}

	vector<ColumnBinding> GetColumnBindings() override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

protected:
	void ResolveTypes() override;

private:
	TableIndex table_index;
	vector<string> modifiers;
	idx_t ranges;
};

} // namespace merganser
