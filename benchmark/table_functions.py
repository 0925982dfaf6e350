"""Table functions against plain SQL, on sensor data in regions: wall and CPU seconds, peak memory, equal rows.

    python benchmark/table_functions.py [--rows 20000000 --devices 100000 --regions 8 --rounds 3 --threads 2]

Every run is a process of its own, so that its peak memory is its own; the cases are interleaved. The rows of a call are
compared with those of window functions once, by a checksum over every row. The last line is one JSON object.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import merganser

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from make_sensor_data import make_sensor_data  # noqa: E402

KEYS = "tag1, tag2, tag3"


def session(table: str, keys: str, gap: str) -> str:
    return f"SELECT * FROM SESSION(DATA => ({table}) PARTITION BY ({keys}) ORDER BY time, GAP => {gap})"


def windowed(table: str, seconds: int) -> str:
    """SESSION as plain SQL: two sorts by partition, and a frame per session."""
    return f"""
        SELECT min(time) OVER s AS window_start, max(time) OVER s AS window_end, {KEYS}, time, temperature
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
SHUFFLED = f"SELECT {KEYS}, time, temperature FROM undeclared"
ONE = session(SENSOR, KEYS, "1m")
NESTED = session(f"SELECT {KEYS}, time, temperature FROM ({ONE})", "tag3, tag2, tag1", "2m")
ONE_WINDOWED = windowed(SHUFFLED, 60)
NESTED_WINDOWED = windowed(f"SELECT {KEYS}, time, temperature FROM ({ONE_WINDOWED})", 120)
VARIATION = f"""
    SELECT * FROM VARIATION(DATA => (SELECT {KEYS}, time, temperature, window_start FROM ({ONE}))
                            PARTITION BY ({KEYS}) ORDER BY time, COL => 'temperature', DELTA => 5)"""
SEEN = f"count(*), {', '.join(f'max({key})' for key in KEYS.split(', '))}, max(time)"
SEEN_SESSIONS = f"{SEEN}, max(window_start), max(window_end)"

CASES = {
    "floor: scan": f"SELECT {SEEN} FROM ({SENSOR})",
    "session, region-local": f"SELECT {SEEN_SESSIONS} FROM ({ONE})",
    "session, hashed": f"SELECT {SEEN_SESSIONS} FROM ({session(SHUFFLED, KEYS, '1m')})",
    "session, streaming windows": f"SELECT {SEEN}, max(number) FROM ({streamed(SENSOR, 60)})",
    "session, windows": f"SELECT {SEEN_SESSIONS} FROM ({ONE_WINDOWED})",
    "nested, region-local": f"SELECT {SEEN_SESSIONS} FROM ({NESTED})",
    "nested, windows": f"SELECT {SEEN_SESSIONS} FROM ({NESTED_WINDOWED})",
    "variation over session, region-local": f"SELECT {SEEN}, max(window_index) FROM ({VARIATION})",
    "aggregate over session, region-local": f"SELECT {KEYS}, window_start, count(*) AS n FROM ({ONE}) GROUP BY ALL "
    "ORDER BY n DESC LIMIT 1",
}
EQUAL = {"session": (ONE, ONE_WINDOWED), "nested": (NESTED, NESTED_WINDOWED)}
ROW = f"hash(window_start, window_end, {KEYS}, time, temperature)"


def connect(folder: Path, threads: int):
    connection = merganser.connect(config={"threads": str(threads)})
    files = f"'{folder}/*.parquet'"
    connection.execute(f"CREATE VIEW sensor AS SELECT * FROM read_parquet({files})")
    connection.execute(f"CREATE VIEW undeclared AS SELECT * FROM read_parquet({files}, filename = true)")
    connection.execute(f"ALTER VIEW sensor SET PARTITIONED BY ({KEYS})")
    connection.execute(f"ALTER VIEW sensor SET SORTED BY ({KEYS}, time)")
    return connection


def run_case(case: str, folder: Path, threads: int) -> None:
    with connect(folder, threads) as connection:
        before = time.process_time()
        start = time.perf_counter()
        connection.execute(CASES[case]).fetchall()
        wall, cpu = time.perf_counter() - start, time.process_time() - before
    # getrusage would tell the parent's peak, which a process inherits
    status = Path("/proc/self/status").read_text()
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
    print(json.dumps({"wall": wall, "cpu": cpu, "peak_mb": peak}))


def in_its_own_process(case: str, arguments: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--case", case]
    for name in ("rows", "devices", "regions", "threads"):
        command += [f"--{name}", str(getattr(arguments, name))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=900).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--regions", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=CASES, help="run this case once, in this process")
    arguments = parser.parse_args()
    folder = make_sensor_data(arguments.rows, arguments.devices, arguments.regions)
    if arguments.case:
        run_case(arguments.case, folder, arguments.threads)
        return

    with connect(folder, arguments.threads) as connection:
        for name, (call, windows) in EQUAL.items():
            rows = [
                connection.execute(f"SELECT count(*), sum({ROW}) FROM ({query})").fetchone()
                for query in (call, windows)
            ]
            if rows[0] != rows[1]:
                raise SystemExit(f"{name}: the call gives {rows[0]}, window functions give {rows[1]}")
            print(f"{name}: {rows[0][0]} rows equal those of window functions")

    runs: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for _ in range(arguments.rounds):
        for case in CASES:
            runs[case].append(in_its_own_process(case, arguments))
    result = {
        case: {key: round(statistics.median(run[key] for run in measured), 3) for key in measured[0]}
        for case, measured in runs.items()
    }
    floor = result["floor: scan"]["cpu"]
    print(f"{'case':40} {'wall s':>8} {'CPU s':>8} {'x floor':>8} {'peak MB':>8}")
    for case, median in result.items():
        wall, cpu, peak = median["wall"], median["cpu"], median["peak_mb"]
        print(f"{case:40} {wall:8.2f} {cpu:8.2f} {cpu / floor:8.2f} {peak:8.0f}")
    print(json.dumps({"rows": arguments.rows, "threads": arguments.threads, "cases": result}))


if __name__ == "__main__":
    main()
