"""All a report tells, as one value. Every rendering derives from it."""

import dataclasses
import json
from dataclasses import dataclass
from datetime import datetime

import duckdb

import merganser
from merganser.query_report.measured import Run, measure
from merganser.query_report.planned import (
    Decision,
    Plans,
    Stages,
    checked_query,
    decisions_of,
    plans_of,
    stages_of,
)
from merganser.query_report.surroundings import Surroundings, surroundings_of


@dataclass(frozen=True)
class Document:
    query: str
    written: str
    #: The setting merganser_runner; "" for none.
    runner: str
    decisions: list[Decision]
    plans: Plans
    stages: Stages
    #: None where the query was only planned.
    run: Run | None
    surroundings: Surroundings

    @property
    def is_staged(self) -> bool:
        """Whether the query runs in stages, rather than in DuckDB alone."""
        return bool(self.runner and self.stages.stages)

    def as_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"


def describe(connection: duckdb.DuckDBPyConnection, query: str, *, run: bool) -> Document:
    """Plans the query, and runs it once if `run`; that comes last, so that merganser.last_query() is about it."""
    query = checked_query(connection, query)
    decisions = decisions_of(connection, query)
    stages = stages_of(connection, query)
    plans = plans_of(connection, query)
    runner = connection.execute("SELECT current_setting('merganser_runner')").fetchall()[0][0]
    surroundings = surroundings_of(connection, merganser.__version__)
    return Document(
        query=query,
        written=datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        runner=runner,
        decisions=decisions,
        stages=stages,
        plans=plans,
        run=measure(connection, query, stages.stages) if run else None,
        surroundings=surroundings,
    )
