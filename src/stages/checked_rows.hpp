//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/checked_rows.hpp
//
// Rows that rely on declared keys, inside a stage. In this process the checks are the first inputs of a UNION ALL whose
// inputs run one after the other (late_materialization/key_check.hpp); a UNION ALL in SQL promises no such thing, and a
// LIMIT above would stop before the checks. So a stage is exported as
//   SELECT … FROM <rows> WHERE (SELECT count(*) FROM <check>) + … = 0
// Sound because a subquery's value is needed for the first row, and its input, where it comes from other tasks, is
// complete before this stage begins. A check returns no row or fails.
//===----------------------------------------------------------------------===//

#pragma once

#include "stages/exported_operator.hpp"

#include "duckdb/planner/operator/logical_set_operation.hpp"

namespace merganser {

//! Children: the checks, then the rows.
class LogicalCheckedRows : public ExportedOperator {
public:
	//! `bindings` are those of the UNION ALL it stands for.
	explicit LogicalCheckedRows(vector<ColumnBinding> bindings);

	//! Whether the UNION ALL is one of key checks and the rows that rely on them.
	static bool IsIn(const LogicalSetOperation &set_operation);

	vector<ColumnBinding> GetColumnBindings() override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

protected:
	void ResolveTypes() override;

private:
	vector<ColumnBinding> bindings;
};

} // namespace merganser
