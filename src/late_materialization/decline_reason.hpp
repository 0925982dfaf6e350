//===----------------------------------------------------------------------===//
//                         Merganser
//
// late_materialization/decline_reason.hpp
//
// Why late materialisation left a query alone, and what whoever wrote it can do. One table (decline_reason.cpp) has the
// code, the sentence and the remedy of every reason: merganser_explain prints them, merganser_decline_reasons() lists
// them, and a test compares the documentation with it. The codes are stable: programs and tests match on them.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

namespace merganser {

enum class DeclineReason : uint8_t {
	SWITCHED_OFF,         //! by setting or environment
	NO_BOUND,             //! no LIMIT above the aggregate, and fetching for every group does not pay
	NO_ORDER,             //! LIMIT without ORDER BY, and the same
	BOUND_NOT_CONSTANT,   //! LIMIT or OFFSET is an expression or a percentage, and the same
	BOUND_TOO_LARGE,      //! LIMIT + OFFSET above merganser_late_materialization_max_rows, and the same
	BOUND_IS_ZERO,        //! LIMIT 0: DuckDB folds it away
	UNSUPPORTED_OPERATOR, //! something else stands between the aggregate and its LIMIT, and the same
	GROUPING_SETS,        //! ROLLUP, CUBE, GROUPING SETS: a determined column is NULL on its own in subtotals
	RECURSIVE_CTE,        //! DuckDB runs parts of the plan again, so rows of several rounds would meet in one guard
	CHANGED_TABLE,        //! the statement changes a table that the join-back would read at the same time
	VOLATILE_EXPRESSION,  //! would be evaluated another number of times
	NULLABLE_KEY,         //! the only key that could have served is UNIQUE over columns that may be NULL
	OUTER_JOINED_COLUMN,  //! the columns come from the NULL-supplied side of an outer join
	INEXACT_KEY,          //! equality of the key's type is not identity (FLOAT, collation, ...)
	NO_DETERMINED_COLUMN, //! no group column follows from the others
	ORDER_NEEDS_COLUMN,   //! every determined column is needed by ORDER BY or HAVING
	CHAIN_TOO_LONG,       //! the join-back would fetch from more tables than merganser_late_materialization_max_chain
	NOT_WORTH_IT,         //! estimated to cost more than it saves
	PROOF_NOT_WORTH_IT,   //! a key would have to be proved, and that is estimated to cost too much of what is saved
	PROOF_NOT_TAKEN       //! a key would have to be proved, and the statement is only shown or prepared
};

//! A row of the table.
struct DeclineText {
	DeclineReason reason;
	const char *code;
	const char *sentence;
	const char *remedy;
};

struct DeclineReasons {
	//! All reasons, in the order of the enum.
	static vector<DeclineText> All();
	//! "no_bound", "bound_too_large", ...
	static const char *Code(DeclineReason reason);
	//! One sentence saying what about the query made the rule decline.
	static const char *Sentence(DeclineReason reason);
	//! What makes the rule look further, or "nothing" where it is right to leave the query alone.
	static const char *Remedy(DeclineReason reason);
};

} // namespace merganser
