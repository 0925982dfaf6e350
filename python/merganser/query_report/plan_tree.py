"""A plan as the page draws it: chains of operators that branch where an operator has several inputs.

A browser lays it out: branches stand side by side where there is room, and below each other on a telephone, where the
deepest branch goes on without being set in.
"""

from dataclasses import dataclass, field

from merganser.query_report.carried_columns import carried_in
from merganser.query_report.hot_spots import off_by
from merganser.query_report.operator_names import named_details, subject
from merganser.query_report.planned import Operator
from merganser.query_report.quantities import factor

FEW_COLUMNS = 3
JOIN_BACK = {"NARROW_ROWS", "JOIN_BACK_GUARD", "KEY_CHECK"}
#: Operators with at least this share of the time stand out.
HOT = 0.2


@dataclass(frozen=True)
class Box:
    """One operator."""

    anchor: str
    operator: Operator
    subject: str
    details: dict[str, list[str]]
    carried: list[str]
    #: Of the time of all operators; None unless it ran.
    share: float | None

    @property
    def is_ours(self) -> bool:
        return self.operator.name in JOIN_BACK or "Grouping" in self.operator.details

    @property
    def is_hot(self) -> bool:
        return self.share is not None and self.share >= HOT

    @property
    def off(self) -> str:
        """How far the estimate is off, where it is far."""
        off = off_by(self.operator.estimated_rows, self.operator.rows)
        return "" if off is None else f"{factor(off)} off"

    @property
    def carried_text(self) -> str:
        """Their names where they are read, and wherever they are few."""
        if self.operator.children and len(self.carried) > FEW_COLUMNS:
            return f"{len(self.carried)} deferred columns"
        return ", ".join(self.carried)


@dataclass(frozen=True)
class Branch:
    #: "right input of Hash Join"; empty at the top.
    place: str
    #: From the top down; each reads the next.
    chain: list[Box]
    #: What the last of the chain reads, where that is more than one input.
    inputs: "list[Branch]" = field(default_factory=list)
    #: Whether it is the deepest of its neighbours.
    is_deepest: bool = True

    def all(self) -> list[Box]:
        return [*self.chain, *(box for branch in self.inputs for box in branch.all())]


@dataclass(frozen=True)
class PlanView:
    title: str
    key: str
    top: Branch
    has_run: bool

    @property
    def boxes(self) -> list[Box]:
        return self.top.all()

    @property
    def carrying(self) -> list[Operator]:
        return [box.operator for box in self.boxes if box.carried]

    @property
    def estimated_carried_rows(self) -> int:
        return sum(operator.estimated_rows or 0 for operator in self.carrying)

    @property
    def carried_rows(self) -> int:
        return sum(operator.rows or 0 for operator in self.carrying)

    @property
    def names(self) -> dict[int, tuple[str, str, str]]:
        """Anchor, title and subject of each operator, by id() of the operator."""
        return {id(box.operator): (box.anchor, box.operator.title, box.subject) for box in self.boxes}


def plan_view(title: str, key: str, plan: Operator, has_run: bool, deferred: list[tuple[str, str]]) -> PlanView:
    carried = carried_in(plan, deferred)
    details = named_details(plan)
    total = sum(operator.seconds or 0 for operator in plan.all()) or 1
    anchors = {id(operator): f"{key}{number}" for number, operator in enumerate(plan.all(), 1)}

    def box(operator: Operator) -> Box:
        named = details[id(operator)]
        return Box(
            anchors[id(operator)],
            operator,
            subject(operator, named),
            named,
            carried.get(id(operator), []),
            (operator.seconds or 0) / total if has_run else None,
        )

    def branch(operator: Operator, place: str) -> Branch:
        chain = [operator]
        while len(chain[-1].children) == 1:
            chain.append(chain[-1].children[0])
        last = chain[-1]
        depths = [depth_of(child) for child in last.children]
        inputs = [branch(child, name) for child, name in zip(last.children, places_of(last), strict=True)]
        deepest = depths.index(max(depths)) if depths else 0
        inputs = [
            Branch(found.place, found.chain, found.inputs, number == deepest) for number, found in enumerate(inputs)
        ]
        return Branch(place, [box(of) for of in chain], inputs)

    return PlanView(title, key, branch(plan, ""), has_run)


def depth_of(plan: Operator) -> int:
    return 1 + max((depth_of(child) for child in plan.children), default=0)


def places_of(operator: Operator) -> list[str]:
    """What to call the inputs of an operator; an only one needs no name."""
    count = len(operator.children)
    names = ["left input", "right input"] if count == 2 else [f"input {number}" for number in range(1, count + 1)]
    return [f"{name} of {operator.title}" for name in names]
