"""Where deferred columns are carried in a plan: from the scan that reads them up to the top.

Plans name columns where they are scanned and by position above, so a column is followed upwards from its scan. A scan
is one of a deferred column where it reads a column of that name, of the same relation where the plan names relations.
Scans of a narrow plan read such a column for a filter or a join at most and hand it no further.
"""

import re

from merganser.query_report.planned import Decision, Operator

DEPENDENCY = re.compile(r"^\(.*?\)-->\((.*)\)$", re.DOTALL)


def deferred_columns(decisions: list[Decision]) -> list[tuple[str, str]]:
    """Relation and column of what late materialisation fetches for the rows shown.

    Without columns that only lead from one table to the key of the next.
    """
    facts = [
        fact
        for decision in decisions
        if decision.rule == "late_materialization" and decision.kind == "applied"
        for fact in decision.facts
    ]
    links = {text.partition(" = ")[0] for item, text in facts if item == "equal"}
    dependencies = [match for item, text in facts if item == "fd" and (match := DEPENDENCY.match(text))]
    names = [name for match in dependencies for name in match[1].split(", ") if name not in links]
    return [(name.partition(".")[0], name.partition(".")[2]) for name in dict.fromkeys(names)]


def carried_in(plan: Operator, deferred: list[tuple[str, str]]) -> dict[int, list[str]]:
    """The columns each operator hands upwards, by id() of the operator; operators that carry none are left out."""
    tables = {table_of(operator) for operator in plan.all() if not operator.children}
    result: dict[int, list[str]] = {}

    def visit(operator: Operator, narrow: bool) -> list[str]:
        if operator.name in ("NARROW_ROWS", "JOIN_BACK_GUARD"):
            narrow = operator.name == "NARROW_ROWS"
        columns = [column for child in operator.children for column in visit(child, narrow)]
        if not operator.children and not narrow:
            read = operator.details.get("Projections", [])
            table = table_of(operator)
            columns = [c for relation, c in deferred if c in read and (relation not in tables or relation == table)]
        if columns:
            result[id(operator)] = list(dict.fromkeys(columns))
        return columns

    visit(plan, narrow=False)
    return result


def table_of(operator: Operator) -> str:
    """Without database and schema; empty where it reads none."""
    return operator.details.get("Table", [""])[0].rpartition(".")[2]
