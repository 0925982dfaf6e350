"""What running a query took: DuckDB's own profile, and where it ran in stages what each stage took."""

import json
import time
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from merganser.connection import last_query
from merganser.query_report.planned import Operator, Stage, explained, operator_of


@dataclass(frozen=True)
class Run:
    wall_seconds: float
    rows: int
    #: Of the process that has the connection, without tasks.
    cpu_seconds: float
    peak_memory_bytes: int
    spilled_bytes: int
    #: Parsing aside: binding, optimising, and making the physical plan.
    planning_seconds: float
    #: The plan that ran, with the figures of each operator.
    plan: Operator
    #: merganser.last_query(); None where the query ran on one node.
    stages: dict[str, Any] | None = None
    #: Why figures of stages or operators are missing.
    missing: str = ""

    @property
    def sent(self) -> list[Operator]:
        """For each relation the session sent to stages: the plan that read it."""
        return [operator.children[0] for operator in self.plan.children] if self.is_staged else []

    @property
    def is_staged(self) -> bool:
        return self.plan.name == "STAGED_QUERY"

    def stage(self, number: int) -> dict[str, Any] | None:
        return self.stages["stages"][number - 1] if self.stages else None


def measure(connection: duckdb.DuckDBPyConnection, query: str, stages: list[Stage]) -> Run:
    ((_, text),) = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchall()
    profile = json.loads(text)
    if "operator" not in profile:
        return answered_while_planning(connection, query)
    plan = operator_of(explained_operator(profile["operator"][0]))
    taken, missing = stages_taken(plan, stages)
    return Run(
        wall_seconds=profile["query"]["total_time"],
        rows=plan.rows or 0,
        cpu_seconds=profile["query"]["cpu_time"],
        peak_memory_bytes=profile["system"]["peak_buffer_memory"],
        spilled_bytes=profile["system"]["total_bytes_spilled"],
        planning_seconds=sum(profile[part]["total_time"] for part in ("planner", "optimizer", "physical_planner")),
        plan=plan,
        stages=taken,
        missing=missing,
    )


def answered_while_planning(connection: duckdb.DuckDBPyConnection, query: str) -> Run:
    """Of a query such as SELECT count(*) FROM t, whose rows stand in its plan, DuckDB profiles nothing."""
    plan = explained(connection, query)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = len(connection.execute(query).fetchall())
    return Run(
        wall_seconds=time.perf_counter() - wall,
        rows=rows,
        cpu_seconds=time.process_time() - cpu,
        peak_memory_bytes=0,
        spilled_bytes=0,
        planning_seconds=0,
        plan=replace(plan, rows=rows),
        missing="DuckDB answered the query while it planned it, so that no operator ran.",
    )


def explained_operator(node: dict) -> dict:
    """The root of the query below the operators that stand for EXPLAIN itself."""
    while node["name"] in ("RESULT_COLLECTOR", "EXPLAIN_ANALYZE"):
        node = node["children"][0]
    return node


def stages_taken(plan: Operator, stages: list[Stage]) -> tuple[dict[str, Any] | None, str]:
    """last_query() is that of the process, so it counts only where it is about these stages."""
    if plan.name != "STAGED_QUERY":
        return None, ""
    taken = last_query()
    told = [(stage["stage"], stage["partitioning"], stage["reads"]) for stage in taken["stages"]] if taken else []
    if told == [(stage.number, stage.partitioning, stage.reads) for stage in stages]:
        return taken, ""
    return None, (
        "What each stage took is not known: the last report of this process is about other stages. Another query ended "
        "at the same time, or this one was planned otherwise when it ran."
    )
