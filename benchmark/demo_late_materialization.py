"""Demo: TPC-H Q10 and Q10 without its two selective filters, with late materialisation off and on, rows compared.

First without any declaration, over Parquet files and over tables; then with keys and foreign keys declared.
"""

import json
import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import duckdb
import merganser
import tpch
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

RUNS = 3
TYPE_BYTES = {"BIGINT": 8, "INTEGER": 4, "DATE": 4, "DOUBLE": 8}
DECIMAL_BYTES = 8

Opener = Callable[[], duckdb.DuckDBPyConnection]


@dataclass
class Measured:
    """One query with the rule off or on."""

    rows: list[tuple] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    bytes_read: int = 0
    aggregated_rows: int = 0
    group_columns: list[str] = field(default_factory=list)


def show(console: Console, scale: float) -> None:
    folder = tpch.parquet_folder(scale)
    database = tpch.native_database(scale)
    q10 = tpch.query(10)
    queries = {
        "Q10 as specified": q10,
        "Q10 without its two filters": tpch.without_filters(q10, "o_orderdate", "l_returnflag"),
    }

    def parquet() -> duckdb.DuckDBPyConnection:
        connection = merganser.connect()
        tpch.create_views(connection, folder)
        return connection

    def declared() -> duckdb.DuckDBPyConnection:
        connection = parquet()
        for statement in tpch.key_statements("VIEW", foreign_keys=True):
            connection.execute(statement)
        return connection

    def native() -> duckdb.DuckDBPyConnection:
        return merganser.connect(database, read_only=True)

    console.rule("Late materialisation, Parquet files, nothing declared")
    console.print(
        "A view over each Parquet file of TPC-H. Nobody has stated a key; the first run proves those that pay."
    )
    compare(console, parquet, queries)
    explain(console, parquet, queries)
    console.rule("Late materialisation, native tables, nothing declared")
    console.print("The same data in a DuckDB database file.")
    compare(console, native, queries)
    console.rule("Late materialisation, Parquet files, what declaring adds")
    console.print("A declared key needs no proof, and a foreign key takes joins out of the query. One statement each:")
    console.print("  ALTER VIEW customer ADD PRIMARY KEY (c_custkey) NOT ENFORCED RELY;")
    console.print("  ALTER VIEW orders ADD FOREIGN KEY (o_custkey) REFERENCES customer (c_custkey) NOT ENFORCED RELY;")
    compare(console, declared, queries)
    explain(console, declared, queries)
    console.print(
        f"Seconds and CPU seconds are medians of {RUNS} runs, off and on in turn. MB read are total_bytes_read of "
        "DuckDB's profiler in a fresh database, without those read for a proof; columns are read either way. MB "
        "aggregated are the rows that reach the aggregate, by the same profiler, times the average bytes of the "
        "columns it groups by.",
        style="dim",
    )


def compare(console: Console, opened: Opener, queries: dict[str, str]) -> None:
    for name, text in queries.items():
        off, on = Measured(), Measured()
        profile(opened, text, off, rule=False)
        profile(opened, text, on, rule=True)
        with opened() as connection:
            for _ in range(RUNS):
                run(connection, text, off, rule=False)
                run(connection, text, on, rule=True)
            if sorted(off.rows) != sorted(on.rows):
                raise SystemExit(f"{name}: the rule changed the rows; this is a bug, please report it")
            off.group_columns = group_by_columns(text)
            on.group_columns = narrow_group_columns(connection, text) or off.group_columns
            widths = average_bytes(connection)
        console.print(as_table(f"{name}: {len(on.rows)} rows, equal", off, on, widths))


def run(connection: duckdb.DuckDBPyConnection, text: str, result: Measured, *, rule: bool) -> None:
    connection.execute(f"SET merganser_late_materialization = {str(rule).lower()}")
    wall, cpu = time.perf_counter(), time.process_time()
    result.rows = connection.execute(text).fetchall()
    result.wall.append(time.perf_counter() - wall)
    result.cpu.append(time.process_time() - cpu)


def profile(opened: Opener, text: str, result: Measured, *, rule: bool) -> None:
    """Run the query under DuckDB's profiler, in a database that has cached nothing yet."""
    with opened() as connection:
        connection.execute(f"SET merganser_late_materialization = {str(rule).lower()}")
        connection.execute("SET enable_profiling = 'no_output'")
        connection.execute(text).fetchall()
        profiled = json.loads(connection.get_profiling_information(format="json"))
    result.bytes_read = profiled["io"]["total_bytes_read"]
    result.aggregated_rows = rows_into_aggregate(profiled["operator"][0])


def rows_into_aggregate(operator: dict) -> int:
    """Rows that the topmost aggregate of the plan receives."""
    if operator["type"] in ("HASH_GROUP_BY", "PERFECT_HASH_GROUP_BY"):
        return operator["children"][0]["intermediate_rows"]
    return max((rows_into_aggregate(child) for child in operator.get("children", [])), default=0)


def group_by_columns(text: str) -> list[str]:
    group_by = re.search(r"\nGROUP BY\b(.*?)\nORDER BY\b", text, re.DOTALL).group(1)
    return re.findall(r"\w+", group_by)


def narrow_group_columns(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    rows = explanation(connection, text)
    return [c for section, item, fact in rows if item == "group key" for c in re.findall(r"\.(\w+)", fact)]


def explanation(connection: duckdb.DuckDBPyConnection, text: str) -> list[tuple[str, str, str]]:
    return connection.execute("FROM merganser_explain(?)", [text]).fetchall()


def average_bytes(connection: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """Average bytes of a value of each column Q10 groups by."""
    result = {}
    for table in ("customer", "nation"):
        for column, column_type in connection.execute(
            f"SELECT column_name, column_type FROM (DESCRIBE {table})"
        ).fetchall():
            if column_type == "VARCHAR":
                result[column] = connection.execute(f"SELECT avg(strlen({column})) FROM {table}").fetchone()[0]
            else:
                result[column] = TYPE_BYTES.get(column_type, DECIMAL_BYTES)
    return result


def as_table(title: str, off: Measured, on: Measured, widths: dict[str, float]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.ASCII2, min_width=78)
    table.add_column("")
    for heading in ("plain", "Merganser", "ratio"):
        table.add_column(heading, justify="right")

    def add(label: str, before: float, after: float, form) -> None:
        table.add_row(label, form(before), form(after), f"{before / after:.2f}x" if after else "")

    def carried(measured: Measured) -> float:
        return measured.aggregated_rows * sum(widths[column] for column in measured.group_columns)

    add("seconds", statistics.median(off.wall), statistics.median(on.wall), "{:.3f}".format)
    add("CPU seconds", statistics.median(off.cpu), statistics.median(on.cpu), "{:.3f}".format)
    add("MB read from files", off.bytes_read / 1e6, on.bytes_read / 1e6, "{:.1f}".format)
    add("MB of group columns aggregated", carried(off) / 1e6, carried(on) / 1e6, "{:,.1f}".format)
    add("columns grouped by", len(off.group_columns), len(on.group_columns), "{}".format)
    return table


def explain(console: Console, opened: Opener, queries: dict[str, str]) -> None:
    with opened() as connection:
        for name, text in queries.items():
            console.print(f"Why ({name})", style="bold")
            for section, item, fact in explanation(connection, text):
                if section != "plan":
                    console.print(Padding(in_words(section, item, fact), (0, 0, 0, 2), expand=False))


def in_words(section: str, item: str, fact: str) -> str:
    """A row of merganser_explain as a sentence."""
    if section == "timing":
        return f"Deciding took {fact}."
    if item == "fd":
        source, determined = fact.split("-->")
        return f"So {source} determines {determined}."
    words = {
        "estimate": "It is estimated that this {}.",
        "group key": "The narrow plan groups by {}.",
        "key": "Key: {}.",
        "proof": "Read for a proof: {}.",
        "equal": "The query says {}.",
        "foreign key": "Not joined in the narrow plan, by foreign key {}.",
    }
    return words.get(item, item + " {}.").format(fact)
