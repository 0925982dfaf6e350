"""Demo: unfiltered Q10 in stages on three nodes of Ray, with late materialisation off and on, rows compared."""

from itertools import zip_longest

import duckdb
import merganser
import tpch
from ray_cluster import NODES, small_cluster
from rich import box
from rich.console import Console
from rich.table import Table

TASKS = 6


def show(console: Console, scale: float) -> None:
    console.rule("Stages on Ray")
    query = tpch.without_filters(tpch.query(10), "o_orderdate", "l_returnflag")
    console.print(
        f"Q10 without its two filters on {NODES} nodes of one CPU each, on this machine; cluster starting ..."
    )
    with small_cluster() as cluster, merganser.connect(runner="ray", address=cluster.address) as connection:
        tpch.create_views(connection, tpch.parquet_folder(scale))
        tpch.declare_keys(connection, "VIEW")
        connection.execute(f"SET merganser_tasks = {TASKS}")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_worker_memory_limit = '2GB'")
        run(connection, query, rule=True)  # workers start, files are cached
        off_rows, off = run(connection, query, rule=False)
        on_rows, on = run(connection, query, rule=True)
    if sorted(off_rows) != sorted(on_rows):
        raise SystemExit("Q10 on Ray: the rule changed the rows; this is a bug, please report it")
    console.print(as_table(f"Stages: {len(on_rows)} rows, equal", off, on))
    console.print(
        "Task seconds are added up over the tasks of a stage; MB are what it writes as exchange files. Narrow keys "
        "cross the exchanges, wide columns do not.",
        style="dim",
    )


def run(connection: duckdb.DuckDBPyConnection, query: str, *, rule: bool) -> tuple[list[tuple], dict]:
    connection.execute(f"SET merganser_late_materialization = {str(rule).lower()}")
    rows = connection.execute(query).fetchall()
    return rows, merganser.last_query()


def as_table(title: str, off: dict, on: dict) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.ASCII2)
    for name in ("stage", "reads", "task s", "MB", "reads, Merganser", "task s", "MB"):
        table.add_column(name, justify="left" if name.startswith("reads") else "right")
    for number, pair in enumerate(zip_longest(off["stages"], on["stages"]), 1):
        table.add_row(str(number), *(cell for stage in pair for cell in cells(stage)))
    table.add_section()
    table.add_row("all", *(cell for report in (off, on) for cell in totals(report)))
    return table


def cells(stage: dict | None) -> tuple[str, str, str]:
    if stage is None:
        return "", "", ""
    return stage["reads"], f"{stage['task_seconds']:.2f}", f"{stage['bytes_out'] / 1e6:.2f}"


def totals(report: dict) -> tuple[str, str, str]:
    seconds = sum(stage["task_seconds"] for stage in report["stages"])
    size = sum(stage["bytes_out"] for stage in report["stages"])
    return f"{report['wall_seconds']:.2f} s from start to end", f"{seconds:.2f}", f"{size / 1e6:.2f}"
