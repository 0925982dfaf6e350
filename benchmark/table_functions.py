"""Table functions against plain SQL, on sensor data in regions: wall and CPU seconds, peak memory, equal rows.

    python benchmark/table_functions.py [--rows 20000000 --devices 100000 --regions 8 --threads 2]
                                        [--rounds 3] [--peers PYTHON_WITH_POLARS]

Every run is a process of its own, so that its peak memory is its own; the cases are interleaved. Cases over `shuffled`
read the same rows in random order, which no layout describes. The rows of a call are compared with those of window
functions once, by a checksum over every row. The last line is one JSON object; the machine's load is in it.
"""

import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import merganser

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from built_once import DATA, built_once  # noqa: E402
from make_sensor_data import make_sensor_data  # noqa: E402

KEYS = "tag1, tag2, tag3"
POLARS = "session, Polars by file order"


def session(table: str, keys: str, gap: str) -> str:
    return f"SELECT * FROM SESSION(DATA => ({table}) PARTITION BY ({keys}) ORDER BY time, GAP => {gap})"


def windowed(table: str, seconds: int, carried: str = "temperature") -> str:
    """SESSION as plain SQL: two sorts by partition, and a frame per session."""
    return f"""
        SELECT min(time) OVER s AS window_start, max(time) OVER s AS window_end, {KEYS}, time, {carried}
        FROM (SELECT *, sum(starts) OVER (PARTITION BY {KEYS} ORDER BY time RANGE UNBOUNDED PRECEDING) AS number
              FROM (SELECT *, CASE WHEN time - lag(time) OVER (PARTITION BY {KEYS} ORDER BY time)
                              <= INTERVAL {seconds} SECOND THEN 0 ELSE 1 END AS starts FROM ({table})))
        WINDOW s AS (PARTITION BY {KEYS}, number)"""


def streamed(table: str, seconds: int) -> str:
    """The session's number by streaming windows: right only while the rows come in the order of the files."""
    same = " AND ".join(f"{key} = lag({key}) OVER ()" for key in KEYS.split(", "))
    return f"""
        SELECT *, sum(starts) OVER (ROWS UNBOUNDED PRECEDING) AS number
        FROM (SELECT *, CASE WHEN {same} AND time - lag(time) OVER () <= INTERVAL {seconds} SECOND
                        THEN 0 ELSE 1 END AS starts
              FROM ({table}))"""


SENSOR = f"SELECT {KEYS}, time, temperature FROM sensor"
SHUFFLED = f"SELECT {KEYS}, time, temperature FROM shuffled"
UNSORTED = f"SELECT {KEYS}, time, temperature FROM unsorted"
ONE = session(SENSOR, KEYS, "1m")
ONE_SHUFFLED = session(SHUFFLED, KEYS, "1m")
NESTED = session(ONE, "tag3, tag2, tag1", "2m")
ONE_WINDOWED = windowed(SENSOR, 60)
INNER = "window_start AS window_start_1, window_end AS window_end_1"
NESTED_WINDOWED = windowed(
    f"SELECT {INNER}, {KEYS}, time, temperature FROM ({ONE_WINDOWED})", 120, "temperature, window_start_1, window_end_1"
)
VARIATION = f"""
    SELECT * FROM VARIATION(DATA => (SELECT {KEYS}, time, temperature, window_start FROM ({ONE}))
                            PARTITION BY ({KEYS}) ORDER BY time, COL => 'temperature', DELTA => 5)"""
SEEN = f"count(*), {', '.join(f'max({key})' for key in KEYS.split(', '))}, max(time)"
SEEN_SESSIONS = f"{SEEN}, max(window_start), max(window_end)"
SEEN_NESTED = f"{SEEN_SESSIONS}, max(window_start_1), max(window_end_1)"

CASES = {
    "floor: scan": f"SELECT {SEEN} FROM ({SENSOR})",
    "floor: scan, two columns more": f"SELECT {SEEN}, min(time), max(temperature) FROM ({SENSOR})",
    "session, region-local": f"SELECT {SEEN_SESSIONS} FROM ({ONE})",
    "nested, region-local": f"SELECT {SEEN_NESTED} FROM ({NESTED})",
    "variation over session, region-local": f"SELECT {SEEN}, max(window_index) FROM ({VARIATION})",
    "aggregate over session, region-local": f"SELECT {KEYS}, window_start, count(*) AS n FROM ({ONE}) GROUP BY ALL "
    "ORDER BY n DESC LIMIT 1",
    "session, each region sorted": f"SELECT {SEEN_SESSIONS} FROM ({session(UNSORTED, KEYS, '1m')})",
    "session, streaming windows by file order": f"SELECT {SEEN}, max(number) FROM ({streamed(SENSOR, 60)})",
    "session, windows": f"SELECT {SEEN_SESSIONS} FROM ({ONE_WINDOWED})",
    "nested, windows": f"SELECT {SEEN_NESTED} FROM ({NESTED_WINDOWED})",
    "session, hashed, shuffled rows": f"SELECT {SEEN_SESSIONS} FROM ({ONE_SHUFFLED})",
    "session, windows, shuffled rows": f"SELECT {SEEN_SESSIONS} FROM ({windowed(SHUFFLED, 60)})",
}
#: What the cases are measured against, by the end of their name.
BASELINES = {
    "region-local": "floor: scan",
    "streaming windows by file order": "floor: scan",
    "nested, windows": "nested, region-local",
    "session, windows": "session, region-local",
    "session, windows, shuffled rows": "session, hashed, shuffled rows",
}
ROW = f"window_start, window_end, {KEYS}, time, temperature"
EQUAL = {
    "session": (ROW, [ONE, ONE_WINDOWED, ONE_SHUFFLED]),
    "nested": (f"{ROW}, window_start_1, window_end_1", [NESTED, NESTED_WINDOWED]),
}


def shuffle(folder: Path, regions: int) -> Path:
    """The rows of the folder in random order, in as many files."""

    def generate(target: Path) -> None:
        target.mkdir()
        with duckdb.connect() as connection:
            connection.execute(
                f"CREATE TABLE rows AS SELECT {KEYS}, time, temperature FROM '{folder}/*.parquet' "
                "ORDER BY hash(tag1, tag2, tag3, time)"
            )
            count = connection.execute("SELECT count(*) FROM rows").fetchone()[0]
            for region in range(regions):
                first, behind = count * region // regions, count * (region + 1) // regions
                connection.execute(
                    f"COPY (FROM rows WHERE rowid >= {first} AND rowid < {behind}) TO '{target}/part_{region}.parquet'"
                )

    return built_once(DATA / "sensor" / f"{folder.name}_shuffled", generate)


def connect(folder: Path, threads: int):
    connection = merganser.connect(config={"threads": str(threads)})
    for view, files in {"sensor": folder, "unsorted": folder, "shuffled": f"{folder}_shuffled"}.items():
        connection.execute(f"CREATE VIEW {view} AS FROM read_parquet('{files}/*.parquet')")
    return connection


def declare(connection, view: str) -> None:
    connection.execute(f"ALTER VIEW {view} SET PARTITIONED BY ({KEYS})")
    if view == "sensor":
        connection.execute(f"ALTER VIEW {view} SET SORTED BY ({KEYS}, time)")


def run_case(case: str, folder: Path, threads: int) -> None:
    with connect(folder, threads) as connection:
        declare(connection, "unsorted" if "each region sorted" in case else "sensor")
        wall, cpu = time.perf_counter(), time.process_time()
        connection.execute(CASES[case]).fetchall()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # getrusage would tell the parent's peak, which a process inherits
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak_mb": peak}))


def in_its_own_process(case: str, folder: Path, arguments: argparse.Namespace) -> dict:
    environment = None
    if case == POLARS:
        command = [arguments.peers, str(ROOT / "benchmark" / "polars_sessions.py"), str(folder), "60"]
        environment = {**os.environ, "POLARS_MAX_THREADS": str(arguments.threads)}
    else:
        command = [sys.executable, __file__, "--case", case]
        for name in ("rows", "devices", "regions", "threads"):
            command += [f"--{name}", str(getattr(arguments, name))]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800, env=environment)
    return json.loads(done.stdout)


def compare_rows(folder: Path, threads: int) -> None:
    with connect(folder, threads) as connection:
        declare(connection, "sensor")
        for name, (row, queries) in EQUAL.items():
            rows = {
                connection.execute(f"SELECT count(*), sum(hash({row})) FROM ({query})").fetchone() for query in queries
            }
            if len(rows) > 1:
                raise SystemExit(f"{name}: the calls and window functions give different rows: {rows}")
            print(f"{name}: {rows.pop()[0]} rows equal those of window functions", flush=True)


def summary(runs: list[dict]) -> dict[str, float]:
    """Medians, and how far apart the CPU seconds of the rounds are."""
    result = {key: round(statistics.median(run[key] for run in runs), 3) for key in ("wall", "cpu", "peak_mb")}
    return {
        **result,
        "cpu_min": round(min(run["cpu"] for run in runs), 3),
        "cpu_max": round(max(run["cpu"] for run in runs), 3),
        "rounds": len(runs),
    }


def ratio(case: str, result: dict[str, dict]) -> str:
    """The case against its floor, or window functions against the call that takes their place."""
    for ending, baseline in BASELINES.items():
        if case.endswith(ending) and case != baseline and baseline in result:
            return f"{result[case]['cpu'] / result[baseline]['cpu']:.2f} x {baseline}"
    return f"{result[case]['cpu'] / result['floor: scan']['cpu']:.2f} x floor: scan"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--regions", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--window-rounds", type=int, help="rounds of the window function cases, which take long")
    parser.add_argument("--peers", metavar="PYTHON", help="a Python interpreter that has polars")
    parser.add_argument("--case", choices=CASES, help="run this case once, in this process")
    arguments = parser.parse_args()
    folder = make_sensor_data(arguments.rows, arguments.devices, arguments.regions)
    shuffle(folder, arguments.regions)
    if arguments.case:
        run_case(arguments.case, folder, arguments.threads)
        return

    load = [round(os.getloadavg()[0], 1)]
    cases = [*CASES, POLARS] if arguments.peers else list(CASES)
    runs: dict[str, list[dict]] = {case: [] for case in cases}
    for number in range(arguments.rounds):
        for case in cases:
            if "windows" in case and number >= (arguments.window_rounds or arguments.rounds):
                continue
            runs[case].append(in_its_own_process(case, folder, arguments))
    load.append(round(os.getloadavg()[0], 1))
    result = {case: summary(measured) for case, measured in runs.items()}
    print(f"{'case':41} {'wall s':>7} {'CPU s':>7} {'least':>7} {'most':>7} {'peak MB':>8}  ratio of CPU seconds")
    for case, measured in result.items():
        columns = (
            f"{measured['wall']:7.2f} {measured['cpu']:7.2f} {measured['cpu_min']:7.2f} {measured['cpu_max']:7.2f}"
        )
        print(f"{case:41} {columns} {measured['peak_mb']:8.0f}  {ratio(case, result)}", flush=True)
    compare_rows(folder, arguments.threads)
    versions = {"merganser": merganser.__version__, "duckdb": duckdb.__version__, "python": platform.python_version()}
    if arguments.peers:
        versions["polars"] = runs[POLARS][0]["version"]
    machine = {"cores": os.cpu_count(), "machine": platform.machine(), "load_before_and_after": load}
    data = {"rows": arguments.rows, "devices": arguments.devices, "regions": arguments.regions}
    print(json.dumps({**data, "threads": arguments.threads, **machine, "versions": versions, "cases": result}))


if __name__ == "__main__":
    main()
