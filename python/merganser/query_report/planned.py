"""What was planned for a query: decisions, the plans without and with our rules, the stages."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb

# A statement planned with these is planned for one DuckDB, and EXPLAIN returns the plan that would be run.
ONE_NODE = {"merganser_runner": "", "explain_output": "physical_only"}
WITHOUT_RULES = {**ONE_NODE, "merganser_late_materialization": "false"}


@dataclass(frozen=True)
class Decision:
    rule: str
    #: "applied", or a code that docs/late_materialization.md explains.
    reason: str
    explanation: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    time: str = ""
    #: What would have it decided otherwise; empty if there is nothing to say.
    remedy: str = ""

    @property
    def kind(self) -> str:
        """Whether the rule changed the plan, left it alone, or only chose how something runs."""
        if self.rule == "grouping":
            return "chosen"
        return "applied" if self.reason == "applied" else "declined"


@dataclass(frozen=True)
class Operator:
    """One operator of a physical plan. `rows`, `bytes` and `seconds` are None unless it ran."""

    name: str
    details: dict[str, list[str]]
    children: "list[Operator]" = field(default_factory=list)
    estimated_rows: int | None = None
    rows: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    #: Rows a scan read, before its filters.
    scanned_rows: int | None = None

    @property
    def title(self) -> str:
        return self.name.strip().replace("_", " ").title()

    @property
    def is_scan(self) -> bool:
        return not self.children and ("Table" in self.details or self.name.endswith(("SCAN", "READ_CSV", "READ_JSON")))

    @property
    def rows_in(self) -> int | None:
        """What it read: rows of its inputs or, of a scan, those before its filters."""
        if self.scanned_rows is not None or not self.children:
            return self.scanned_rows
        return sum(child.rows or 0 for child in self.children)

    def all(self) -> "Iterator[Operator]":
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Stage:
    number: int
    partitioning: str
    #: As merganser_stages says it: "8 files in slices, stage 1, all of stage 2".
    reads: str
    tasks: int
    sql: str
    reason: str


@dataclass(frozen=True)
class Plans:
    before: Operator
    after: Operator

    @property
    def are_equal(self) -> bool:
        return self.before == self.after


@dataclass(frozen=True)
class Stages:
    #: Empty where the query stays on one node.
    stages: list[Stage]
    #: Why it stays there.
    reason: str = ""


@dataclass(frozen=True)
class Query:
    text: str
    #: Why decisions and stages cannot be told; empty where they can.
    untold: str = ""


def checked_query(connection: duckdb.DuckDBPyConnection, text: str) -> Query:
    """The last statement of `text`, which must be a query; those before it have run."""
    loaded = connection.execute(
        "SELECT count(*) > 0 FROM duckdb_functions() WHERE function_name = 'merganser_explain'"
    ).fetchall()
    if not loaded[0][0]:
        raise ValueError("the connection has no Merganser; open it with merganser.connect()")
    statements = connection.extract_statements(text)
    if not statements:
        raise ValueError("a report is about a query, and the text has no statement")
    *before, statement = statements
    if statement.type not in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI):
        raise ValueError(
            f"a report is about a query (SELECT, FROM, VALUES, WITH), not about {statement.type.name}; pass the query "
            "it reads from"
        )
    if statement.named_parameters:
        names = ", ".join(f"${name}" for name in sorted(statement.named_parameters))
        raise ValueError(f"the query has parameters ({names}); write their values into its text")
    for earlier in before:
        connection.execute(earlier).fetchall()
    query = text_alone(statement)
    return Query(query, SEVERAL if statement.type == duckdb.StatementType.MULTI else "")


SEVERAL = (
    "This PIVOT becomes several statements, as it first reads the values it makes columns of; decisions and stages are "
    "told of one statement. List the values to see them: PIVOT ... ON c IN (a, b)."
)


def text_alone(statement: duckdb.Statement) -> str:
    """Its text without what ends it, so that it can stand inside another."""
    return statement.query.strip().removesuffix(";").rstrip()


def decisions_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[Decision]:
    decisions: list[Decision] = []
    facts: list[tuple[str, str]] = []
    remedy = ""
    for section, item, text in connection.execute(
        "SELECT section, item, text FROM merganser_explain(?)", [query]
    ).fetchall():
        if section == "decision":
            reason, _, explanation = text.partition(": ")
            facts, remedy = [], ""
            decisions.append(Decision(item, reason, explanation, facts))
        elif section == "remedy":
            remedy = text
        elif section == "fact":
            facts.append((item, text))
        elif section == "timing":
            decision = decisions.pop()
            decisions.append(Decision(decision.rule, decision.reason, decision.explanation, facts, text, remedy))
    return decisions


def plans_of(connection: duckdb.DuckDBPyConnection, query: str) -> Plans:
    with settings(connection, WITHOUT_RULES):
        before = explained(connection, query)
    with settings(connection, ONE_NODE):
        return Plans(before, explained(connection, query))


def explained(connection: duckdb.DuckDBPyConnection, query: str) -> Operator:
    ((_, text),) = connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()
    return operator_of(json.loads(text)[0])


def operator_of(node: dict) -> Operator:
    """`node` is of EXPLAIN (FORMAT JSON), or of EXPLAIN (ANALYZE, FORMAT JSON), which has figures too."""
    details = {
        name: [str(part) for part in value] if isinstance(value, list) else [str(value)]
        for name, value in node["extra_info"].items()
    }
    estimate = details.pop("Estimated Cardinality", None)
    children = [operator_of(child) for child in node.get("children", [])]
    rows = node.get("intermediate_rows")
    if node["name"] == "UNION" and rows == 0:  # DuckDB counts none where it hands through
        rows = sum(child.rows or 0 for child in children)
    return Operator(
        name=node["name"],
        details=details,
        children=children,
        estimated_rows=int(estimate[0]) if estimate else None,
        rows=rows,
        bytes=node.get("intermediate_size_bytes"),
        seconds=node.get("timing"),
        scanned_rows=node.get("rows_scanned"),
    )


def stages_of(connection: duckdb.DuckDBPyConnection, query: str) -> Stages:
    rows = connection.execute(
        "SELECT stage, partitioning, inputs, tasks, sql, reason FROM merganser_stages(?)", [query]
    ).fetchall()
    stages = [Stage(*row) for row in rows]
    if len(stages) == 1 and stages[0].sql == query:
        return Stages([], stages[0].reason)
    return Stages(stages)


@contextmanager
def settings(connection: duckdb.DuckDBPyConnection, wanted: dict[str, str]) -> Iterator[None]:
    """Settings of the connection for a moment; afterwards each is what it was, where it was set."""
    query = "SELECT name, value, scope FROM duckdb_settings() WHERE name IN (SELECT unnest(?))"
    before = connection.execute(query, [list(wanted)]).fetchall()
    try:
        for name, value in wanted.items():
            connection.execute(f"SET SESSION {name} = {as_literal(value)}")
        yield
    finally:
        for name, value, scope in before:
            connection.execute(
                f"SET SESSION {name} = {as_literal(value)}" if scope == "LOCAL" else f"RESET SESSION {name}"
            )


@contextmanager
def unprofiled(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Profiling the user has switched on sees nothing of what happens meanwhile, and is on again afterwards."""
    before = profiling(connection)
    connection.execute("PRAGMA disable_profiling")
    try:
        yield
    finally:
        if before is not None:
            connection.execute(f"SET enable_profiling = {as_literal(before)}")


def profiling(connection: duckdb.DuckDBPyConnection) -> str | None:
    """The setting enable_profiling; None where it is off.

    A SELECT of it would itself be profiled, and take the place of what the user wants to see. EXPLAIN is not, and the
    plan has the setting as a constant.
    """
    query = "EXPLAIN (FORMAT JSON) SELECT range || current_setting('enable_profiling') FROM range(1)"
    plans = connection.execute(query).fetchall()
    values = [re.search(r"\|\| '(\w+)'", plan) for _, plan in plans]
    return next((value[1] for value in values if value), None)


def as_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


SENT_ROWS = re.compile(r"\bmerganser_(?:all_of_)?sent_(\d+)\b")
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


def sent_inputs(stage: Stage) -> list[int]:
    """Numbers, from 1, of what the session sends to the stage."""
    return sorted({int(number) for number in SENT_ROWS.findall(QUOTED.sub("", stage.sql))})
