"""What can be done about a rule that declined, by its reason code; docs/late_materialization.md tells more of each."""

REMEDIES = {
    "switched_off": "SET merganser_late_materialization = true; unset MERGANSER_LATE_MATERIALIZATION.",
    "no_bound": "Add the LIMIT you mean.",
    "no_order": "Add an ORDER BY.",
    "bound_not_constant": "Write the number of rows into the query.",
    "bound_too_large": "Raise merganser_late_materialization_max_rows.",
    "unsupported_operator": "Aggregate and limit in a subquery, the rest around it.",
    "grouping_sets": "Ask for the subtotals in another query.",
    "volatile_expression": "Compute it outside the report.",
    "nullable_key": "Make the key's columns NOT NULL, or declare a PRIMARY KEY.",
    "outer_joined_column": "Use an inner join if each row has a partner.",
    "inexact_key": "Use a key of another type.",
    "no_determined_column": "Declare the key: ALTER TABLE t ADD PRIMARY KEY (...) NOT ENFORCED RELY.",
    "order_needs_column": "Sort by aggregates or the key.",
    "chain_too_long": "Raise merganser_late_materialization_max_chain.",
    "not_worth_it": "Nothing; to try anyway, SET merganser_late_materialization_cost = false.",
}


def remedy(reason: str) -> str:
    """Empty where nothing can or need be done."""
    return REMEDIES.get(reason, "")
