"""Ordinary windows over data in order, against DuckDB's own: CPU nanoseconds a row, and equal rows.

    python benchmark/ordered_data.py [--rows 4000000 --devices 1000 --regions 8 --threads 2] [--rounds 3]
                                     [--layouts recorded table ...] [--cases lag ...]

The same rows lie in files written by COPY (FORMAT merganser_regions), in files whose layout a view declares, and where
nobody has said how they lie: files of whole devices, hive folders of devices, an export sorted by device and cut into
files, a table in the same order, a file a day with all devices, and shuffled files. Each case runs with
merganser_ordered_windows on and off in turn, the fastest round counts, and whether the window ran as expected is
asserted. Checksums over every row must be equal: values are multiples of 1/64, whose sums are exact in every order of
addition, and deviations, which are not, are rounded to three digits. The last line is one JSON object.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import duckdb
import merganser

SERIES = """
    SELECT 'device-' || lpad((i // {per_device})::VARCHAR, 6, '0') AS device,
           TIMESTAMP '2026-01-01' + INTERVAL 10 SECOND * (i % {per_device}) AS time,
           (hash(i) % 6400) / 64 AS v, CASE WHEN hash(-i) % 10 < 7 THEN (hash(i + 1) % 640) / 64 END AS sparse
    FROM range({rows}) r(i)"""
BY_TIME = "PARTITION BY device ORDER BY time"
CASES = {
    "lag": f"v - lag(v) OVER ({BY_TIME})",
    "row_number": f"row_number() OVER ({BY_TIME})",
    "locf": f"last_value(sparse IGNORE NULLS) OVER ({BY_TIME})",
    "running sum": f"sum(v) OVER ({BY_TIME})",
    "moving average, 10 minutes": (
        f"avg(v) OVER ({BY_TIME} RANGE BETWEEN INTERVAL 10 MINUTE PRECEDING AND CURRENT ROW)"
    ),
    "z-score of 100 rows": (
        f"(v - avg(v) OVER ({BY_TIME} ROWS 99 PRECEDING)) / stddev_pop(v) OVER ({BY_TIME} ROWS 99 PRECEDING)"
    ),
    "median of 61 rows": f"median(v) OVER ({BY_TIME} ROWS BETWEEN 30 PRECEDING AND 30 FOLLOWING)",
}
LAYOUTS = {
    "recorded": "region_local",
    "declared": "region_local",
    "clustered": "region_local",
    "folders": "region_local",
    "export": "region_local",
    "stored": "region_local",
    "days": "unordered_input",
    "shuffled": "unordered_input",
}
#: Where the layout is found, or none is, these stand for all.
FEW_CASES = ("lag", "locf", "moving average, 10 minutes")
DECISIONS = """
    SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision' AND item = 'ordered_windows'
"""


def open_session(folder: Path, args: argparse.Namespace) -> duckdb.DuckDBPyConnection:
    connection = merganser.connect(config={"threads": args.threads})
    series = SERIES.format(rows=args.rows, per_device=args.rows // args.devices)
    connection.execute(
        f"COPY ({series}) TO '{folder}/regions' "
        f"(FORMAT merganser_regions, PARTITION_BY (device), ORDER_BY (time), REGIONS {args.regions})"
    )
    connection.execute(f"CREATE VIEW recorded AS FROM read_parquet('{folder}/regions/*.parquet')")
    # the same rows where nothing is recorded
    connection.execute("CREATE TEMP TABLE series AS FROM recorded ORDER BY device, time")
    for kind in ("declared", "clustered", "export", "days", "shuffled"):
        (folder / kind).mkdir()
        write_files(connection, folder / kind, kind, args)
        connection.execute(f"CREATE VIEW {kind} AS FROM read_parquet('{folder}/{kind}/*.parquet')")
    write_folders(connection, folder / "folders", args)
    connection.execute(
        f"CREATE VIEW folders AS FROM read_parquet('{folder}/folders/*/*.parquet', hive_types_autocast = false)"
    )
    connection.execute(f"ATTACH '{folder}/stored.db' AS stored_database (ROW_GROUP_SIZE {row_group(args)})")
    connection.execute("CREATE TABLE stored_database.readings AS FROM series")
    connection.execute("CHECKPOINT stored_database")
    connection.execute("CREATE VIEW stored AS FROM stored_database.readings")
    connection.execute("DROP TABLE series")
    connection.execute("ALTER VIEW declared SET PARTITIONED BY (device)")
    connection.execute("ALTER VIEW declared SET SORTED BY (device, time)")
    return connection


def row_group(args: argparse.Namespace) -> int:
    """DuckDB's, and less only where there are few rows."""
    return min(122880, args.rows // 64 // 2048 * 2048 or 2048)


def write_files(connection: duckdb.DuckDBPyConnection, folder: Path, kind: str, args: argparse.Namespace) -> None:
    """Files of whole devices; of as many rows each, wherever that cuts a device; of a slice of time; of anything."""
    device = "regexp_extract(device, '[0-9]+')::INT"
    place, order = {
        "declared": (f"{device} * {args.regions} // {args.devices}", "device, time"),
        "clustered": (f"{device} * {args.regions} // {args.devices}", "device, time"),
        "export": (f"rowid * {args.regions} // ({args.rows} + 1000 * {args.regions})", "device, time"),
        "days": ("(epoch(time) // 7200)::BIGINT % 1000", "time, device"),
        "shuffled": (f"hash(device, time) % {args.regions}", "hash(time, device)"),
    }[kind]
    for (file,) in connection.execute(f"SELECT DISTINCT {place} FROM series").fetchall():
        part = f"FROM series WHERE {place} = {file} ORDER BY {order}"
        connection.execute(f"COPY ({part}) TO '{folder}/{file:03}.parquet' (ROW_GROUP_SIZE {row_group(args)})")


def write_folders(connection: duckdb.DuckDBPyConnection, folder: Path, args: argparse.Namespace) -> None:
    """A hundred folders, each of some devices."""
    for region in range(100):
        device = f"regexp_extract(device, '[0-9]+')::INT * 100 // {args.devices}"
        (folder / f"plant={region}").mkdir(parents=True)
        part = f"FROM series WHERE {device} = {region} ORDER BY device, time"
        connection.execute(f"COPY ({part}) TO '{folder}/plant={region}/0.parquet'")


def nanoseconds(connection: duckdb.DuckDBPyConnection, query: str, rows: int) -> float:
    begin = time.process_time()
    connection.execute(query).fetchall()
    return (time.process_time() - begin) / rows * 1e9


def switch(connection: duckdb.DuckDBPyConnection, on: bool) -> None:
    connection.execute(f"SET merganser_ordered_windows = {'true' if on else 'false'}")


def measure(connection: duckdb.DuckDBPyConnection, source: str, window: str, args: argparse.Namespace) -> dict:
    if source == "folders":
        window = window.replace("PARTITION BY device", "PARTITION BY plant, device")
    rows = f"SELECT device, time, {window} AS r FROM {source}"
    query = f"SELECT max(device), max(time), sum(r) FROM ({rows})"
    checksum = f"SELECT count(*), bit_xor(hash(device, time, round(r, 3))) FROM ({rows})"
    switch(connection, on=True)
    decisions = [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()]
    assert decisions == [LAYOUTS[source]], (source, decisions)
    sums, best = [], {}
    for on in (True, False):
        switch(connection, on)
        sums.append(connection.execute(checksum).fetchone())
    assert sums[0] == sums[1], f"{window}: the rows differ"
    for _ in range(args.rounds):
        for name, on in (("ours", True), ("duckdb", False)):
            switch(connection, on)
            best[name] = min(best.get(name, float("inf")), nanoseconds(connection, query, args.rows))
    return {name: round(value, 1) for name, value in best.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--regions", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layouts", nargs="+", choices=list(LAYOUTS), default=list(LAYOUTS))
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open_session(Path(folder), args) as connection:
        connection.execute("SET merganser_ordered_windows_min_rows = 0")
        results = {}
        scan = "SELECT max(device), max(time), sum(v), sum(sparse) FROM recorded"
        floor = min(nanoseconds(connection, scan, args.rows) for _ in range(args.rounds))
        print(f"{'scan':38}{floor:8.1f} ns of CPU a row")
        for source in args.layouts:
            for case in (
                args.cases if source in ("recorded", "declared") else [case for case in args.cases if case in FEW_CASES]
            ):
                window = CASES[case]
                result = measure(connection, source, window, args)
                results[f"{case}, {source}"] = result
                print(f"{case + ', ' + source:38}{result['ours']:8.1f}, DuckDB {result['duckdb']:8.1f}", flush=True)
    load = os.getloadavg()[0]
    print(json.dumps({**vars(args), "scan": round(floor, 1), "load": load, "cpu_ns_per_row": results}))


if __name__ == "__main__":
    main()
