"""Stages as a tree in one column, from the last to those that read files: for telephones, and for many stages.

A stage that several others read stands below the one of them that comes first; the others name it.
"""

from dataclasses import dataclass, field
from typing import Any

from merganser.query_report.document import Document
from merganser.query_report.planned import Stage
from merganser.query_report.quantities import amount, size
from merganser.query_report.stage_graph import EXCHANGE, stage_lines, taken_by

#: From so many stages on, they are not drawn side by side.
MANY = 30


@dataclass(frozen=True)
class StageBox:
    number: int
    lines: list[str]
    #: Of the time of all tasks; None unless it ran.
    share: float | None


@dataclass(frozen=True)
class StageBranch:
    #: From the last stage down; each reads the next.
    chain: list[StageBox]
    #: What the last of the chain reads, where that is more than one stage.
    inputs: "list[StageBranch]" = field(default_factory=list)
    is_deepest: bool = True

    def all(self) -> list[StageBox]:
        return [*self.chain, *(box for branch in self.inputs for box in branch.all())]


def stage_tree(document: Document) -> StageBranch:
    stages = {stage.number: stage for stage in document.stages.stages}
    depths = depths_of(document.stages.stages)
    total = sum(of["task_seconds"] for of in document.run.stages["stages"]) if has_run(document) else 0
    shown: set[int] = set()

    def branch(number: int) -> StageBranch:
        chain = [number]
        while len(below := unseen(stages[chain[-1]], shown)) == 1:
            chain += below
        deepest = max(below, key=lambda of: depths[of], default=0)
        inputs = [(of == deepest, branch(of)) for of in below]
        return StageBranch(
            [box(document, stages[of], total) for of in chain],
            [StageBranch(of.chain, of.inputs, is_deepest) for is_deepest, of in inputs],
        )

    return branch(document.stages.stages[-1].number)


def unseen(stage: Stage, shown: set[int]) -> list[int]:
    """The stages it reads that no other stands above; they are from now on."""
    found = [number for number in read_by(stage) if number not in shown]
    shown.update(found)
    return found


def read_by(stage: Stage) -> list[int]:
    parts = stage.reads.split(", ") if stage.reads else []
    return list(dict.fromkeys(int(match[2]) for match in map(EXCHANGE.match, parts) if match))


def depths_of(stages: list[Stage]) -> dict[int, int]:
    """Stages are numbered in the order they can run, so that each reads smaller ones."""
    depths: dict[int, int] = {}
    for stage in sorted(stages, key=lambda stage: stage.number):
        depths[stage.number] = 1 + max((depths[below] for below in read_by(stage)), default=0)
    return depths


def has_run(document: Document) -> bool:
    return document.run is not None and document.run.stages is not None


def box(document: Document, stage: Stage, total: float) -> StageBox:
    taken: dict[str, Any] | None = taken_by(document, stage.number)
    lines = [" · ".join(stage_lines(stage, taken))]
    if stage.reads:
        lines.append(f"reads {stage.reads}")
    if taken and taken["tasks"]:
        lines.append(f"writes {amount(taken['rows_out'], 'row')}, {size(taken['bytes_out'])}")
    return StageBox(stage.number, lines, taken["task_seconds"] / total if taken and total else None)
