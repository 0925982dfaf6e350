"""Two runs of a query side by side, from their reports as JSON: what became faster or slower, and what differs.

Operators are matched from the top down by what they are and what they are about; those of one plan alone are shown
beside nothing.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from merganser.query_report import quantities
from merganser.query_report.operator_names import named_details, subject
from merganser.query_report.planned import Operator

#: Below this factor, times of two runs count as the same.
NOTICEABLE = 1.2


@dataclass(frozen=True)
class Figure:
    name: str
    first: str
    second: str
    #: "2.1x more", "as before"; empty where the two cannot be compared.
    change: str
    #: "better", "worse", or "" for about the same.
    kind: str = ""


@dataclass(frozen=True)
class Comparison:
    first: dict[str, Any]
    second: dict[str, Any]
    figures: list[Figure]
    #: What took time: operators, or stages where the query ran in stages.
    parts: list[Figure]
    decisions: list[Figure]
    settings: list[Figure]

    @property
    def same_query(self) -> bool:
        return self.first["query"].split() == self.second["query"].split()

    @property
    def queries(self) -> list[dict[str, Any]]:
        """The reports whose query is shown: one, where both have the same."""
        return [self.second] if self.same_query else [self.first, self.second]


def read_report(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no report as JSON: {error}") from error
    if not isinstance(document, dict) or not {"query", "run", "decisions", "surroundings"} <= set(document):
        raise ValueError(f"{path} is no report as JSON; make one with merganser.report(connection, query, 'a.json')")
    if document["run"] is None:
        raise ValueError(f"{path} is a report of a query that was only planned; there is nothing to compare")
    return document


def compare(first: dict[str, Any], second: dict[str, Any]) -> Comparison:
    return Comparison(
        first=first,
        second=second,
        figures=list(figures_of_runs(first["run"], second["run"])),
        parts=list(parts_of_runs(first["run"], second["run"])),
        decisions=differences(decisions_by_name(first), decisions_by_name(second)),
        settings=differences(settings_by_name(first), settings_by_name(second)),
    )


def figures_of_runs(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Figure]:
    for name, key in (("time", "wall_seconds"), ("CPU time", "cpu_seconds"), ("planning", "planning_seconds")):
        yield timed(name, first[key], second[key])
    for name, key in (("peak memory", "peak_memory_bytes"), ("spilled", "spilled_bytes")):
        yield measured(name, first[key], second[key], quantities.size)
    rows = [quantities.count(run["rows"]) for run in (first, second)]
    same = rows[0] == rows[1]
    yield Figure("rows", *rows, "" if same else "not the same result", "" if same else "worse")


def timed(name: str, first: float | None, second: float | None, noticeable: float = 0.0) -> Figure:
    return measured(name, first, second, quantities.seconds, noticeable)


def measured(name: str, first: float | None, second: float | None, unit, noticeable: float = 0.0) -> Figure:
    """`noticeable` is the difference below which a change is none, whatever its factor."""
    texts = ["" if value is None else unit(value) for value in (first, second)]
    if first is None or second is None:
        return Figure(name, *texts, "only in the second" if first is None else "only in the first")
    more, less = max(first, second), min(first, second)
    if more == less or more - less <= noticeable or (less and more / less < NOTICEABLE):
        return Figure(name, *texts, "about the same")
    factor = quantities.factor(more / less) if less else ""
    direction, kind = ("less", "better") if second < first else ("more", "worse")
    return Figure(name, *texts, f"{factor} {direction}".strip(), kind)


def parts_of_runs(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Figure]:
    """In the order of the second run's plan; the smallest of a hundredth of the time are no change."""
    lists = [parts(first), parts(second)]
    noticeable = 0.01 * max(sum(seconds for _, seconds in part) for part in lists)
    names = [[name for name, _ in part] for part in lists]
    for kind, a, b, c, d in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if kind == "equal":
            for (name, one), (_, other) in zip(lists[0][a:b], lists[1][c:d], strict=True):
                yield timed(name, one, other, noticeable)
            continue
        for name, one in lists[0][a:b]:
            yield timed(name, one, None)
        for name, other in lists[1][c:d]:
            yield timed(name, None, other)


def parts(run: dict[str, Any]) -> list[tuple[str, float]]:
    if run["stages"]:
        return [
            (f"Stage of {of['reads'] or 'nothing'}, {of['partitioning']}", of["task_seconds"])
            for of in run["stages"]["stages"]
        ]
    plan = operator(run["plan"])
    details = named_details(plan)
    return [(f"{of.title} {subject(of, details[id(of)])}".rstrip(), of.seconds or 0.0) for of in plan.all()]


def operator(node: dict[str, Any]) -> Operator:
    return Operator(**{**node, "children": [operator(child) for child in node["children"]]})


def decisions_by_name(document: dict[str, Any]) -> dict[str, str]:
    return {f"{of['rule']} {number}": of["reason"] for number, of in enumerate(document["decisions"], 1)}


def settings_by_name(document: dict[str, Any]) -> dict[str, str]:
    surroundings = document["surroundings"]
    settings = {name: value for name, value, _ in surroundings["settings"]}
    return {**surroundings["versions"], **surroundings["machine"], **surroundings["variables"], **settings}


def differences(first: dict[str, str], second: dict[str, str]) -> list[Figure]:
    names = dict.fromkeys([*first, *second])
    return [
        Figure(name, first.get(name, "not set"), second.get(name, "not set"), "")
        for name in names
        if first.get(name) != second.get(name)
    ]
