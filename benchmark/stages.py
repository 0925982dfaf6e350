"""Measure TPC-H in stages, on the local runner and on Ray, against plain DuckDB; rows compared.

    python benchmark/stages.py [--quick] [--scale 1] [--runs 3] [--tasks 8] [--files 8] [--nodes 2]
                               [--forms plain local ray]

Forms: `plain` is DuckDB alone, `local` this process' threads, `ray` a cluster of one-CPU nodes on this machine. All use
views over Parquet, one file a table or `--files` of them, and no declared keys. Every query runs once unmeasured, then
`--runs` times in turn with the other forms.

Measured: wall seconds; CPU seconds, on Ray also of the processes of its cluster; MB of exchange files; peak memory, the
sum over these processes of the largest resident set since the query began. Rows must be equal; numbers may
differ by a relative 1e-9, because sums are added up in another order. The last line is JSON: medians of every query and
form, and their totals.
"""

import argparse
import contextlib
import json
import math
import os
import statistics
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import merganser
import tpch
from ray_cluster import small_cluster
from rich import box
from rich.console import Console
from rich.table import Table

FORMS = ("plain", "local", "ray")
QUERIES = range(1, 23)
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    wall: float
    cpu: float
    exchanged_mb: float
    peak_mb: float
    stages: int


def main() -> None:
    arguments = parsed_arguments()
    console = Console(highlight=False, width=110)
    folder = files_of(arguments.scale, arguments.files)
    with contextlib.ExitStack() as stack:
        opened = {form: open_form(stack, form, folder, arguments) for form in arguments.forms}
        samples = {form: defaultdict(list) for form in arguments.forms}
        for number in QUERIES:
            measure_query(number, opened, samples, arguments.runs)
            console.print(f"Q{number}: " + ", ".join(in_words(form, samples[form][number]) for form in arguments.forms))
    medians = {form: {n: median_of(taken) for n, taken in samples[form].items()} for form in arguments.forms}
    totals = {form: total_of(list(medians[form].values())) for form in arguments.forms}
    console.print(as_table(arguments, totals))
    print(json.dumps(as_result(arguments, medians, totals)))


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="scale 0.1, one run of each")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=8, help="tasks a stage (default: 8)")
    parser.add_argument("--files", type=int, default=1, help="files a table (default: 1)")
    parser.add_argument("--nodes", type=int, default=2, help="nodes of the Ray cluster, one CPU each (default: 2)")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.scale, arguments.runs = 0.1, 1
    return arguments


def files_of(scale: float, files: int) -> Path:
    """The folder with TPC-H's tables; with several files a table, `<table>-<number>.parquet`, made the first time."""
    source = tpch.parquet_folder(scale)
    if files == 1:
        return source

    def generate(folder: Path) -> None:
        folder.mkdir()
        for table in tpch.TABLES:
            rows = duckdb.execute(f"SELECT count(*) FROM '{source}/{table}.parquet'").fetchone()[0]
            for number in range(files):
                first, last = rows * number // files, rows * (number + 1) // files - 1
                part = f"FROM read_parquet('{source}/{table}.parquet', file_row_number := true)"
                part = f"SELECT * EXCLUDE file_row_number {part} WHERE file_row_number BETWEEN {first} AND {last}"
                duckdb.execute(f"COPY ({part}) TO '{folder}/{table}-{number}.parquet'")

    return tpch.built_once(tpch.DATA / "tpch" / f"sf{scale:g}-{files}-files", generate)


def open_form(stack: contextlib.ExitStack, form: str, folder: Path, arguments: argparse.Namespace):
    address = stack.enter_context(small_cluster(arguments.nodes)).address if form == "ray" else None
    runner = "" if form == "plain" else form
    connection = stack.enter_context(merganser.connect(runner=runner, address=address))
    for table in tpch.TABLES:
        pattern = f"{table}.parquet" if arguments.files == 1 else f"{table}-*.parquet"
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{pattern}')")
    connection.execute(f"SET merganser_tasks = {arguments.tasks}")
    connection.execute("SET merganser_distribute_min_bytes = 0")
    connection.execute("SET merganser_progress = false")
    return connection


# ---------------------------------------------------------------- measuring


def measure_query(number: int, opened: dict, samples: dict, runs: int) -> None:
    text = tpch.query(number)
    rows = {form: connection.execute(text).fetchall() for form, connection in opened.items()}
    first = next(iter(rows))
    for form, found in rows.items():
        if not equal(rows[first], found):
            raise SystemExit(f"Q{number}: {form} returns other rows than {first}; this is a bug, please report it")
    for _ in range(runs):
        for form, connection in opened.items():
            samples[form][number].append(measured(form, connection, text))


def measured(form: str, connection: duckdb.DuckDBPyConnection, text: str) -> Measured:
    processes = with_all_below(os.getpid()) if form == "ray" else [os.getpid()]
    for process in processes:
        with contextlib.suppress(OSError):  # it has just ended
            (Path("/proc") / str(process) / "clear_refs").write_text("5")  # the peak counts from now
    wall, cpu = time.perf_counter(), cpu_seconds(processes)
    connection.execute(text).fetchall()
    wall = time.perf_counter() - wall
    stages = [] if form == "plain" else merganser.last_query()["stages"]
    return Measured(
        wall=wall,
        cpu=cpu_seconds(processes) - cpu,
        exchanged_mb=sum(stage["bytes_out"] for stage in stages) / 1e6,
        peak_mb=sum(peak_mb(process) for process in processes),
        stages=len(stages),
    )


def with_all_below(process: int) -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    result = [process]
    for known in result:
        result.extend(child for child, parent in parents.items() if parent == known)
    return result


def cpu_seconds(processes: list[int]) -> float:
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):  # an idle process of Ray has ended
            fields = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def peak_mb(process: int) -> float:
    try:
        status = (Path("/proc") / str(process) / "status").read_text()
    except OSError:  # an idle process of Ray has ended
        return 0
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def equal(left: list[tuple], right: list[tuple]) -> bool:
    return len(left) == len(right) and all(
        all(same(a, b) for a, b in zip(x, y, strict=True)) for x, y in zip(ordered(left), ordered(right), strict=True)
    )


def ordered(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row])


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


# ---------------------------------------------------------------- telling


def median_of(taken: list[Measured]) -> dict[str, float]:
    fields = [asdict(sample) for sample in taken]
    return {name: statistics.median(sample[name] for sample in fields) for name in fields[0]}


def total_of(medians: list[dict[str, float]]) -> dict[str, float]:
    total = {name: sum(median[name] for median in medians) for name in ("wall", "cpu", "exchanged_mb", "stages")}
    return {**total, "peak_mb": max(median["peak_mb"] for median in medians)}


def in_words(form: str, taken: list[Measured]) -> str:
    median = median_of(taken)
    return f"{form} {median['wall']:.2f} s ({median['cpu']:.2f} s CPU)"


def as_table(arguments: argparse.Namespace, totals: dict[str, dict[str, float]]) -> Table:
    title = (
        f"TPC-H, scale {arguments.scale:g}, {arguments.files} files a table, {arguments.tasks} tasks, all 22 queries"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=box.ASCII2)
    for name in ("", "seconds", "CPU seconds", "MB exchanged", "largest peak MB"):
        table.add_column(name, justify="left" if not name else "right")
    for form, total in totals.items():
        figures = (total["wall"], total["cpu"], total["exchanged_mb"], total["peak_mb"])
        table.add_row(form, *(f"{figure:.2f}" for figure in figures))
    return table


def as_result(arguments: argparse.Namespace, medians: dict, totals: dict) -> dict:
    return {
        "benchmark": "stages",
        "scale": arguments.scale,
        "runs": arguments.runs,
        "tasks": arguments.tasks,
        "files": arguments.files,
        "nodes": arguments.nodes,
        "cores": os.cpu_count(),
        "totals": rounded(totals),
        "queries": {form: rounded(of_form) for form, of_form in medians.items()},
    }


def rounded(groups: dict) -> dict:
    return {key: {name: round(value, 4) for name, value in figures.items()} for key, figures in groups.items()}


if __name__ == "__main__":
    main()
