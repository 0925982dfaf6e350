"""Exchange files against Parquet and Arrow IPC: what writing and reading rows costs, and what comes back.

    python benchmark/exchange.py [--scale 1] [--rounds 5] [--threads 2]

Three relations: numbers (TPC-H's orders, three columns), text (its customers), and types that other formats change
(HUGEINT, UUID, INTERVAL, ENUM, a nested list). Each format writes each relation and reads it back, in turn, for
`--rounds` rounds; reading hashes every value. Rows are compared by a checksum over every row, cast
to text, outside the measured time; a format that gives other types or other rows back is shown as such. CPU seconds are
those of the process, all threads. The last line is one JSON object.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import merganser
import pyarrow
import pyarrow.ipc
import tpch
from rich import box
from rich.console import Console
from rich.table import Table

RELATIONS = {
    "numbers": "SELECT o_orderkey, o_custkey, o_totalprice FROM orders",
    "text": "FROM customer",
    "types": """SELECT c_custkey::HUGEINT << 70 AS huge, md5(c_name)::UUID AS id, to_days(c_nationkey) AS days,
                       ['new', 'old'][c_custkey % 2 + 1]::ENUM ('new', 'old') AS state, [[c_custkey], []] AS lists
                FROM customer""",
}
Connection = duckdb.DuckDBPyConnection


def copy_with(options: str) -> Callable[[Connection, Path], None]:
    return lambda connection, path: connection.execute(f"COPY rows TO '{path}' ({options})")


def write_arrow(compression: str | None) -> Callable[[Connection, Path], None]:
    def write(connection: Connection, path: Path) -> None:
        batches = connection.sql("FROM rows").to_arrow_reader()
        options = pyarrow.ipc.IpcWriteOptions(compression=compression)
        with (
            pyarrow.OSFile(str(path), "wb") as file,
            pyarrow.ipc.new_file(file, batches.schema, options=options) as out,
        ):
            for batch in batches:
                out.write_batch(batch)

    return write


def read_with(source: str) -> Callable[[Connection, Path, str], tuple]:
    return lambda connection, path, seen: connection.execute(seen.format(source.format(path))).fetchall()


def read_arrow(connection: Connection, path: Path, seen: str) -> list[tuple]:
    with pyarrow.memory_map(str(path)) as file:
        arrow = pyarrow.ipc.open_file(file).read_all()
        connection.register("arrow_rows", arrow)
        result = connection.execute(seen.format("arrow_rows")).fetchall()
        connection.unregister("arrow_rows")
    return result


EXCHANGE = "merganser_exchange(['{}'])"
FORMATS = {
    "exchange": (copy_with("FORMAT merganser_exchange"), read_with(EXCHANGE)),
    "exchange, LZ4": (copy_with("FORMAT merganser_exchange, COMPRESSION lz4"), read_with(EXCHANGE)),
    "Parquet": (copy_with("FORMAT parquet, COMPRESSION uncompressed"), read_with("read_parquet('{}')")),
    "Parquet, Snappy": (copy_with("FORMAT parquet"), read_with("read_parquet('{}')")),
    "Arrow IPC": (write_arrow(None), read_arrow),
    "Arrow IPC, LZ4": (write_arrow("lz4"), read_arrow),
}
CHECKSUM = "SELECT count(*), bit_xor(hash(COLUMNS(*)::VARCHAR)) FROM {}"
TYPES = "SELECT column_type FROM (DESCRIBE FROM {})"


def measured(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(connection: Connection, folder: Path, rounds: int) -> dict[str, dict]:
    seen = "SELECT count(*), bit_xor(hash(COLUMNS(*))) FROM {}"
    samples = {name: {"write": [], "read": []} for name in FORMATS}
    for round_number in range(rounds):
        for name, (write, read) in FORMATS.items():
            path = folder / f"{name}-{round_number}"
            samples[name]["write"].append(measured(lambda write=write, path=path: write(connection, path)))
            samples[name]["read"].append(measured(lambda read=read, path=path: read(connection, path, seen)))
    expected = [connection.execute(query.format("rows")).fetchall() for query in (CHECKSUM, TYPES)]
    results = {}
    for name, (_, read) in FORMATS.items():
        path = folder / f"{name}-0"
        found = [read(connection, path, query) for query in (CHECKSUM, TYPES)]
        results[name] = {
            f"{step}_{unit}": round(statistics.median(sample[i] for sample in samples[name][step]), 4)
            for step in ("write", "read")
            for i, unit in enumerate(("wall", "cpu"))
        }
        results[name] |= {
            "cpu_spread": [round(edge(sample[1] for sample in samples[name]["write"]), 4) for edge in (min, max)],
            "mb": round(path.stat().st_size / 1e6, 2),
            "rows_equal": found[0] == expected[0],
            "types_equal": found[1] == expected[1],
        }
    return results


def as_table(relation: str, results: dict[str, dict]) -> Table:
    table = Table(title=relation, title_justify="left", box=box.ASCII2)
    for column in ("format", "write CPU s", "read CPU s", "write s", "read s", "MB", "rows", "types"):
        table.add_column(column, justify="left" if column == "format" else "right")
    for name, result in results.items():
        figures = [f"{result[key]:.3f}" for key in ("write_cpu", "read_cpu", "write_wall", "read_wall")]
        same = ["same" if result[key] else "changed" for key in ("rows_equal", "types_equal")]
        table.add_row(name, *figures, f"{result['mb']:.1f}", *same)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    console = Console(highlight=False, width=110)
    results = {}
    for relation, query in RELATIONS.items():
        with (
            merganser.connect(config={"threads": str(arguments.threads)}) as connection,
            tempfile.TemporaryDirectory() as f,
        ):
            tpch.create_views(connection, tpch.parquet_folder(arguments.scale))
            connection.execute(f"CREATE TABLE rows AS {query}")
            results[relation] = measure(connection, Path(f), arguments.rounds)
        console.print(as_table(relation, results[relation]))
        for name in ("exchange", "exchange, LZ4"):
            if not (results[relation][name]["rows_equal"] and results[relation][name]["types_equal"]):
                raise SystemExit(f"{name} gives other rows or types back: {relation}")
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, DuckDB {duckdb.__version__}, pyarrow {pyarrow.__version__}"
    )
    print(json.dumps({"machine": machine, "load": os.getloadavg(), "scale": arguments.scale, "results": results}))


if __name__ == "__main__":
    main()
