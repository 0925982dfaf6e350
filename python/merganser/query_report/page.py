"""The HTML page: one file, no scripts, nothing loaded from elsewhere."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from merganser.query_report import quantities
from merganser.query_report.carried_columns import deferred_columns
from merganser.query_report.comparison import Comparison
from merganser.query_report.document import Document
from merganser.query_report.hot_spots import STRONG_SKEW, HotSpots, hot_operators, hot_stages
from merganser.query_report.mermaid import as_mermaid
from merganser.query_report.plan_tree import PlanView, plan_view
from merganser.query_report.planned import Stage
from merganser.query_report.stage_graph import Edge, Graph, stage_graph
from merganser.query_report.stage_tree import MANY, stage_tree
from merganser.query_report.timeline import timeline

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class StageView:
    stage: Stage
    #: Its part of merganser.last_query(); None where it did not run.
    taken: dict[str, Any] | None
    #: Of the largest among all stages, 0 to 1.
    seconds_share: float = 0
    bytes_share: float = 0


def as_page(document: Document) -> str:
    plans = plan_views(document)
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            document=document,
            style=style(),
            deferred=[f"{relation}.{column}" for relation, column in deferred_columns(document.decisions)],
            plans=plans,
            hot=hot_spots(document, plans),
            stages=stage_views(document),
            graph=stage_graph(document) if document.stages.stages else None,
            stage_tree=stage_tree(document) if document.stages.stages else None,
            many=MANY,
            lines=timeline(document.run.stages["stages"]) if document.run and document.run.stages else [],
            mermaid=as_mermaid(document),
            strong_skew=STRONG_SKEW,
        )
    )


def as_comparison(compared: Comparison) -> str:
    return environment().get_template("comparison.html.jinja").render(compared=compared, style=style())


def style() -> Markup:
    return Markup((FOLDER / "page.css").read_text(encoding="utf-8"))


def environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=quantities.count,
        size=quantities.size,
        seconds=quantities.seconds,
        factor=quantities.factor,
        percent=quantities.percent,
    )
    environment.globals.update(amount=quantities.amount, estimate_against=quantities.estimate_against, curve=curve)
    return environment


# ---------------------------------------------------------------- plans


def plan_views(document: Document) -> list[PlanView]:
    """The plan with our rules, then the one without, or one where they changed nothing; with figures of what ran."""
    run = document.run
    has_run = run is not None and not run.is_staged
    deferred = deferred_columns(document.decisions)
    after = run.plan if has_run else document.plans.after
    if document.plans.are_equal:
        return [plan_view("Without and with Merganser", "operator", after, has_run, deferred)]
    ran_before = document.run_before is not None
    before = document.run_before.plan if ran_before else document.plans.before
    return [
        plan_view("After: with Merganser", "operator", after, has_run, deferred),
        plan_view("Before: DuckDB alone", "before", before, ran_before, deferred),
    ]


def hot_spots(document: Document, plans: list[PlanView]) -> HotSpots | None:
    """None where nothing ran, or what ran is not known in parts."""
    run = document.run
    if run is None:
        return None
    if run.stages:
        return hot_stages(run.stages["stages"])
    return None if run.is_staged or run.missing else hot_operators(run, plans[0].names)


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
