#include "late_materialization/decline_reason.hpp"

namespace merganser {

namespace {

const DeclineText TEXTS[] = {
    {DeclineReason::SWITCHED_OFF, "switched_off", "late materialization is switched off",
	 "SET merganser_late_materialization = true; unset MERGANSER_LATE_MATERIALIZATION"},
    {DeclineReason::NO_BOUND, "no_bound",
	 "there is no LIMIT above the aggregate, and fetching for every group is not expected to pay",
	 "add the LIMIT you mean"},
    {DeclineReason::NO_ORDER, "no_order",
	 "the LIMIT has no ORDER BY, and fetching for every group is not expected to pay",
	 "add an ORDER BY, which a top-N report has"},
    {DeclineReason::BOUND_NOT_CONSTANT, "bound_not_constant",
	 "LIMIT or OFFSET is not a constant number of rows, and fetching for every group is not expected to pay",
	 "write the number"},
    {DeclineReason::BOUND_TOO_LARGE, "bound_too_large",
	 "LIMIT + OFFSET is above merganser_late_materialization_max_rows, and fetching for every group is not expected to "
	 "pay",
	 "raise merganser_late_materialization_max_rows"},
    {DeclineReason::BOUND_IS_ZERO, "bound_is_zero", "LIMIT 0 returns nothing", "nothing"},
    {DeclineReason::UNSUPPORTED_OPERATOR, "unsupported_operator",
	 "another operator stands between the aggregate and its LIMIT, and fetching for every group is not expected to "
	 "pay",
	 "aggregate and limit in a subquery, the rest around it"},
    {DeclineReason::GROUPING_SETS, "grouping_sets", "subtotals of grouping sets make determined columns NULL",
	 "ask for the subtotals in another query"},
    {DeclineReason::RECURSIVE_CTE, "recursive_cte", "the aggregate stands in the part of a CTE that runs repeatedly",
	 "report on the finished CTE, outside of it"},
    {DeclineReason::CHANGED_TABLE, "changed_table", "the statement changes a table that the join-back would read",
	 "keep the report in a temporary table, and change the table from that"},
    {DeclineReason::VOLATILE_EXPRESSION, "volatile_expression",
	 "a volatile expression would be evaluated another number of times", "compute it outside the report"},
    {DeclineReason::NULLABLE_KEY, "nullable_key", "the only matching key is UNIQUE over columns that may be NULL",
	 "make the columns NOT NULL, or declare a PRIMARY KEY"},
    {DeclineReason::OUTER_JOINED_COLUMN, "outer_joined_column",
	 "the group columns come from the NULL-supplied side of an outer join, whose key is not among them",
	 "group by the key of the table on that side, or use an inner join if each row has a partner"},
    {DeclineReason::INEXACT_KEY, "inexact_key", "equal values of the key's type need not be identical",
	 "use a key of another type"},
    {DeclineReason::NO_DETERMINED_COLUMN, "no_determined_column", "no group column is determined by the others",
	 "declare the key: ALTER TABLE t ADD PRIMARY KEY (...) NOT ENFORCED RELY"},
    {DeclineReason::ORDER_NEEDS_COLUMN, "order_needs_column",
	 "ORDER BY or HAVING needs every column that could have been deferred", "sort by aggregates or the key"},
    {DeclineReason::CHAIN_TOO_LONG, "chain_too_long",
	 "the join-back would fetch from more tables than merganser_late_materialization_max_chain",
	 "raise merganser_late_materialization_max_chain"},
    {DeclineReason::NOT_WORTH_IT, "not_worth_it", "the join-back is estimated to cost more than it saves",
	 "nothing; to try anyway, SET merganser_late_materialization_cost = false"},
    {DeclineReason::PROOF_NOT_WORTH_IT, "proof_not_worth_it",
	 "a key would have to be proved first, which is estimated to cost too much of what is saved", "declare the key"},
    {DeclineReason::PROOF_NOT_TAKEN, "proof_not_taken",
	 "a key has to be proved first, which is left to the run of the statement", "run it, or declare the key"},
};

const DeclineText &TextOf(DeclineReason reason) {
	for (auto &text : TEXTS) {
		if (text.reason == reason) {
			return text;
		}
	}
	throw InternalException("Decline reason without text");
}

} // namespace

vector<DeclineText> DeclineReasons::All() {
	return vector<DeclineText>(std::begin(TEXTS), std::end(TEXTS));
}

const char *DeclineReasons::Code(DeclineReason reason) {
	return TextOf(reason).code;
}

const char *DeclineReasons::Sentence(DeclineReason reason) {
	return TextOf(reason).sentence;
}

const char *DeclineReasons::Remedy(DeclineReason reason) {
	return TextOf(reason).remedy;
}

} // namespace merganser
