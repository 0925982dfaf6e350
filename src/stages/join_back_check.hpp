//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/join_back_check.hpp
//
// The guard of a join-back (late_materialization/join_back_guard.hpp) inside a stage. It stands above the LEFT join of
// the narrow rows of a task with the rows found for them, and is exported as
//   SELECT … FROM <join> QUALIFY CASE
//     WHEN found IS NULL THEN error('Foreign key … found no row …')
//     WHEN count(*) OVER () > max(row_number) OVER () + 1 THEN error('Key … has more than one row …')
//     ELSE true END
// with `AND sought IS NOT NULL` in the first condition, or without it, where a row may find nothing (FoundRows).
// Sound because a narrow row that found nothing stays in the join with NULL in the key, and because the rows of a task
// are numbered 0, 1, ... in that task: with none lost, more rows than numbers are rows met twice. Errors: the messages
// of the guard.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/join_back_promise.hpp"
#include "stages/exported_operator.hpp"

namespace merganser {

class LogicalJoinBackGuard;

class LogicalJoinBackCheck : public ExportedOperator {
public:
	//! `bindings` and `types` are those of the guard it stands for; `found` is NULL in a row that found nothing for
	//! `sought`.
	LogicalJoinBackCheck(const LogicalJoinBackGuard &guard, unique_ptr<Expression> found, unique_ptr<Expression> sought,
	                     vector<ColumnBinding> bindings, vector<LogicalType> types);

	vector<ColumnBinding> GetColumnBindings() override;
	LogicalPlanSQLExportResult ToSQL(LogicalPlanSQLExportContext &context,
	                                 const LogicalPlanVerificationPath &path) override;

protected:
	void ResolveTypes() override;

private:
	vector<ColumnBinding> bindings;
	vector<LogicalType> guard_types;
	JoinBackPromise promise;
};

} // namespace merganser
