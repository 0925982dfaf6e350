"""Demo: sessions of sensor readings, one level and nested, beside plain SQL window functions; rows compared."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import merganser
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))

from make_sensor_data import make_sensor_data  # noqa: E402

REGIONS = 8
READINGS_PER_DEVICE = 200
ROWS_AT_SCALE_1 = 4_000_000
RUNS = 3

SESSION = """\
SELECT * FROM SESSION(DATA => TABLE(sensor)
       PARTITION BY (tag1, tag2, tag3) ORDER BY time, GAP => 1m)"""
NESTED = """\
SELECT * FROM SESSION(DATA => (
    SELECT * FROM SESSION(DATA => TABLE(sensor)
           PARTITION BY (tag1, tag2, tag3) ORDER BY time, GAP => 1m))
       PARTITION BY (tag3, tag2, tag1) ORDER BY time, GAP => 2m)"""
WINDOWS = """\
SELECT min(time) OVER s AS window_start, max(time) OVER s AS window_end,
       * EXCLUDE (starts, session)
FROM (SELECT *, sum(starts) OVER (PARTITION BY tag1, tag2, tag3 ORDER BY time
                                  RANGE UNBOUNDED PRECEDING) AS session
      FROM (SELECT *, CASE WHEN time - lag(time) OVER device <= INTERVAL {gap} MINUTE
                           THEN 0 ELSE 1 END AS starts
            FROM {table} WINDOW device AS (PARTITION BY tag1, tag2, tag3 ORDER BY time)))
WINDOW s AS (PARTITION BY tag1, tag2, tag3, session)"""
ONE_IN_WINDOWS = WINDOWS.format(gap=1, table="sensor")
NESTED_IN_WINDOWS = WINDOWS.format(
    gap=2,
    table=f"(SELECT * RENAME (window_start AS window_start_1, window_end AS window_end_1) FROM ({ONE_IN_WINDOWS}))",
)
FLOOR = "SELECT tag1, tag2, tag3, time, temperature FROM sensor"


@dataclass
class Measured:
    wall: float
    cpu: float
    checksum: tuple


def show(console: Console, scale: float) -> None:
    devices = max(REGIONS, int(ROWS_AT_SCALE_1 * scale) // READINGS_PER_DEVICE)
    rows = devices * READINGS_PER_DEVICE
    folder = make_sensor_data(rows, devices, REGIONS)

    console.rule("Table functions, a folder of sensor data")
    console.print(
        f"{rows:,} readings of {devices:,} devices in {REGIONS} Parquet files. Every file holds whole devices, sorted; "
        "two statements say so:"
    )
    console.print("  ALTER VIEW sensor SET PARTITIONED BY (tag1, tag2, tag3);")
    console.print("  ALTER VIEW sensor SET SORTED BY (tag1, tag2, tag3, time);")
    with merganser.connect() as connection:
        connection.execute(
            f"CREATE VIEW sensor AS SELECT tag1, tag2, tag3, time, temperature FROM read_parquet('{folder}/*.parquet')"
        )
        connection.execute("ALTER VIEW sensor SET PARTITIONED BY (tag1, tag2, tag3)")
        connection.execute("ALTER VIEW sensor SET SORTED BY (tag1, tag2, tag3, time)")
        floor = best(connection, FLOOR, ["tag1", "tag2", "tag3", "time", "temperature"], RUNS)
        compare(console, connection, "SESSION: readings at most a minute apart", SESSION, ONE_IN_WINDOWS, floor)
        compare(
            console, connection, "SESSION in SESSION, partition columns turned round", NESTED, NESTED_IN_WINDOWS, floor
        )
    console.print(
        f"Every form computes a checksum over all values of all its rows, and they agree. Best of {RUNS} runs; window "
        "functions ran once. A session's rows leave when it closes, so memory does not grow with the data.",
        style="dim",
    )


def compare(
    console: Console, connection: duckdb.DuckDBPyConnection, title: str, call: str, windows: str, floor: Measured
) -> None:
    console.print()
    console.print(title, style="bold")
    console.print(Padding(call, (0, 0, 0, 2), expand=False))
    if windows == ONE_IN_WINDOWS:
        console.print("in plain SQL is")
        console.print(Padding(windows, (0, 0, 0, 2), expand=False), style="dim")
    columns = sorted(name for (name, *_) in connection.execute(f"DESCRIBE {call}").fetchall())
    ours = best(connection, call, columns, RUNS)
    plain = best(connection, windows, columns, 1)
    if ours.checksum != plain.checksum:
        raise SystemExit(f"{title}: the call and window functions give different rows; this is a bug, please report it")
    console.print(as_table(f"{ours.checksum[0]:,} rows, equal", floor, ours, plain))
    for reason in reasons(connection, call):
        console.print(Padding(Text(reason), (0, 0, 0, 2), expand=False))


def best(connection: duckdb.DuckDBPyConnection, query: str, columns: list[str], runs: int) -> Measured:
    """The least of some runs of the query, all its rows looked at."""
    checksum = f"SELECT count(*), sum(hash({', '.join(columns)})) FROM ({query})"

    def run() -> Measured:
        wall, cpu = time.perf_counter(), time.process_time()
        row = connection.execute(checksum).fetchone()
        return Measured(time.perf_counter() - wall, time.process_time() - cpu, row)

    return min((run() for _ in range(runs)), key=lambda measured: measured.cpu)


def as_table(title: str, floor: Measured, ours: Measured, plain: Measured) -> Table:
    table = Table(title=title, title_justify="left", box=box.ASCII2, min_width=78)
    table.add_column("")
    for heading in ("scan alone", "Merganser", "window functions", "windows / Merganser"):
        table.add_column(heading, justify="right")

    def add(label: str, seconds: Callable[[Measured], float]) -> None:
        texts = [f"{seconds(measured):.2f}" for measured in (floor, ours, plain)]
        table.add_row(label, *texts, f"{seconds(plain) / seconds(ours):.1f}x")

    add("seconds", lambda measured: measured.wall)
    add("CPU seconds", lambda measured: measured.cpu)
    return table


def reasons(connection: duckdb.DuckDBPyConnection, call: str) -> list[str]:
    """Why the call runs as it does, the innermost function first."""
    decisions = connection.execute(
        "SELECT text FROM merganser_explain(?) WHERE section = 'decision' AND item = 'grouping'", [call]
    ).fetchall()
    return [text.split(": ", 1)[1] + "." for (text,) in decisions]
