"""Measure what Merganser costs or gains on all 22 TPC-H and 99 TPC-DS queries, against DuckDB without the extension.

    python benchmark/tpc_overhead.py [--tpch 1] [--tpcds 0.1] [--seconds 1] [--threads 1]

Two processes, one without the extension and one with it and every primary key declared, run each query in turn, in
changing order, until it has run at least 5 times and `--seconds` of CPU time in each. Ratios compare medians of CPU
seconds, which other work on the machine disturbs less than wall time; most queries take a few milliseconds, where a
ratio is noise, so each outlier beyond 1.15 in either direction is measured again, five times as long, before it is
reported.
The last line is JSON: totals, their ratio, the worst queries, and where the rule applied.
"""

import argparse
import json
import statistics
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection

import duckdb
import tpch
from make_tpcds import make_tpcds
from rich import box
from rich.console import Console
from rich.table import Table
from tpc_declarations import TPCDS_PRIMARY_KEYS, primary_key_statements

LIMIT_ONE, LIMIT_ALL = 1.15, 1.05
MIN_RUNS = 5


def serve(pipe: Connection, with_extension: bool, database: str, statements: list[str], threads: int) -> None:
    """Run the queries that come through the pipe; answer with CPU and wall seconds and the decisions of the rule."""
    if with_extension:
        import merganser as module
    else:
        module = duckdb
    connection = module.connect(database, read_only=True)
    connection.execute(f"SET threads = {threads}")
    for statement in statements if with_extension else []:
        connection.execute(statement)
    while text := pipe.recv():
        wall, cpu = time.perf_counter(), time.process_time()
        connection.execute(text).fetchall()
        pipe.send((time.process_time() - cpu, time.perf_counter() - wall))
    for text in iter(pipe.recv, None):
        rows = connection.execute("SELECT text FROM merganser_explain(?) WHERE section = 'decision'", [text]).fetchall()
        pipe.send([row[0].split(":")[0] for row in rows])


class Engine:
    """A process with a database open."""

    def __init__(self, with_extension: bool, database: str, statements: list[str], threads: int):
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        arguments = (other, with_extension, database, statements, threads)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()

    def run(self, text: str) -> tuple[float, float]:
        return self.ask(text)

    def ask(self, text: str):
        self.pipe.send(text)
        return self.pipe.recv()


def compare(plain: Engine, on: Engine, text: str, seconds: float) -> tuple[float, float, int]:
    """Median CPU seconds of both and the number of runs; the first run of each is not counted."""
    plain.run(text), on.run(text)
    samples: dict[Engine, list[float]] = {plain: [], on: []}
    while len(samples[on]) < MIN_RUNS or sum(samples[on]) < seconds:
        order = (plain, on) if len(samples[on]) % 2 == 0 else (on, plain)
        for engine in order:
            samples[engine].append(engine.run(text)[0])
    return statistics.median(samples[plain]), statistics.median(samples[on]), len(samples[on])


def measure(benchmark: str, database: str, statements: list[str], arguments: argparse.Namespace) -> dict:
    plain = Engine(False, database, statements, arguments.threads)
    on = Engine(True, database, statements, arguments.threads)
    queries = texts_of(benchmark)
    rows = []
    for number, text in queries.items():
        before, after, runs = compare(plain, on, text, arguments.seconds)
        if not 1 / LIMIT_ONE <= after / before <= LIMIT_ONE:
            before, after, runs = compare(plain, on, text, 5 * arguments.seconds)
        rows.append({"query": number, "plain": before, "on": after, "ratio": after / before, "runs": runs})
    on.pipe.send(None)
    for row in rows:
        row["decisions"] = on.ask(queries[row["query"]])
    plain.process.terminate()
    on.process.terminate()
    total = sum(row["on"] for row in rows) / sum(row["plain"] for row in rows)
    return {"benchmark": benchmark, "total_ratio": total, "queries": rows}


def texts_of(benchmark: str) -> dict[int, str]:
    folder = {"tpch": "tpch/dbgen/queries", "tpcds": "tpcds/dsdgen/queries"}[benchmark]
    files = sorted((tpch.duckdb_source() / "extension" / folder).glob("*.sql"))
    return {int(path.stem.lstrip("q")): path.read_text() for path in files}


def show(console: Console, result: dict) -> None:
    worst = sorted(result["queries"], key=lambda row: -row["ratio"])
    applied = [row["query"] for row in worst if "applied" in row["decisions"]]
    console.print(
        f"{result['benchmark']}: all {len(worst)} queries take {result['total_ratio']:.3f} of plain DuckDB's CPU time "
        f"(limit {LIMIT_ALL}); applied in {sorted(applied)}"
    )
    table = Table(box=box.ASCII2, title="slowest against plain, and where it applied", title_justify="left")
    for heading in ("query", "plain CPU ms", "Merganser CPU ms", "ratio", "runs", "decisions"):
        table.add_column(heading, justify="right" if heading != "decisions" else "left")
    for row in worst[:5] + [row for row in worst[5:] if "applied" in row["decisions"]]:
        cells = (f"{row['plain'] * 1000:.2f}", f"{row['on'] * 1000:.2f}", f"{row['ratio']:.3f}", str(row["runs"]))
        table.add_row(str(row["query"]), *cells, ", ".join(row["decisions"]))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tpch", type=float, default=1, metavar="SCALE", help="0 leaves it out (default: 1)")
    parser.add_argument("--tpcds", type=float, default=0.1, metavar="SCALE", help="0 leaves it out (default: 0.1)")
    parser.add_argument("--seconds", type=float, default=1, help="CPU seconds to spend on a query (default: 1)")
    parser.add_argument("--quick", action="store_true", help="short form: scales 0.1 and 0.01, 0.1 CPU seconds a query")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.tpch, arguments.tpcds, arguments.seconds = 0.1, 0.01, 0.1
    console = Console(highlight=False, width=110)
    results = []
    if arguments.tpch:
        keys = tpch.key_statements("TABLE")
        results.append(measure("tpch", str(tpch.native_database(arguments.tpch)), keys, arguments))
    if arguments.tpcds:
        keys = primary_key_statements("TABLE", TPCDS_PRIMARY_KEYS)
        results.append(measure("tpcds", str(make_tpcds(arguments.tpcds)), keys, arguments))
    for result in results:
        show(console, result)
    worst = max(row["ratio"] for result in results for row in result["queries"])
    totals = {result["benchmark"]: round(result["total_ratio"], 4) for result in results}
    print(json.dumps({"total_ratio": totals, "worst_ratio": round(worst, 4), "results": results}))


if __name__ == "__main__":
    main()
