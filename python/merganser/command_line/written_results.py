"""A result as a table, Markdown, CSV, JSON or Parquet, on standard output or in a file.

Tables and Markdown show each value as DuckDB writes it as text, whole. CSV, JSON and Parquet are written by DuckDB's
own COPY. A file appears when it is complete.
"""

import io
import shutil
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from merganser.query_report.finished_file import check_target, finished, write_finished
from merganser.query_report.planned import as_literal
from merganser.query_report.quantities import amount

#: Columns of a table that a program or a file reads.
UNFOLDED = 1 << 30
NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL"}
NUMBERS |= {f"U{name}" for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


ENDINGS = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".parquet": Format.PARQUET,
    ".md": Format.MARKDOWN,
    ".txt": Format.TABLE,
}
COPY_OPTIONS = {
    Format.CSV: "FORMAT csv, HEADER true",
    Format.JSON: "FORMAT json, ARRAY true",
    Format.PARQUET: "FORMAT parquet",
}


def chosen_format(format: Format | None, output: Path | None) -> Format:
    """What was asked for, else what the file's ending says, else a table."""
    if output is not None:
        check_target(output, f"result{output.suffix or '.csv'}")
        if format is None and output.suffix.lower() not in ENDINGS:
            raise ValueError(
                f"the ending of {str(output)!r} names no format ({', '.join(ENDINGS)}); pass --format, one of "
                f"{', '.join(Format)}"
            )
        return format or ENDINGS[output.suffix.lower()]
    if format is Format.PARQUET and sys.stdout.isatty():
        raise ValueError("Parquet is not for a terminal; name a file with -o")
    return format or Format.TABLE


def asked_format(format: Format | None, output: Path | None) -> Format | None:
    """The same for what else would be told as text: None where no format was asked for."""
    return None if format is None and output is None else chosen_format(format, output)


@dataclass(frozen=True)
class Result:
    """What a statement returns; a query has not run yet."""

    connection: duckdb.DuckDBPyConnection
    statement: str
    relation: duckdb.DuckDBPyRelation


def write_result(result: Result, form: Format, output: Path | None, max_rows: int) -> None:
    if form in COPY_OPTIONS:
        copy_to(result, form, output)
        return
    relation = result.relation
    rows = relation.limit(max_rows + 1).project("COLUMNS(*)::VARCHAR").fetchall()
    more = len(rows) > max_rows
    write_rows(relation.columns, rows[:max_rows], form, output, [is_number(type_) for type_ in relation.types])
    if more:
        print(f"the first {amount(max_rows, 'row')}; there are more (--max-rows)", file=sys.stderr)


def is_number(type_) -> bool:
    return str(type_).partition("(")[0] in NUMBERS


def copy_to(result: Result, form: Format, output: Path | None) -> None:
    if output is not None:
        with finished(output) as unfinished:
            copy(result, form, unfinished)
        return
    with tempfile.TemporaryDirectory(prefix="merganser-") as folder:
        file = Path(folder) / "result"
        copy(result, form, file)
        sys.stdout.flush()
        with file.open("rb") as written:
            shutil.copyfileobj(written, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def copy(result: Result, form: Format, file: Path) -> None:
    """A query is copied as it stands; rows of a statement that has run, such as INSERT, are copied by a name."""
    to = f"TO {as_literal(str(file))} ({COPY_OPTIONS[form]})"
    if result.relation.type == "MATERIALIZED_RELATION":
        result.relation.query("merganser_result", f"COPY merganser_result {to}")
    else:
        result.connection.sql(f"COPY ({result.statement}) {to}")


def write_rows(
    names: list[str], rows: list[tuple], form: Format, output: Path | None, numbers: list[bool] | None = None
) -> None:
    """Rows of text; None is NULL."""
    numbers = numbers or [False] * len(names)
    if output is not None:
        write_finished(
            output, as_markdown(names, rows, numbers) if form is Format.MARKDOWN else as_text(names, rows, numbers)
        )
    elif form is Format.MARKDOWN:
        print(as_markdown(names, rows, numbers), end="")
    else:
        console = Console()
        (console if console.is_terminal else Console(width=UNFOLDED)).print(as_table(names, rows, numbers))


def as_text(names: list[str], rows: list[tuple], numbers: list[bool]) -> str:
    text = io.StringIO()
    Console(file=text, width=UNFOLDED, color_system=None).print(as_table(names, rows, numbers))
    return text.getvalue()


def as_table(names: list[str], rows: list[tuple], numbers: list[bool]) -> Table:
    """Values are shown as they are: whole, folded only to the width of a terminal, and never read as markup."""
    columns = [
        Column(Text(name), overflow="fold", justify="right" if number else "left")
        for name, number in zip(names, numbers, strict=True)
    ]
    table = Table(*columns, highlight=False)
    for row in rows:
        table.add_row(*(Text("NULL" if value is None else str(value)) for value in row))
    return table


def as_markdown(names: list[str], rows: list[tuple], numbers: list[bool]) -> str:
    lines = [[cell(name) for name in names]]
    lines.append(["---:" if number else "---" for number in numbers])
    lines += [["NULL" if value is None else cell(str(value)) for value in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(text: str) -> str:
    return "<br>".join(text.replace("|", r"\|").splitlines())
