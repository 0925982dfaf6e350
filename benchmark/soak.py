"""Many queries at once for a long time, with interrupts and kills: is each result right, does anything stay behind?

    .venv/bin/python benchmark/soak.py --minutes 60                     the local runner
    .venv/bin/python benchmark/soak.py --minutes 60 --ray               a small Ray cluster on this machine
    .venv/bin/python benchmark/soak.py --minutes 60 --ray --no-shared   whose nodes send each other exchange files

Four threads, each with a cursor of one database, run reports with late materialisation, table functions, queries in
stages and COPYs, in random order. Each result is compared with that of plain DuckDB. Some queries are interrupted after
a random time. Processes are killed at random moments: without Ray a neighbour, a process that runs the same queries in
the same folders; with Ray the workers.

The last line of the output is one JSON object: what ran, what was killed and interrupted, errors, results that differ,
and what was there before and after (threads, open files, memory, folders, processes). Ends with 1 where a result
differed, a query failed that nobody interrupted, or something stayed behind.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import merganser
from ray_cluster import SmallCluster, private_folder

THREADS = 4
LINES = 200_000
INTERRUPTED = 0.08
LONGEST_WAIT_SECONDS = 0.5
#: Between two kills.
KILL_SECONDS = (4.0, 12.0)
#: What caches may take between the first quarter of the time and its end.
GROWTH_MB = 200
MB = 1 << 20

SENSOR = "SELECT * FROM read_parquet('{folder}/sensor/*.parquet') WHERE device % 5 = {n}"
LINES_FILES = "read_parquet('{folder}/lines/*.parquet')"


@dataclass(frozen=True)
class Query:
    """`sql` gives the rows that `plain` gives in plain DuckDB; {n} is a number from 0 to 4."""

    capability: str
    sql: str
    plain: str = ""
    ordered: bool = True
    #: A folder that `sql` writes; then its rows are read by `plain`.
    writes: str = ""


def session_in_windows(gap: int) -> str:
    return (
        "SELECT device, min(time) OVER w, max(time) OVER w, time, value FROM (SELECT *, sum(new) OVER (PARTITION BY "
        "device ORDER BY time) AS number FROM (SELECT *, (time - lag(time, 1, time) OVER (PARTITION BY device ORDER BY "
        f"time) > {gap})::INT AS new FROM ({SENSOR}))) WINDOW w AS (PARTITION BY device, number) ORDER BY device, time"
    )


QUERIES = {
    "report": Query(
        "late materialisation",
        f"SELECT c.id, c.name, c.address, sum(l.quantity) AS q FROM {LINES_FILES} l JOIN customers c ON l.customer = "
        "c.id WHERE l.part % 5 = {n} GROUP BY c.id, c.name, c.address ORDER BY q DESC, c.id LIMIT 20",
    ),
    "widest rows": Query(
        "late materialisation",
        f"SELECT c.id, any_value(c.address), count(*) FROM {LINES_FILES} l JOIN customers c ON l.customer = c.id "
        "WHERE l.quantity > {n} GROUP BY c.id ORDER BY count(*) DESC, c.id LIMIT 50",
    ),
    "sessions": Query(
        "table functions",
        f"SELECT device, window_start, window_end, time, value FROM SESSION(DATA => ({SENSOR}) PARTITION BY device "
        "ORDER BY time, GAP => 9) ORDER BY device, time",
        session_in_windows(9),
    ),
    "hops": Query(
        "table functions",
        "SELECT device, window_start, sum(value) FROM HOP(DATA => (" + SENSOR + "), TIMECOL => 'time', SIZE => 300, "
        "SLIDE => 100) GROUP BY ALL ORDER BY ALL",
        "SELECT device, w, sum(value) FROM (SELECT *, unnest([time // 100 * 100 - 200, time // 100 * 100 - 100, "
        f"time // 100 * 100]) AS w FROM ({SENSOR})) GROUP BY ALL ORDER BY ALL",
    ),
    "rows of tens": Query(
        "table functions",
        f"SELECT device, window_index, count(*), sum(value) FROM CAPACITY(DATA => ({SENSOR}) PARTITION BY device ORDER "
        "BY time, SIZE => 10) GROUP BY ALL ORDER BY ALL",
        "SELECT device, w, count(*), sum(value) FROM (SELECT *, (row_number() OVER (PARTITION BY device ORDER BY time) "
        f"- 1) // 10 AS w FROM ({SENSOR})) GROUP BY ALL ORDER BY ALL",
    ),
    "aggregate": Query(
        "stages",
        f"SELECT part, count(*), sum(quantity), max(note) FROM {LINES_FILES} WHERE customer % 5 = {{n}} GROUP BY part "
        "ORDER BY part",
    ),
    "join": Query(
        "stages",
        f"SELECT l.part, count(*), min(r.note) FROM {LINES_FILES} l JOIN {LINES_FILES} r ON l.id = r.id + {{n}} GROUP "
        "BY l.part ORDER BY l.part",
    ),
    "sort": Query("stages", f"SELECT id, note FROM {LINES_FILES} WHERE part = {{n}} ORDER BY quantity DESC, note, id"),
    "window": Query(
        "stages",
        f"SELECT id, sum(quantity) OVER (PARTITION BY customer ORDER BY id) FROM {LINES_FILES} WHERE customer % 50 = "
        "{n}",
        ordered=False,
    ),
    "rows as produced": Query(
        "stages", f"SELECT id FROM {LINES_FILES} WHERE part = {{n}} UNION ALL SELECT -id FROM customers LIMIT 9000"
    ),
    "distinct": Query(
        "stages", f"SELECT count(*), sum(p) FROM (SELECT DISTINCT part + {{n}} AS p, customer FROM {LINES_FILES})"
    ),
    "copy": Query(
        "stages",
        f"COPY (SELECT id, part, quantity, {{n}} AS n FROM {LINES_FILES}) TO '{{out}}' (FORMAT parquet, "
        "PER_THREAD_OUTPUT, OVERWRITE)",
        f"SELECT count(*), sum(id), sum(part), sum(quantity), min({{n}}) FROM {LINES_FILES}",
        writes="SELECT count(*), sum(id), sum(part), sum(quantity), min(n) FROM read_parquet('{out}/*.parquet')",
    ),
    "copy of regions": Query(
        "table functions",
        f"COPY (SELECT * FROM ({SENSOR})) TO '{{out}}' (FORMAT merganser_regions, PARTITION_BY device, ORDER_BY time, "
        "REGIONS 5, OVERWRITE)",
        f"SELECT count(*), sum(time), sum(value) FROM ({SENSOR})",
        writes="SELECT count(*), sum(time), sum(value) FROM read_parquet('{out}/*.parquet')",
    ),
}


def make_data(folder: Path) -> None:
    """The same for every process of a run."""
    with merganser.connect() as connection:
        (folder / "lines").mkdir()
        for part in range(4):
            first = part * LINES // 4
            connection.execute(
                f"COPY (SELECT i AS id, hash(i) % 5000 AS customer, hash(-i) % 400 AS part, i % 50 AS quantity, "
                f"'note ' || hash(i * 7) AS note FROM range({first}, {first + LINES // 4}) r(i)) "
                f"TO '{folder}/lines/{part}.parquet' (ROW_GROUP_SIZE 10240)"
            )
        connection.execute(
            f"COPY (SELECT i AS id, 'customer ' || i AS name, repeat('street ' || i, 8) AS address FROM range(5000) "
            f"r(i)) TO '{folder}/customers.parquet'"
        )
        connection.execute(
            f"COPY (SELECT i % 40 AS device, i // 40 * 5 + i * 7 % 5 + i // 4000 * 50 AS time, i % 1000 AS value FROM "
            f"range({LINES}) r(i)) TO '{folder}/sensor' (FORMAT merganser_regions, PARTITION_BY device, ORDER_BY "
            "time, REGIONS 8)"
        )


def add_customers(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.execute("CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR, address VARCHAR)")
    connection.execute(f"INSERT INTO customers FROM '{folder}/customers.parquet'")


def open_database(folder: Path, runner: str) -> duckdb.DuckDBPyConnection:
    connection = merganser.connect(runner=runner, config={"threads": "4", "memory_limit": "2GB"})
    for name, value in {
        "distribute_min_bytes": 0,
        "tasks": 4,
        "task_bytes": 0,
        "broadcast_max_bytes": 100_000,
        "exchange_directory": f"'{folder}/exchange'",
        "late_materialization_cost": "false",
    }.items():
        connection.execute(f"SET GLOBAL merganser_{name} = {value}")
    add_customers(connection, folder)
    return connection


class Expected:
    """What plain DuckDB gives, asked once for each query and number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.plain = duckdb.connect(config={"threads": "1", "memory_limit": "1GB"})
        add_customers(self.plain, folder)
        self.known: dict[tuple[str, int], list[tuple]] = {}

    def rows(self, name: str, n: int) -> list[tuple]:
        with self.lock:
            if (name, n) not in self.known:
                query = QUERIES[name]
                text = (query.plain or query.sql).format(folder=self.folder, n=n, out="")
                self.known[name, n] = in_order(query, self.plain.execute(text).fetchall())
            return self.known[name, n]

    def written(self, statement: str) -> list[tuple]:
        with self.lock:
            return self.plain.execute(statement).fetchall()


def in_order(query: Query, rows: list[tuple]) -> list[tuple]:
    return rows if query.ordered else sorted(rows)


@dataclass
class Outcome:
    queries: collections.Counter = field(default_factory=collections.Counter)
    runners: collections.Counter = field(default_factory=collections.Counter)
    ended_by_interrupt: int = 0
    kills: int = 0
    errors: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)


class Soak:
    def __init__(self, folder: Path, connection: duckdb.DuckDBPyConnection, runner: str, seed: int) -> None:
        self.folder = folder
        self.connection = connection
        self.runner = runner
        self.expected = Expected(folder)
        self.outcome = Outcome()
        self.ending = threading.Event()
        self.seed = seed
        #: What the process takes once a quarter of the time is over, when caches are full.
        self.quarter_mb = 0

    def run_each_once(self) -> None:
        cursor = self.connection.cursor()
        for name in QUERIES:
            for runner in ("", self.runner):
                self.run_one(cursor, name, 0, runner, self.folder / "out", None)
        cursor.close()

    def run_queries(self, number: int) -> None:
        """One thread, until the end."""
        chance = random.Random(self.seed * 1000 + number)
        cursor = self.connection.cursor()
        out = self.folder / f"out-{number}"
        while not self.ending.is_set():
            name = chance.choice(list(QUERIES))
            runner = self.runner if QUERIES[name].capability == "stages" or chance.random() < 0.5 else ""
            after = chance.uniform(0, LONGEST_WAIT_SECONDS) if chance.random() < INTERRUPTED else None
            self.run_one(cursor, name, chance.randrange(5), runner, out, after)
        cursor.close()
        shutil.rmtree(out, ignore_errors=True)

    def run_one(
        self,
        cursor: duckdb.DuckDBPyConnection,
        name: str,
        n: int,
        runner: str,
        out: Path,
        interrupt_after: float | None,
    ) -> None:
        query = QUERIES[name]
        cursor.execute(f"SET merganser_runner = '{runner}'")
        expected = self.expected.rows(name, n)
        timer = None
        if interrupt_after is not None:
            timer = threading.Timer(interrupt_after, cursor.interrupt)
            timer.start()
        try:
            rows = cursor.execute(query.sql.format(folder=self.folder, n=n, out=out)).fetchall()
        except duckdb.InterruptException as error:
            self.note_interrupt(name, timer, error)
            return
        except duckdb.Error as error:
            self.note(self.outcome.errors, f"{name} {n}: {type(error).__name__}: {error}")
            return
        finally:
            if timer is not None:
                timer.cancel()
                timer.join()
        if query.writes:
            rows = self.expected.written(query.writes.format(out=out))
        if in_order(query, rows) != expected:
            self.note(self.outcome.differences, f"{name} {n}: {len(rows)} rows, expected {len(expected)}")
        with self.outcome.lock:
            self.outcome.queries[query.capability] += 1
            self.outcome.runners[runner or "DuckDB alone"] += 1

    def note_interrupt(self, name: str, timer: threading.Timer | None, error: Exception) -> None:
        if timer is None:
            self.note(self.outcome.errors, f"{name}: nobody interrupted it: {error}")
            return
        with self.outcome.lock:
            self.outcome.ended_by_interrupt += 1

    def note(self, notes: list[str], text: str) -> None:
        with self.outcome.lock:
            notes.append(text)
        print(text, flush=True)

    def run(self, minutes: float, kill: Callable[[random.Random], int]) -> None:
        threads = [threading.Thread(target=self.run_queries, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        chance = random.Random(self.seed)
        begun = time.monotonic()
        end = begun + minutes * 60
        while time.monotonic() < end:
            time.sleep(min(chance.uniform(*KILL_SECONDS), max(end - time.monotonic(), 0)))
            self.outcome.kills += kill(chance)
            if not self.quarter_mb and time.monotonic() > begun + minutes * 15:
                self.quarter_mb = memory_mb()
        self.ending.set()
        for thread in threads:
            thread.join()


# ---------------------------------------------------------------- what stays behind


def memory_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // MB


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads_of_process() -> int:
    return len(os.listdir("/proc/self/task"))


def taken() -> dict[str, int]:
    return {"threads": threads_of_process(), "open_files": open_files(), "memory_mb": memory_mb()}


def processes_with(text: str) -> list[int]:
    """Whose environment has it."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if text.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
    return found


def left_folders(folder: Path) -> list[str]:
    """Of queries, and hidden ones of COPYs."""
    hidden = [path for path in folder.iterdir() if path.name.startswith(".")]
    return sorted(str(path.relative_to(folder)) for path in [*hidden, *(folder / "exchange").rglob("*")])


# ---------------------------------------------------------------- what is killed


class Neighbour:
    """A process that runs the same queries in the same folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "neighbour.log"
        self.started = 0
        self.start()

    def start(self) -> None:
        self.started += 1
        arguments = [sys.executable, __file__, "--neighbour", str(self.folder), "--seed", str(self.started)]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(arguments, stdout=log, stderr=log)

    def kill(self, chance: random.Random) -> int:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.start()
        return 1

    def end(self) -> list[str]:
        self.process.kill()
        self.process.wait()
        return self.log.read_text().splitlines()


def kill_worker(folder: Path, chance: random.Random) -> int:
    """One of the workers of the cluster in this folder."""
    workers = []
    for process in processes_with(str(folder)):
        with contextlib.suppress(OSError):
            if b"ray::Worker" in Path(f"/proc/{process}/cmdline").read_bytes():
                workers.append(process)
    if not workers:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(chance.choice(sorted(workers)), signal.SIGKILL)
    return 1


def be_neighbour(folder: Path, seed: int) -> None:
    with open_database(folder, "local") as connection:
        Soak(folder, connection, "local", seed).run_queries(THREADS)


# ---------------------------------------------------------------- the run


def soak(folder: Path, minutes: float, seed: int, runner: str, settings: list[str]) -> dict[str, Any]:
    make_data(folder)
    (folder / "exchange").mkdir()
    connection = open_database(folder, runner)
    for setting in settings:
        connection.execute(f"SET GLOBAL {setting}")
    run = Soak(folder, connection, runner, seed)
    run.run_each_once()
    before = taken()
    if runner == "local":
        neighbour = Neighbour(folder)
        run.run(minutes, neighbour.kill)
        run.outcome.errors.extend(neighbour.end())
        # the next one removes what the killed ones left
        cursor = connection.cursor()
        run.run_one(cursor, "copy", 0, runner, folder / f"out-{THREADS}", None)
        cursor.close()
    else:
        run.run(minutes, lambda chance: kill_worker(folder, chance))
    after = taken()
    held = connection.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()").fetchone()[0]
    connection.close()
    outcome = run.outcome
    return {
        "minutes": minutes,
        "runner": runner,
        "settings": settings,
        "queries": dict(outcome.queries),
        "ran_in": dict(outcome.runners),
        "ended_by_interrupt": outcome.ended_by_interrupt,
        "kills": outcome.kills,
        "errors": len(outcome.errors),
        "first_errors": outcome.errors[:5],
        "differences": outcome.differences,
        **{f"{what}_before_and_after": [before[what], after[what]] for what in before},
        "memory_mb_after_a_quarter": run.quarter_mb,
        "duckdb_memory_mb": int(held) // MB,
        "folders_left": left_folders(folder),
    }


def is_clean(result: dict[str, Any]) -> bool:
    threads, files = result["threads_before_and_after"], result["open_files_before_and_after"]
    grown = result["memory_mb_before_and_after"][1] - result["memory_mb_after_a_quarter"]
    return (
        not result["errors"]
        and not result["differences"]
        and not result["folders_left"]
        and not result["processes_left"]
        and threads[1] <= threads[0]
        and files[1] <= files[0]
        and grown <= GROWTH_MB
    )


@contextmanager
def cluster_in(folder: Path) -> Iterator[list[str]]:
    """Yields the settings of workers that fit it."""
    cluster = SmallCluster(folder)
    try:
        yield [
            f"merganser_exchange_directory = '{folder}/exchange'",
            f"merganser_worker_directory = '{folder}/exchange'",
            "merganser_worker_memory_limit = '500MB'",
            "merganser_progress = false",
        ]
    finally:
        import merganser.ray

        merganser.ray.shutdown()
        cluster.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ray", action="store_true", help="on a small Ray cluster; its workers are killed")
    parser.add_argument("--no-shared", action="store_true", help="nodes send each other exchange files")
    parser.add_argument("--neighbour", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.neighbour:
        be_neighbour(arguments.neighbour, arguments.seed)
        return 0
    with private_folder() as folder:
        os.environ["MERGANSER_SOAK"] = str(folder)  # tells the processes of this run
        if arguments.ray:
            with cluster_in(folder) as settings:
                if arguments.no_shared:
                    settings.append("merganser_exchange_shared = false")
                result = soak(folder, arguments.minutes, arguments.seed, "ray", settings)
            result["folders_left"] = left_folders(folder)
        else:
            result = soak(folder, arguments.minutes, arguments.seed, "local", [])
        time.sleep(1)  # killed processes are taken from the list
        result["processes_left"] = processes_with(str(folder))
    print(json.dumps(result), flush=True)
    return 0 if is_clean(result) else 1


if __name__ == "__main__":
    sys.exit(main())
