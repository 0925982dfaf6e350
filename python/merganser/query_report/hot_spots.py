"""Where a query spent its time, and what in its run is worth a look.

Times of operators are CPU times, added up over threads, so an operator's share is of what all of them took.
"""

from dataclasses import dataclass, field

from merganser.query_report.measured import Run
from merganser.query_report.planned import Operator
from merganser.query_report.quantities import amount, count, factor, seconds, size

#: Operators or stages in the list of the hottest.
LISTED = 8
#: An estimate this many times off, of at least so many rows, is worth a look.
FAR_OFF = 10
MANY_ROWS = 1000
#: A scan that reads so many times the rows it keeps is worth a look.
MOSTLY_DROPPED = 10
STRONG_SKEW = 2
#: Below this share of all the time, skew costs nothing to speak of.
SMALL_SHARE = 0.05


@dataclass(frozen=True)
class Spot:
    """One operator or stage by its time."""

    #: Where the page shows it.
    anchor: str
    title: str
    subject: str
    seconds: float
    share: float
    rows_in: int | None
    rows_out: int | None


@dataclass(frozen=True)
class Remark:
    anchor: str
    where: str
    text: str


@dataclass(frozen=True)
class HotSpots:
    spots: list[Spot] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    #: How many operators or stages are left out of the list, and their share.
    others: int = 0
    others_share: float = 0


def off_by(estimated: int | None, actual: int | None) -> float | None:
    """How many times an estimate is off, where that is worth a look."""
    if estimated is None or actual is None or max(estimated, actual) < MANY_ROWS:
        return None
    off = max(estimated, actual, 1) / max(min(estimated, actual), 1)
    return off if off > FAR_OFF else None


def hottest(spots: list[Spot], remarks: list[Remark]) -> HotSpots:
    spots = sorted((spot for spot in spots if spot.seconds > 0), key=lambda spot: -spot.seconds)
    rest = spots[LISTED:]
    return HotSpots(spots[:LISTED], remarks, len(rest), sum(spot.share for spot in rest))


def hot_operators(run: Run, names: dict[int, tuple[str, str, str]]) -> HotSpots:
    """`names` has anchor, title and subject of each operator, by id()."""
    operators = list(run.plan.all())
    total = sum(operator.seconds or 0 for operator in operators) or 1
    spots = [
        Spot(
            *names[id(operator)],
            operator.seconds or 0,
            (operator.seconds or 0) / total,
            operator.rows_in,
            operator.rows,
        )
        for operator in operators
    ]
    remarks = [remark for operator in operators for remark in remarks_on(operator, *names[id(operator)])]
    if run.spilled_bytes:
        remarks.insert(0, Remark("", "the query", spilled(run.spilled_bytes)))
    return hottest(spots, remarks)


def remarks_on(operator: Operator, anchor: str, title: str, subject: str) -> list[Remark]:
    where = f"{title} {subject}".rstrip()
    remarks = []
    off = off_by(operator.estimated_rows, operator.rows)
    if off is not None:
        fewer_or_more = "more" if operator.rows > operator.estimated_rows else "fewer"
        text = f"{factor(off)} {fewer_or_more} rows than estimated: {count(operator.rows)}, not "
        remarks.append(Remark(anchor, where, text + count(operator.estimated_rows)))
    read, kept = operator.scanned_rows, operator.rows
    if read is not None and kept is not None and read >= MANY_ROWS and read > MOSTLY_DROPPED * max(kept, 1):
        remarks.append(Remark(anchor, where, f"reads {amount(read, 'row')} and keeps {count(kept)} of them"))
    return remarks


def spilled(spilled_bytes: int) -> str:
    return f"spilled {size(spilled_bytes)} to disk: more memory (`memory_limit`), or fewer threads, would keep it there"


def hot_stages(stages: list[dict]) -> HotSpots:
    """`stages` are those of merganser.last_query()."""
    total = sum(stage["task_seconds"] for stage in stages) or 1
    spots = [
        Spot(
            f"stage{stage['stage']}",
            f"Stage {stage['stage']}",
            amount(stage["tasks"], "task"),
            stage["task_seconds"],
            stage["task_seconds"] / total,
            stage["rows_in"],
            stage["rows_out"],
        )
        for stage in stages
    ]
    remarks = [remark for stage in stages for remark in remarks_on_stage(stage, stage["task_seconds"] / total)]
    return hottest(spots, remarks)


def remarks_on_stage(stage: dict, share: float) -> list[Remark]:
    texts = []
    off = off_by(stage["estimated_rows"], stage["rows_out"]) if stage["tasks"] else None
    if off is not None:
        more = "more" if stage["rows_out"] > stage["estimated_rows"] else "fewer"
        texts.append(f"{factor(off)} {more} rows than estimated: {count(stage['rows_out'])}")
    if stage["skew"] >= STRONG_SKEW and stage["tasks"] > 1 and share >= SMALL_SHARE:
        longest = f"its longest task took {factor(stage['skew'])} the median of {seconds(stage['task_seconds'])} in "
        texts.append(longest + amount(stage["tasks"], "task"))
    if stage["retries"]:
        texts.append(f"{amount(stage['retries'], 'retry')}: workers or files were lost")
    if stage["spilled_bytes"]:
        texts.append(spilled(stage["spilled_bytes"]))
    return [Remark(f"stage{stage['stage']}", f"Stage {stage['stage']}", text) for text in texts]
