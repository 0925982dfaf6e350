"""Which task ran when, and on which worker: a line for each worker, a bar for each task.

Gaps are time a worker had nothing to do: it waited for a longer task, or there were fewer tasks than workers.
"""

from dataclasses import dataclass
from typing import Any

from merganser.query_report.quantities import percent, seconds

#: Bars narrower than this share of the whole cannot be seen, and are drawn this wide.
NARROWEST = 0.001


@dataclass(frozen=True)
class Bar:
    stage: int
    #: Of the whole time, from 0 to 1.
    start: float
    width: float
    text: str


@dataclass(frozen=True)
class Line:
    worker: str
    bars: list[Bar]
    #: Share of the whole time in which it ran a task.
    busy: str


def timeline(stages: list[dict[str, Any]]) -> list[Line]:
    """`stages` are those of merganser.last_query(); workers in the order of their first task."""
    tasks = [(task, of["stage"]) for of in stages for task in of["timeline"]]
    whole = max((task["started"] + task["seconds"] for task, _ in tasks), default=0)
    if whole <= 0:
        return []
    lines: dict[str, list[Bar]] = {}
    took: dict[str, float] = {}
    for task, stage in sorted(tasks, key=lambda of: of[0]["started"]):
        text = f"stage {stage}, {seconds(task['seconds'])} from {seconds(task['started'])}"
        bar = Bar(stage, task["started"] / whole, max(task["seconds"] / whole, NARROWEST), text)
        lines.setdefault(task["worker"], []).append(bar)
        took[task["worker"]] = took.get(task["worker"], 0) + task["seconds"]
    return [Line(worker, bars, percent(min(took[worker] / whole, 1))) for worker, bars in lines.items()]
