"""The HTML page: one file, no scripts, nothing loaded from elsewhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from merganser.query_report import quantities
from merganser.query_report.carried_columns import carried_in, deferred_columns
from merganser.query_report.document import Document
from merganser.query_report.mermaid import as_mermaid
from merganser.query_report.planned import Operator, Stage
from merganser.query_report.stage_graph import Edge, Graph, stage_graph

FOLDER = Path(__file__).parent
#: Skew from which a stage is marked: its longest task took this many times the median.
STRONG_SKEW = 2
FEW_COLUMNS = 3
JOIN_BACK = {"NARROW_ROWS", "JOIN_BACK_GUARD"}


@dataclass(frozen=True)
class PlanRow:
    """One operator as a line of the page. A chain of operators is a list; further inputs of one are set in."""

    operator: Operator
    depth: int
    #: "right input of Hash Join", where it is not the operator below the line above.
    place: str
    carried: list[str]
    is_ours: bool

    @property
    def carried_text(self) -> str:
        """Their names where they are read, and wherever they are few."""
        if self.operator.children and len(self.carried) > FEW_COLUMNS:
            return f"{len(self.carried)} deferred columns"
        return ", ".join(self.carried)


@dataclass(frozen=True)
class PlanView:
    title: str
    rows: list[PlanRow]
    has_run: bool

    @property
    def carrying(self) -> list[Operator]:
        return [row.operator for row in self.rows if row.carried]

    @property
    def estimated_carried_rows(self) -> int:
        return sum(operator.estimated_rows or 0 for operator in self.carrying)

    @property
    def carried_rows(self) -> int:
        return sum(operator.rows or 0 for operator in self.carrying)


@dataclass(frozen=True)
class StageView:
    stage: Stage
    #: Its part of merganser.last_query(); None where it did not run.
    taken: dict[str, Any] | None
    #: Of the largest among all stages, 0 to 1.
    seconds_share: float = 0
    bytes_share: float = 0


def as_page(document: Document) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=quantities.count, size=quantities.size, seconds=quantities.seconds, factor=quantities.factor
    )
    environment.globals.update(amount=quantities.amount, estimate_against=quantities.estimate_against, curve=curve)
    return environment.get_template("page.html.jinja").render(
        document=document,
        style=Markup((FOLDER / "page.css").read_text(encoding="utf-8")),
        deferred=[f"{relation}.{column}" for relation, column in deferred_columns(document.decisions)],
        plans=plan_views(document),
        stages=stage_views(document),
        graph=stage_graph(document) if document.stages.stages else None,
        mermaid=as_mermaid(document),
        strong_skew=STRONG_SKEW,
    )


# ---------------------------------------------------------------- plans


def plan_views(document: Document) -> list[PlanView]:
    """The plan before and after, or one where our rules changed nothing; with figures where it is the plan that ran."""
    run = document.run
    has_run = run is not None and not run.is_staged
    after = run.plan if has_run else document.plans.after
    if document.plans.are_equal:
        return [plan_view(document, "Without and with Merganser", after, has_run)]
    before = plan_view(document, "Before: DuckDB alone", document.plans.before, False)
    return [before, plan_view(document, "After: with Merganser", after, has_run)]


def plan_view(document: Document, title: str, plan: Operator, has_run: bool) -> PlanView:
    carried = carried_in(plan, deferred_columns(document.decisions))
    rows: list[PlanRow] = []

    def add(operator: Operator, depth: int, place: str) -> None:
        is_ours = operator.name in JOIN_BACK or "Grouping" in operator.details
        rows.append(PlanRow(operator, depth, place, carried.get(id(operator), []), is_ours))
        if not operator.children:
            return
        first, *others = zip(operator.children, places_of(operator), strict=True)
        for other, other_place in others:
            add(other, depth + 1, other_place)
        add(first[0], depth, first[1])

    add(plan, 0, "")
    return PlanView(title, rows, has_run)


def places_of(operator: Operator) -> list[str]:
    """What to call the inputs of an operator; an only one needs no name."""
    count = len(operator.children)
    if count == 1:
        return [""]
    names = ["left input", "right input"] if count == 2 else [f"input {number}" for number in range(1, count + 1)]
    return [f"{name} of {operator.title}" for name in names]


# ---------------------------------------------------------------- stages


def stage_views(document: Document) -> list[StageView]:
    taken = [document.run.stage(stage.number) if document.run else None for stage in document.stages.stages]
    most_seconds = max((of["task_seconds"] for of in taken if of), default=0)
    most_bytes = max((of["bytes_out"] for of in taken if of), default=0)
    return [
        StageView(
            stage,
            of,
            of["task_seconds"] / most_seconds if of and most_seconds else 0,
            of["bytes_out"] / most_bytes if of and most_bytes else 0,
        )
        for stage, of in zip(document.stages.stages, taken, strict=True)
    ]


def curve(graph: Graph, edge: Edge) -> str:
    """The path of an exchange, as SVG writes it."""
    nodes = [graph.nodes[key] for key in edge.path]
    path = ""
    for left, right in zip(nodes, nodes[1:], strict=False):
        x, y = left.x + left.width, left.y + left.height / 2
        to_x, to_y = right.x, edge.end_y if right is nodes[-1] else right.y + right.height / 2
        middle = (x + to_x) / 2
        start = f"L{x:.1f} {y:.1f}" if path else f"M{x:.1f} {y:.1f}"
        path += f"{start}C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    return path
