"""Operators by what they are about: tables and files of scans, conditions of joins, and names in place of `#0`.

DuckDB's physical plans name a column where it is scanned and call it `#0`, `#1`, … above: its position in what the
operator below returns. What an operator returns is known from its description, but for joins, which leave out columns
that nothing above them reads and do not say which. A position is replaced where it is known what it is; otherwise it
stays as DuckDB wrote it.
"""

import re
from pathlib import PurePath

from merganser.query_report.planned import Operator
from merganser.query_report.quantities import shortened

POSITION = re.compile(r"#(\d+)(?!\d)")
#: Operators that return the columns of their only input as they are.
PASSING = {"FILTER", "TOP_N", "LIMIT", "STREAMING_LIMIT", "JOIN_BACK_GUARD", "NARROW_ROWS"}
#: Descriptions in which positions are those of the only input.
OF_THE_INPUT = ("Projections", "Groups", "Aggregates", "Order By", "Expression")
FEW_FILES = 2


def named_details(plan: Operator) -> dict[int, dict[str, list[str]]]:
    """The details of each operator with names for positions, by id() of the operator."""
    result: dict[int, dict[str, list[str]]] = {}

    def visit(operator: Operator) -> list[str] | None:
        inputs = [visit(child) for child in operator.children]
        details = dict(operator.details)
        if len(inputs) == 1 and inputs[0] is not None:
            for name in OF_THE_INPUT:
                if name in details:
                    details[name] = [named(text, inputs[0]) for text in details[name]]
        elif len(inputs) == 2 and "Conditions" in details:
            details["Conditions"] = [named_condition(text, *inputs) for text in details["Conditions"]]
        result[id(operator)] = details
        return returned(operator, details, inputs)

    visit(plan)
    return result


def returned(operator: Operator, details: dict[str, list[str]], inputs: list[list[str] | None]) -> list[str] | None:
    """Names of what an operator returns, in order; None where they are not known."""
    if "Projections" in details:
        return [shortened(text) for text in details["Projections"]]
    if operator.name.endswith("GROUP_BY") and "Groups" in details:
        return [shortened(text) for text in details["Groups"] + details.get("Aggregates", [])]
    return inputs[0] if operator.name in PASSING and len(inputs) == 1 else None


def named(text: str, columns: list[str]) -> str:
    """Quoted text is left alone: `'#1'` is a string."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    return "".join(part if part.startswith("'") else POSITION.sub(replacement(columns), part) for part in parts)


def replacement(columns: list[str]):
    def of(match: re.Match) -> str:
        position = int(match[1])
        return columns[position] if position < len(columns) else match[0]

    return of


def named_condition(text: str, left: list[str] | None, right: list[str] | None) -> str:
    """`#0 = #1` reads left from the left input and right from the right one; other conditions stay as they are."""
    match = re.fullmatch(r"#(\d+) (\S+(?: \S+)*) #(\d+)", text)
    if match is None:
        return text
    sides = [named(f"#{match[index]}", columns or []) for index, columns in ((1, left), (3, right))]
    return f"{sides[0]} {match[2]} {sides[1]}"


def subject(operator: Operator, details: dict[str, list[str]]) -> str:
    """What an operator is about, in a few words; empty where there is nothing to say."""
    if operator.is_scan:
        return source(details)
    text = {name: ", ".join(parts) for name, parts in details.items()}
    if "Conditions" in text:
        kind = text.get("Join Type", "INNER")
        return shortened(text["Conditions"] if kind == "INNER" else f"{kind}: {text['Conditions']}")
    if "Groups" in text:
        return shortened(text["Groups"])
    if "Order By" in text:
        return shortened(f"{text['Top']} by {text['Order By']}" if "Top" in text else text["Order By"])
    for name in ("Expression", "Table", "Grouping", "Limit"):
        if name in text:
            return shortened(unqualified(text[name]) if name == "Table" else text[name])
    return ""


def source(details: dict[str, list[str]]) -> str:
    """The table a scan reads, or its files by name."""
    if "Table" in details:
        return unqualified(details["Table"][0])
    files = [PurePath(name.strip()).name for part in details.get("Filename(s)", []) for name in part.split(",")]
    count = int(details["Total Files Read"][0]) if "Total Files Read" in details else len(files)
    if not files:
        return ""
    shown = ", ".join(files[:FEW_FILES])
    return shown if count <= FEW_FILES else f"{files[0]} and {count - 1:,} more"


def unqualified(name: str) -> str:
    return name.rpartition(".")[2]
