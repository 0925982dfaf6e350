"""What the user sees of a query that takes longer than a moment: a bar for each stage on a terminal, else lines.

Off by `SET merganser_progress = false`. Written to standard error.
"""

import sys
import threading
import time
from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

QUIET_SECONDS = 2.0
REDRAW_SECONDS = 0.1

# A terminal has room for the bars of one query.
_terminal = threading.Lock()


class Progress:
    def __init__(self, on: bool) -> None:
        self.on = on
        self.started = time.monotonic()
        self.drawn = 0.0
        self.bars: Bars | None = None
        self.bar_of_stage: dict[int, int] = {}
        self.told: set[int] = set()

    def show(self, states: Iterable) -> None:
        now = time.monotonic()
        if not self.on or now - self.started < QUIET_SECONDS or now - self.drawn < REDRAW_SECONDS:
            return
        self.drawn = now
        if sys.stderr.isatty():
            self.draw(states)
        else:
            self.tell(states)

    def close(self) -> None:
        if self.bars is not None:
            self.bars.stop()
            self.bars = None
            _terminal.release()

    def tell_about(self, text: str) -> None:
        """One line, however long the query takes; bars are drawn below it."""
        if self.on:
            print(f"merganser: {text}", file=sys.stderr, flush=True)

    def draw(self, states: Iterable) -> None:
        if self.bars is None:
            if not _terminal.acquire(blocking=False):
                return
            self.bars = Bars(
                TextColumn("stage {task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[volume]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.bars.start()
        for state in states:
            number = state.stage.number
            if not state.tasks:
                continue
            if number not in self.bar_of_stage:
                self.bar_of_stage[number] = self.bars.add_task(str(number), total=len(state.tasks), volume="")
            done = sum(1 for task in state.tasks if task.accepted)
            self.bars.update(self.bar_of_stage[number], completed=done, volume=volume_of(state))

    def tell(self, states: Iterable) -> None:
        for state in states:
            number = state.stage.number
            if state.tasks and state.is_complete and number not in self.told:
                self.told.add(number)
                seconds = state.ended - state.started
                tasks = f"{len(state.tasks)} tasks in {seconds:.1f} s"
                print(f"merganser: stage {number}: {tasks}, {volume_of(state)}", file=sys.stderr, flush=True)


def volume_of(state) -> str:
    rows = sum(task.outcome.rows for task in state.tasks)
    size = sum(task.outcome.bytes for task in state.tasks)
    return f"{rows} rows, {size / 1e6:.1f} MB"
