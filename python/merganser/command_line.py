"""The command `merganser`: run SQL, explain a query or report on it, verify declarations, run a benchmark."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from merganser.connection import connect
from merganser.query_report import report as write_report

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Sql = Annotated[str, typer.Argument(help="SQL text, the name of a file with SQL, or - for standard input")]
Database = Annotated[
    str, typer.Option("--database", "-d", help="a DuckDB database file; without it the database is in memory")
]
#: Columns of a table that a program or a file reads.
UNFOLDED = 1 << 30
MaxRows = Annotated[int, typer.Option(min=1, help="rows to print")]


@app.command()
def sql(sql: Sql, database: Database = ":memory:", max_rows: MaxRows = 40) -> None:
    """Run SQL and print the result of its last statement."""
    with opened(database) as connection:
        text = text_of(sql)
        if not connection.extract_statements(text):
            raise Refusal("there is no statement to run")
        show(connection.execute(text), max_rows)


@app.command()
def explain(sql: Sql, database: Database = ":memory:") -> None:
    """Tell what was rewritten in a query, what was declined, and why. The query is planned, not run."""
    with opened(there(database)) as connection:
        rows = connection.execute("SELECT section, item, text FROM merganser_explain(?)", [text_of(sql)]).fetchall()
    console = Console()
    last_section = None
    for section, item, text in rows:
        if section != last_section:
            console.print(f"\n{section}", style="bold", markup=False, highlight=False)
            last_section = section
        lines = str(text).splitlines()
        console.print(f"  {item}" if len(lines) > 1 else f"  {item}: {text}", markup=False, highlight=False)
        for line in lines if len(lines) > 1 else []:
            console.print(f"    {line}", markup=False, highlight=False, no_wrap=True, overflow="ignore", crop=False)


@app.command()
def report(
    sql: Sql,
    database: Database = ":memory:",
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="the file to write; its ending says what: .html, .json or .mmd (Mermaid)"),
    ] = Path("report.html"),
    run: Annotated[bool, typer.Option(help="run the query once; without, it is only planned")] = True,
) -> None:
    """Write a page on a query: decisions, plans before and after, stages, and what running it took."""
    with opened(there(database)) as connection:
        try:
            written = write_report(connection, text_of(sql), output, run=run)
        except ValueError as error:
            raise Refusal(str(error)) from error
    Console().print(f"wrote {written}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def verify(
    table: Annotated[str | None, typer.Argument(help="a table or view; without it, all that have declarations")] = None,
    database: Database = ":memory:",
) -> None:
    """Check declarations against the data. Exits with 1 where one does not hold."""
    with opened(there(database)) as connection:
        result = connection.execute(f"CALL merganser_verify({'' if table is None else '?'})", [table] if table else [])
        names = [column[0] for column in result.description or []]
        rows = result.fetchall()
    print_table(names, rows)
    if any(row[names.index("holds")] is False for row in rows):  # None: cannot be checked
        raise typer.Exit(1)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context, name: str = "late_materialization") -> None:
    """Run the quick form of a benchmark of a checkout; further options go to the benchmark."""
    folder = Path(__file__).resolve().parents[2] / "benchmark"
    program = folder / f"{name}.py"
    if not program.exists():
        known = ", ".join(sorted(path.stem for path in folder.glob("*.py"))) or "none: benchmarks come with a checkout"
        raise Refusal(f"there is no benchmark {name!r} in {folder} ({known})")
    raise typer.Exit(subprocess.run([sys.executable, program, "--quick", *context.args], check=False).returncode)


class Refusal(typer.Exit):
    """Ends the command with a sentence on standard error."""

    def __init__(self, message: str) -> None:
        Console(stderr=True).print(f"merganser: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
        super().__init__(1)


@contextmanager
def opened(database: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for the length of a command; an error of the database ends the command without a traceback."""
    try:
        with connect(database) as connection:
            yield connection
    except (duckdb.Error, RuntimeError, OSError) as error:
        raise Refusal(str(error)) from error


def there(database: str) -> str:
    """A database that is read must exist: DuckDB would make an empty one."""
    if database != ":memory:" and "://" not in database and not Path(database).exists():
        raise Refusal(f"there is no database file {database}")
    return database


def text_of(sql: str) -> str:
    if sql == "-":
        return sys.stdin.read()
    if sql.endswith(".sql"):
        try:
            return Path(sql).read_text()
        except OSError as error:
            raise Refusal(f"cannot read {sql}: {error.strerror}") from error
    return sql


def show(result: duckdb.DuckDBPyConnection, max_rows: int) -> None:
    names = [column[0] for column in result.description or []]
    rows = result.fetchmany(max_rows + 1)
    print_table(names, rows[:max_rows])
    if len(rows) > max_rows:
        Console().print(f"the first {max_rows} rows; there are more (--max-rows)", highlight=False)


def print_table(names: list[str], rows: list[tuple]) -> None:
    """Values are shown as they are: whole, folded only to the width of a terminal, and never read as markup."""
    table = Table(*(Column(Text(name), overflow="fold") for name in names), highlight=False)
    for row in rows:
        table.add_row(*(Text("NULL" if value is None else str(value)) for value in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=UNFOLDED)
    console.print(table)
