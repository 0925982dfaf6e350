"""The command `merganser`: run SQL, explain a query or report on it, verify declarations, look at the installation.

databases.py        which database a command opens, and how
statements.py       the text of a command: SQL, a file, standard input; what of it is set-up
written_results.py  tables, Markdown, CSV, JSON, Parquet
one_message.py      an error is one message and an exit code, never a traceback
installation.py     what is installed, what is loaded, and what to mend
"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import merganser
from merganser.command_line.databases import IN_MEMORY, opened
from merganser.command_line.installation import examine, write_findings
from merganser.command_line.one_message import CHECK_FAILED, OneMessage
from merganser.command_line.statements import queries_of, returns_rows, run_before_last, text_of
from merganser.command_line.written_results import Format, Result, asked_format, chosen_format, write_result
from merganser.query_report import compare_reports
from merganser.query_report import report as write_report
from merganser.query_report.planned import text_alone

app = typer.Typer(
    cls=OneMessage,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Run SQL, explain a query or report on it, verify declarations, look at the installation.",
    epilog="Exit codes: 0 done; 1 it failed, with one message; 2 wrong usage; 3 a check did not pass; 130 interrupted.",
)

SQL = typer.Argument(
    help="SQL text, the name of a file with SQL, or - for standard input. Of several statements, those before the "
    "last are run first"
)
Sql = Annotated[str, SQL]
Database = Annotated[
    str, typer.Option("--database", "-d", help="a DuckDB database file; without it the database is in memory")
]
Init = Annotated[Path | None, typer.Option(help="a file with SQL to run first: settings, secrets, views")]
FormatOption = Annotated[
    Format | None, typer.Option(help="how to write the rows; without it the ending of -o decides, or it is a table")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="a file for the rows")]
MaxRows = Annotated[int, typer.Option(min=1, help="rows of a table or of Markdown to write")]


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"merganser {merganser.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version and end")
    ] = False,
) -> None:
    pass


@app.command()
def sql(
    sql: Sql,
    database: Database = IN_MEMORY,
    init: Init = None,
    format: FormatOption = None,
    output: Output = None,
    max_rows: MaxRows = 40,
    write: Annotated[bool, typer.Option("--write", help="open the database for writing, whatever the SQL is")] = False,
    create: Annotated[bool, typer.Option("--create", help="make the database file if there is none")] = False,
) -> None:
    """Run SQL and print the result of its last statement. A database that is only read is opened read-only."""
    form = chosen_format(format, output)
    before, text = text_of(init), text_of(sql)
    with opened(database, before + text, write=write, create=create) as connection:
        statement = run_before_last(connection, before, text)
        relation = connection.sql(statement)
        if relation is not None and returns_rows(statement, relation):
            write_result(Result(connection, text_alone(statement), relation), form, output, max_rows)


@app.command()
def explain(
    sql: Sql,
    database: Database = IN_MEMORY,
    init: Init = None,
    format: FormatOption = None,
    output: Output = None,
) -> None:
    """Tell what was rewritten in a query, what was declined, and why. The query is planned, not run."""
    form = asked_format(format, output)
    before, text = text_of(init), text_of(sql)
    with opened(database, before + text) as connection:
        query = text_alone(run_before_last(connection, before, text))
        told = "SELECT section, item, text FROM merganser_explain(?)"
        relation = connection.sql(told, params=[query]).materialize()
        if form is not None:
            write_result(Result(connection, told, relation), form, output, len(relation))
            return
        rows = relation.fetchall()
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
def advise(
    sql: Sql,
    database: Database = IN_MEMORY,
    init: Init = None,
    verify: Annotated[bool, typer.Option("--verify", help="read the columns to see whether advised keys hold")] = False,
    format: FormatOption = None,
    output: Output = None,
) -> None:
    """Tell the declaration or change that would make a rule apply, for each query. Other statements are run."""
    form = asked_format(format, output)
    before, text = text_of(init), text_of(sql)
    with opened(database, before + text) as connection:
        queries = queries_of(connection, before, text)
        asked = f"FROM merganser_advise(?, verify := {verify})"
        relation = connection.sql(asked, params=[queries]).materialize()
        if form is not None:
            write_result(Result(connection, asked, relation), form, output, len(relation))
            return
        rows = relation.project("query, coalesce(reason, ''), advice, sql, gain").fetchall()
    console = Console()
    for query, reason, advice, change, gain in rows:
        heading = f"query {query}: {reason}" if len(queries) > 1 else reason
        console.print(heading, style="bold", markup=False, highlight=False)
        for line in filter(None, (advice, change, gain)):
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def report(
    sql: Annotated[str | None, SQL] = None,
    database: Database = IN_MEMORY,
    init: Init = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="the file to write; its ending says what: .html, .json or .mmd (Mermaid)"),
    ] = Path("report.html"),
    run: Annotated[bool, typer.Option(help="run the query once; without, it is only planned")] = True,
    measure_before: Annotated[
        bool, typer.Option("--measure-before", help="run the plan without Merganser's rules too, for its figures")
    ] = False,
    title: Annotated[str | None, typer.Option(help="what the page calls the query; else its first comment")] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(help="two reports as JSON: the page compares them, and nothing is run")
    ] = None,
) -> None:
    """Write a page on a query: what was slow, decisions, plans, stages, and what running it took."""
    if (sql is None) == (compare is None):
        raise typer.BadParameter("give the SQL to report on, or --compare with two reports")
    if compare is not None:
        print(f"wrote {compare_reports(*compare, output)}")
        return
    before, text = text_of(init), text_of(sql)
    with opened(database, before + text) as connection:
        query = text_alone(run_before_last(connection, before, text))
        written = write_report(connection, query, output, run=run, measure_before=measure_before, title=title)
    print(f"wrote {written}")


@app.command()
def verify(
    table: Annotated[str | None, typer.Argument(help="a table or view; without it, all that have declarations")] = None,
    database: Database = IN_MEMORY,
    init: Init = None,
    format: FormatOption = None,
    output: Output = None,
) -> None:
    """Check declarations against the data. Exits with 3 where one does not hold."""
    form = chosen_format(format, output)
    with opened(database, write=True) as connection:
        if init is not None:
            connection.execute(text_of(init)).fetchall()
        call = f"CALL merganser_verify({'' if table is None else '?'})"
        relation = connection.sql(call, params=[table] if table else None)
        holds = [hold for (hold,) in relation.project("holds").fetchall()]
        write_result(Result(connection, call, relation), form, output, max(len(holds), 1))
    if any(hold is False for hold in holds):  # None: cannot be checked
        raise typer.Exit(CHECK_FAILED)


@app.command()
def doctor() -> None:
    """Tell what is installed, which DuckDB is loaded, and what to mend. Exits with 3 where there is something."""
    findings = examine()
    write_findings(findings)
    if any(finding.remedy for finding in findings):
        raise typer.Exit(CHECK_FAILED)


BENCHMARKS = Path(merganser.__file__).resolve().parents[2] / "benchmark"


def bench(context: typer.Context, name: str = "late_materialization") -> None:
    """Run the quick form of a benchmark of this checkout; further options go to the benchmark."""
    program = BENCHMARKS / f"{name}.py"
    if not program.exists():
        known = ", ".join(sorted(path.stem for path in BENCHMARKS.glob("*.py")))
        raise ValueError(f"there is no benchmark {name!r} in {BENCHMARKS} ({known})")
    raise typer.Exit(subprocess.run([sys.executable, program, "--quick", *context.args], check=False).returncode)


if BENCHMARKS.is_dir():
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)
