"""What merganser.last_query() tells of a query on Ray; the fields are those of src/runners/run_report.hpp."""

import statistics
from typing import Any


def report_of(states: list, started: float, wall_seconds: float, left_out: list[str]) -> dict[str, Any]:
    """`started` is when the query began, by time.monotonic()."""
    by_number = {state.stage.number: state for state in states}
    return {
        "runner": "ray",
        "wall_seconds": round(wall_seconds, 6),
        "stages": [stage_report(state, by_number, started) for state in states],
        "left_out": left_out,
    }


def stage_report(state, by_number: dict, started: float) -> dict[str, Any]:
    stage = state.stage
    done = [task for task in state.tasks if task.accepted]
    seconds = [task.outcome.seconds for task in done]
    scanned = state.decision.scanned_rows if state.decision else 0
    slowest = max(done, key=lambda task: task.outcome.seconds, default=None)
    return {
        "stage": stage.number,
        "partitioning": stage.partitioning,
        "reads": stage.reads,
        "tasks": len(state.tasks),
        "task_seconds": round(sum(seconds), 6),
        "wall_seconds": round(max(state.ended - state.started, 0), 6),
        "rows_in": scanned + read_from_stages(state, by_number, "rows"),
        "rows_out": written(state, "rows"),
        "bytes_in": read_from_stages(state, by_number, "bytes"),
        "bytes_out": written(state, "bytes"),
        "estimated_rows": stage.estimated_rows,
        "retries": state.retries,
        "skew": skew_of(seconds),
        "spilled_bytes": max((task.outcome.spilled for task in done), default=0),
        "slowest_worker": slowest.host if slowest else "",
        "decisions": state.decision.reasons if state.decision else [],
        "timeline": [
            {
                "worker": task.host,
                "started": round(max(task.ended - task.outcome.seconds - started, 0), 6),
                "seconds": round(task.outcome.seconds, 6),
            }
            for task in done
        ],
    }


def written(state, what: str) -> int:
    return sum(getattr(task.outcome, what) for task in state.tasks)


def read_from_stages(state, by_number: dict, what: str) -> int:
    sources = [source for source in state.inputs if source.stage is not None]
    readers = {True: len(state.tasks), False: 1}
    return sum(written(by_number[source.stage], what) * readers[source.all] for source in sources)


def skew_of(seconds: list[float]) -> float:
    median = statistics.median_high(seconds) if seconds else 0
    return round(max(seconds) / median, 6) if median > 0 else 1
