"""Measure TPC-H in stages, on the local runner and on Ray, against plain DuckDB and other engines; rows compared.

    python benchmark/stages.py [--quick] [--scale 1] [--runs 3] [--files 8] [--tasks 8] [--nodes 2] [--always]
                               [--forms plain local ray] [--queries 1 6] [--peer vane=venv/bin/python]

Forms: `plain` is DuckDB alone, `local` this process' threads, `ray` a cluster of one-CPU nodes on this machine;
settings are the defaults, so that small queries stay in DuckDB alone, or with `--always` every query runs in stages. A
peer is an engine of benchmark/stages_peer.py and the Python of a virtual environment that has it. All read Parquet
files, one a table or `--files` of them, without declared keys. Every query runs once unmeasured, then `--runs` times in
turn with the others.

Measured: wall seconds; CPU seconds of all processes of the form; MB of exchange files (of our forms); peak memory, the
sum over the processes of the largest resident set since the query began. Rows must be equal; numbers may differ by a
relative 1e-9, because sums are added up in another order, and by 1e-4 in peers, whose decimals have fewer digits. A
peer that cannot run a query, or not within a minute, is told so for each query and is out of its totals.

With `ray` also: the time from a cluster that is up to the first query's rows, and Q10 without its filters with keys
declared, late materialisation on and off. The last line is JSON: medians of every query and form, totals, the rest.
"""

import argparse
import contextlib
import json
import math
import os
import select
import signal
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
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
PEER_SECONDS = 60
PEER_START_SECONDS = 180
OWN_TOLERANCE = 1e-9
PEER_TOLERANCE = 1e-4


@dataclass
class Measured:
    wall: float
    cpu: float
    exchanged_mb: float | None
    peak_mb: float
    stages: int


class Failure(Exception):
    """A peer did not return the rows of a query; the message says why."""


def main() -> None:
    arguments = parsed_arguments()
    console = Console(highlight=False, width=120)
    folder = files_of(arguments.scale, arguments.files)
    with contextlib.ExitStack() as stack:
        forms, first_query = open_forms(stack, folder, arguments)
        for name, python in arguments.peer:
            forms[name] = stack.enter_context(contextlib.closing(Peer(name, python, folder, arguments.files)))
        samples = {name: defaultdict(list) for name in forms}
        failures = {name: {} for name in forms}
        for number in arguments.queries:
            measure_query(number, forms, samples, failures, arguments.runs)
            console.print(f"Q{number}: " + ", ".join(in_words(name, number, samples, failures) for name in forms))
        q10 = unfiltered_q10(forms["ray"], arguments) if "ray" in forms else {}
    medians = {name: {n: median_of(taken) for n, taken in samples[name].items()} for name in forms}
    totals = {name: total_of(list(medians[name].values())) for name in forms}
    console.print(as_table(arguments, medians, totals))
    if q10:
        console.print(
            f"Ray: first rows {first_query:.2f} s after the cluster was up. Q10 unfiltered: {q10_in_words(q10)}"
        )
    print(json.dumps(as_result(arguments, medians, totals, failures, first_query, q10)))


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="scale 0.1, one run of each, every query in stages")
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tasks", type=int, help="most tasks a stage (default: the setting's)")
    parser.add_argument("--files", type=int, default=1, help="files a table (default: 1)")
    parser.add_argument("--nodes", type=int, default=2, help="nodes of the Ray cluster, one CPU each (default: 2)")
    parser.add_argument("--always", action="store_true", help="every query in stages, however small")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--queries", nargs="+", type=int, choices=QUERIES, default=QUERIES)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON", type=lambda t: t.split("=", 1))
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.scale, arguments.runs, arguments.always = 0.1, 1, True
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


def pattern_of(table: str, files: int) -> str:
    return f"{table}.parquet" if files == 1 else f"{table}-*.parquet"


# ---------------------------------------------------------------- what is measured


class Own:
    """One of our forms."""

    def __init__(self, form: str, connection: duckdb.DuckDBPyConnection) -> None:
        self.form = form
        self.connection = connection
        self.tolerance = OWN_TOLERANCE
        self.report: dict | None = None

    def processes(self) -> list[int]:
        return with_all_below(os.getpid(), without=Peer.running) if self.form == "ray" else [os.getpid()]

    def run(self, text: str) -> tuple[float, list[tuple]]:
        before = merganser.last_query()
        began = time.perf_counter()
        rows = self.connection.execute(text).fetchall()
        wall = time.perf_counter() - began
        report = merganser.last_query()
        self.report = report if report != before else None
        return wall, rows

    def stages(self) -> list[dict]:
        """Of the query that has just run; none where it ran in DuckDB alone."""
        return self.report["stages"] if self.report else []


class Peer:
    """Another engine in a process of its own, which is started again when it has died or takes too long."""

    #: The processes of all peers, without those they started.
    running: set[int] = set()

    def __init__(self, name: str, python: str, folder: Path, files: int) -> None:
        self.name = name
        self.python = Path(python).absolute()
        self.tables = {
            table: [str(path) for path in sorted(folder.glob(pattern_of(table, files)))] for table in tpch.TABLES
        }
        self.folder = tempfile.TemporaryDirectory(prefix="mr-peer-", ignore_cleanup_errors=True)
        self.process: subprocess.Popen | None = None
        self.version = ""
        self.tolerance = PEER_TOLERANCE

    def start(self) -> None:
        script = Path(__file__).absolute().with_name("stages_peer.py")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTHONPATH"))}
        self.process = subprocess.Popen(
            [self.python, script, self.name, json.dumps(self.tables)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=self.folder.name,  # some leave files where they are started
            start_new_session=True,
        )
        Peer.running.add(self.process.pid)
        try:
            self.version = self.answer(PEER_START_SECONDS)["version"]
        except Failure:
            self.close()
            raise

    def processes(self) -> list[int]:
        return with_all_below(self.process.pid) if self.process else []

    def run(self, text: str) -> tuple[float, list[tuple]]:
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(json.dumps({"sql": text}).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.close()
            raise Failure("its process ended") from None
        answer = self.answer(PEER_SECONDS)
        return answer["wall"], [tuple(row) for row in answer["rows"]]

    def stages(self) -> list[dict]:
        return []

    def answer(self, seconds: float) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.close()
            raise Failure("its process ended" if ready else f"no answer within {seconds} s")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def close(self) -> None:
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(process, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            Peer.running.discard(self.process.pid)
            self.process = None


def open_forms(stack: contextlib.ExitStack, folder: Path, arguments: argparse.Namespace) -> tuple[dict, float | None]:
    """The forms by name, and how long the first query on Ray took from a cluster that was up."""
    forms, first_query = {}, None
    for form in arguments.forms:
        address = stack.enter_context(small_cluster(arguments.nodes)).address if form == "ray" else None
        began = time.perf_counter()
        connection = stack.enter_context(merganser.connect(runner="" if form == "plain" else form, address=address))
        for table in tpch.TABLES:
            pattern = pattern_of(table, arguments.files)
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{pattern}')")
        connection.execute("SET merganser_progress = false")
        if arguments.tasks:
            connection.execute(f"SET merganser_tasks = {arguments.tasks}")
        connection.execute("SET merganser_distribute_min_bytes = 1")
        if form == "ray":
            connection.execute(tpch.query(6)).fetchall()
            first_query = time.perf_counter() - began
        if not arguments.always:
            connection.execute("RESET merganser_distribute_min_bytes")
        forms[form] = Own(form, connection)
    return forms, first_query


# ---------------------------------------------------------------- measuring


def measure_query(number: int, forms: dict, samples: dict, failures: dict, runs: int) -> None:
    text = tpch.query(number)
    expected = next(iter(forms.values())).run(text)[1]
    for name, form in forms.items():
        try:
            if not equal(expected, form.run(text)[1], form.tolerance):
                raise Failure("it returns other rows")
        except Failure as failure:
            failures[name][number] = str(failure)
            if name in FORMS:
                raise SystemExit(f"Q{number}, {name}: {failure}; this is a bug, please report it") from None
    for _ in range(runs):
        for name, form in forms.items():
            if number not in failures[name]:
                samples[name][number].append(measured(form, lambda form=form: form.run(text)[0]))


def measured(form: Own | Peer, run: Callable[[], float]) -> Measured:
    processes = form.processes()
    for process in processes:
        with contextlib.suppress(OSError):  # it has just ended
            (Path("/proc") / str(process) / "clear_refs").write_text("5")  # the peak counts from now
    cpu = cpu_seconds(processes)
    wall = run()
    stages = form.stages()
    return Measured(
        wall=wall,
        cpu=cpu_seconds(processes) - cpu,
        exchanged_mb=sum(stage["bytes_out"] for stage in stages) / 1e6 if isinstance(form, Own) else None,
        peak_mb=sum(peak_mb(process) for process in processes),
        stages=len(stages),
    )


def unfiltered_q10(ray: Own, arguments: argparse.Namespace) -> dict:
    """Q10 without its filters, with keys declared, in stages: late materialisation off and on, same rows."""
    query = tpch.without_filters(tpch.query(10), "o_orderdate", "l_returnflag")
    tpch.declare_keys(ray.connection, "VIEW")
    ray.connection.execute("SET merganser_distribute_min_bytes = 1")
    result, rows = {}, {}
    for switch in ("off", "on"):
        ray.connection.execute(f"SET merganser_late_materialization = {'true' if switch == 'on' else 'false'}")
        rows[switch] = ray.run(query)[1]
        taken = [measured(ray, lambda: ray.run(query)[0]) for _ in range(arguments.runs)]
        result[switch] = median_of(taken)
    if not equal(rows["off"], rows["on"], OWN_TOLERANCE):
        raise SystemExit("Q10 on Ray: late materialisation changed the rows; this is a bug, please report it")
    return result


def with_all_below(process: int, without: Collection[int] = ()) -> list[int]:
    """The process and those it started, and so on; not `without` and what these started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    result = [process]
    for known in result:
        result.extend(child for child, parent in parents.items() if parent == known and child not in without)
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


def equal(left: list[tuple], right: list[tuple], tolerance: float) -> bool:
    left, right = comparable(left), comparable(right)
    if len(left) != len(right):
        return False
    return same_rows(left, right, tolerance) or same_rows(ordered(left), ordered(right), tolerance)


def same_rows(left: list[tuple], right: list[tuple], tolerance: float) -> bool:
    return all(
        len(x) == len(y) and all(same(a, b, tolerance) for a, b in zip(x, y, strict=True))
        for x, y in zip(left, right, strict=True)
    )


def comparable(rows: list[tuple]) -> list[tuple]:
    return [tuple(plain_value(value) for value in row) for row in rows]


def plain_value(value):
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat()[:10] if isinstance(value, date) else value


def ordered(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row])


def same(left, right, tolerance: float) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        return numbers and math.isclose(left, right, rel_tol=tolerance)
    return left == right


# ---------------------------------------------------------------- telling


def median_of(taken: list[Measured]) -> dict[str, float | None]:
    fields = [asdict(sample) for sample in taken]
    return {
        name: None if fields[0][name] is None else statistics.median(sample[name] for sample in fields)
        for name in fields[0]
    }


def total_of(medians: list[dict]) -> dict[str, float | None]:
    names = ("wall", "cpu", "exchanged_mb", "stages")
    total = {
        name: None if any(median[name] is None for median in medians) else sum(median[name] for median in medians)
        for name in names
    }
    return {**total, "peak_mb": max((median["peak_mb"] for median in medians), default=0), "queries": len(medians)}


def in_words(name: str, number: int, samples: dict, failures: dict) -> str:
    if number in failures[name]:
        return f"{name} fails ({failures[name][number]})"
    median = median_of(samples[name][number])
    return f"{name} {median['wall']:.2f} s ({median['cpu']:.2f} s CPU)"


def q10_in_words(q10: dict) -> str:
    return ", ".join(
        f"late materialisation {switch} {median['exchanged_mb']:.1f} MB, {median['wall']:.2f} s, "
        f"{median['cpu']:.2f} s CPU"
        for switch, median in q10.items()
    )


def as_table(arguments: argparse.Namespace, medians: dict, totals: dict) -> Table:
    title = f"TPC-H, scale {arguments.scale:g}, {arguments.files} files a table; in brackets: plain, the same queries"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.ASCII2)
    for name in ("", "queries", "seconds", "CPU seconds", "MB exchanged", "largest peak MB"):
        table.add_column(name, justify="left" if not name else "right")
    for name, total in totals.items():
        plain = total_of([medians["plain"][n] for n in medians[name]]) if "plain" in medians else None
        table.add_row(
            name,
            str(total["queries"]),
            figure(total["wall"], plain and plain["wall"]),
            figure(total["cpu"], plain and plain["cpu"]),
            figure(total["exchanged_mb"], None),
            figure(total["peak_mb"], None),
        )
    return table


def figure(value: float | None, beside: float | None) -> str:
    text = "-" if value is None else f"{value:.2f}"
    return text if beside is None else f"{text} ({beside:.2f})"


def as_result(
    arguments: argparse.Namespace, medians: dict, totals: dict, failures: dict, first_query: float | None, q10: dict
) -> dict:
    return {
        "benchmark": "stages",
        "scale": arguments.scale,
        "runs": arguments.runs,
        "files": arguments.files,
        "nodes": arguments.nodes,
        "always": arguments.always,
        "cores": os.cpu_count(),
        "totals": rounded(totals),
        "first_query_seconds": first_query,
        "unfiltered_q10": rounded(q10),
        "failures": {name: texts for name, texts in failures.items() if texts},
        "queries": {name: rounded(of_form) for name, of_form in medians.items()},
    }


def rounded(groups: dict) -> dict:
    return {
        key: {name: None if value is None else round(value, 4) for name, value in figures.items()}
        for key, figures in groups.items()
    }


if __name__ == "__main__":
    main()
