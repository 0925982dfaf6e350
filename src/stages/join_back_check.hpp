//===----------------------------------------------------------------------===//
//                         Merganser
//
// stages/join_back_check.hpp
//
// The guard of a join-back (late_materialization/join_back_guard.hpp) inside a stage. It stands above the LEFT join of
// all narrow rows with the rows found for them, in one task, and is exported as
//   SELECT … FROM <join> QUALIFY CASE
//     WHEN count(*) OVER () > count(DISTINCT row_number) OVER () THEN error('Key … has more than one row …')
//     WHEN count(found) OVER () < count(*) OVER () THEN error('Foreign key … found no row …')
//     ELSE true END
// Sound because a narrow row that found nothing stays in the join with NULL in the key, so that every broken promise is
// seen in the rows of one task; when all hold, the join is the inner join the plan had. Errors: the messages of the
// guard.
//===----------------------------------------------------------------------===//

#pragma once

#include "late_materialization/join_back_promise.hpp"
#include "stages/exported_operator.hpp"

namespace merganser {

class LogicalJoinBackGuard;

class LogicalJoinBackCheck : public ExportedOperator {
public:
	//! `bindings` and `types` are those of the guard it stands for; `found` is NULL in a row that found nothing.
	LogicalJoinBackCheck(const LogicalJoinBackGuard &guard, unique_ptr<Expression> found,
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
