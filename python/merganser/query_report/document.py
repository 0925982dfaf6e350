"""All a report tells, as one value. Every rendering derives from it."""

import dataclasses
import json
import re
from dataclasses import dataclass
from datetime import datetime

import duckdb

import merganser
from merganser.query_report.measured import Run, measure
from merganser.query_report.planned import (
    WITHOUT_RULES,
    Decision,
    Plans,
    Stages,
    checked_query,
    decisions_of,
    plans_of,
    settings,
    stages_of,
    unprofiled,
)
from merganser.query_report.quantities import shortened
from merganser.query_report.surroundings import Surroundings, surroundings_of


@dataclass(frozen=True)
class Document:
    query: str
    #: What the page calls the query.
    title: str
    written: str
    #: The setting merganser_runner; "" for none.
    runner: str
    decisions: list[Decision]
    #: Why decisions and stages cannot be told; empty where they can.
    untold: str
    plans: Plans
    stages: Stages
    #: None where the query was only planned.
    run: Run | None
    #: A run of the plan without our rules; None unless it was asked for.
    run_before: Run | None
    surroundings: Surroundings

    @property
    def is_staged(self) -> bool:
        """Whether the query runs in stages, rather than in DuckDB alone."""
        return bool(self.runner and self.stages.stages)

    def as_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"


LONGEST_TITLE = 80


def describe(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    *,
    run: bool,
    measure_before: bool = False,
    title: str | None = None,
) -> Document:
    """Plans the query, and runs it if `run`; that comes last, so that merganser.last_query() is about it.

    `query` may have statements before the query, which are run first.
    """
    with unprofiled(connection):
        checked = checked_query(connection, query)
        query = checked.text
        decisions = [] if checked.untold else decisions_of(connection, query)
        stages = Stages([], checked.untold) if checked.untold else stages_of(connection, query)
        plans = plans_of(connection, query)
        runner = connection.execute("SELECT current_setting('merganser_runner')").fetchall()[0][0]
        surroundings = surroundings_of(connection, merganser.__version__)
        run_before = measured_before(connection, query) if run and measure_before else None
        return Document(
            query=query,
            title=title or title_of(query),
            written=datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
            runner=runner,
            decisions=decisions,
            untold=checked.untold,
            stages=stages,
            plans=plans,
            run=measure(connection, query, stages.stages) if run else None,
            run_before=run_before,
            surroundings=surroundings,
        )


def measured_before(connection: duckdb.DuckDBPyConnection, query: str) -> Run:
    with settings(connection, WITHOUT_RULES):
        return measure(connection, query, [])


def title_of(query: str) -> str:
    """The comment a query begins with, if it has one, else the query itself, as much as fits on a line."""
    comment = re.match(r"\s*(?:--\s*([^\n]*\S)|/\*\s*(.*?)\s*\*/)", query, re.DOTALL)
    text = " ".join(((comment[1] or comment[2]) if comment else "").split()) or " ".join(query.split())
    return shortened(text, LONGEST_TITLE)
