"""A folder of regions is whole at every moment: to readers, to a second writer, after a crash."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import merganser
import pytest

ROWS = 20_000
# Below it the files have their final names, for the moment before one rename puts them all in place.
ARE_BEING_PUBLISHED = {"whole"}


def copy(folder: Path, tag: str, options: str = "") -> str:
    rows = f"SELECT i % 97 AS k, i AS o, '{tag}' AS w FROM range({ROWS}) r(i)"
    return f"COPY ({rows}) TO '{folder}' (FORMAT merganser_regions, PARTITION_BY k, ORDER_BY o, REGIONS 8{options})"


def content(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[tuple[str, int]]:
    return connection.execute(f"SELECT w, count(*) FROM read_parquet('{folder}/*.parquet') GROUP BY w").fetchall()


def left_beside(folder: Path) -> list[str]:
    return [path.name for path in folder.parent.iterdir() if path != folder]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "regions"


@pytest.mark.parametrize("there", [False, True])
def test_of_two_writers_one_is_told(connection, folder, there):
    """Also into a folder that is there and empty."""
    if there:
        folder.mkdir()
    begin = threading.Barrier(2)

    def write(tag: str) -> str:
        begin.wait()
        try:
            connection.cursor().execute(copy(folder, tag))
        except duckdb.IOException as error:
            assert "Another COPY is writing to" in str(error) or "is not empty" in str(error), error
            return ""
        return tag

    with ThreadPoolExecutor(2) as pool:
        written = [tag for tag in pool.map(write, "AB") if tag]
    assert len(written) == 1
    assert content(connection, folder) == [(written[0], ROWS)]
    assert left_beside(folder) == []


def test_readers_see_the_old_rows_or_the_new_ones_or_an_error(connection, folder):
    """A scan that listed the old files does not meet the new ones."""
    connection.execute(copy(folder, "0"))
    written = threading.Event()

    def write() -> None:
        cursor = connection.cursor()
        for number in range(1, 20):
            cursor.execute(copy(folder, str(number), ", OVERWRITE"))
        written.set()

    writer = threading.Thread(target=write)
    writer.start()
    whole = 0
    while not written.is_set():
        try:
            seen = content(connection, folder)
        except duckdb.IOException:
            continue
        assert [count for _, count in seen] == [ROWS], seen
        whole += 1
    writer.join()
    assert whole > 0
    assert content(connection, folder) == [("19", ROWS)]
    assert left_beside(folder) == []


def test_a_scan_that_began_before_an_overwrite_fails_and_never_mixes(connection, folder):
    connection.execute(copy(folder, "old"))
    files = sorted(str(path) for path in folder.iterdir())
    connection.execute(copy(folder, "new", ", OVERWRITE"))
    with pytest.raises(duckdb.IOException, match="No files found"):
        connection.execute("SELECT count(*) FROM read_parquet($1)", [files])


OVERWRITER = """
import merganser, sys
how, folder, rounds, rows = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
connection = merganser.connect(runner="local")
connection.execute("SET merganser_distribute_min_bytes = 0; SET merganser_tasks = 6; SET merganser_task_bytes = 0")
connection.execute("SET enable_progress_bar = false")  # it would stand among what is printed, on a busy machine
connection.execute(f"CREATE TABLE t AS SELECT i % 97 AS k, i AS o FROM range({rows}) r(i)")
options = {
    "regions": "FORMAT merganser_regions, PARTITION_BY k, ORDER_BY o, REGIONS 8",
    "tasks": "FORMAT parquet, PER_THREAD_OUTPUT",
    "tasks, by value": "FORMAT parquet, PARTITION_BY (g)",
}[how]
for number in range(rounds):
    query = f"SELECT *, k % 5 AS g, '{number}' AS w FROM t"
    connection.execute(f"COPY ({query}) TO '{folder}' ({options}, OVERWRITE)")
    print(number, flush=True)
"""


@pytest.mark.parametrize("rounds", [8, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["regions", "tasks", "tasks, by value"])
def test_readers_beside_a_writer_of_another_process(folder, how, rounds):
    """Every read has all rows of one COPY, or is an error: of plain DuckDB, which knows nothing of who writes."""
    arguments = [sys.executable, "-c", OVERWRITER, how, str(folder), str(rounds), str(ROWS)]
    writer = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "0\n"
    ended = threading.Event()
    pattern = f"{folder}/**/*.parquet"

    def read(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
        whole = failed = 0
        while not ended.is_set() or whole == 0:
            try:
                found = connection.execute(
                    f"SELECT w, count(*), sum(o), count(DISTINCT filename) > 1 FROM read_parquet('{pattern}', "
                    "filename = true) GROUP BY w"
                ).fetchall()
            except duckdb.IOException:
                failed += 1
                continue
            assert [row[1:] for row in found] == [(ROWS, sum(range(ROWS)), True)], found
            whole += 1
        return whole, failed

    with duckdb.connect() as plain, merganser.connect() as loaded, ThreadPoolExecutor(2) as pool:
        reads = [pool.submit(read, connection) for connection in (plain, loaded)]
        rest, _ = writer.communicate(timeout=600)
        ended.set()
        assert rest.split() == [str(number) for number in range(1, rounds)]
        assert all(whole > 0 for whole, _ in (one.result() for one in reads))
    assert (folder / "_manifest.merganser").exists() == (how != "regions")
    assert left_beside(folder) == []


FOREIGN_FOLDER = """
import merganser, os, pathlib, sys
import duckdb
connection = merganser.connect()
if os.geteuid() == 0:
    os.setgid(54321)
    os.setuid(54321)
for statement in sys.stdin.read().splitlines():
    try:
        connection.execute(statement)
        print("written")
    except duckdb.IOException as error:
        print(" ".join(str(error).split()))
"""


def test_a_folder_of_another_user_stays_as_it_is(connection):
    """One that may be read and not written, and one whose folder above may not be written."""
    with tempfile.TemporaryDirectory() as above:  # pytest's own folders are closed to others
        folder = Path(above) / "regions"
        connection.execute(copy(folder, "old"))
        for path in (Path(above), folder):
            path.chmod(0o555)
        try:
            statements = [copy(folder, "new", ", OVERWRITE"), copy(Path(above) / "more", "new")]
            told = subprocess.run(
                [sys.executable, "-c", FOREIGN_FOLDER],
                input="\n".join(statements),
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            ).stdout.splitlines()
        finally:
            for path in (Path(above), folder):
                path.chmod(0o755)
        assert len(told) == 2
        for error in told:
            assert "Failed to create directory" in error and "Permission denied" in error
        assert content(connection, folder) == [("old", ROWS)]
        assert left_beside(folder) == []


WRITER = """
import merganser, sys
connection = merganser.connect()
print("ready", flush=True)
connection.execute(sys.stdin.readline())
"""


def killed_writer(statement: str, after: float) -> None:
    process = subprocess.Popen([sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.stdin.write(statement + "\n")
    process.stdin.flush()
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("moments", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_a_writer_killed_at_any_moment_leaves_old_or_new(connection, folder, moments):
    connection.execute(copy(folder, "old"))
    chance = random.Random(moments)
    for number in range(moments):
        killed_writer(copy(folder, "new", ", OVERWRITE"), chance.uniform(0.0, 0.15))
        seen = content(connection, folder)
        assert seen in ([("old", ROWS)], [("new", ROWS)]), number
        connection.execute(copy(folder, "old", ", OVERWRITE"))
        assert content(connection, folder) == [("old", ROWS)]
        assert left_beside(folder) == []


def test_what_a_crash_between_two_renames_took_away_comes_back(connection, folder):
    """On systems that cannot exchange two folders at once."""
    connection.execute(copy(folder, "old"))
    staging = folder.parent / f".{folder.name}.merganser" / "of a killed COPY"
    staging.mkdir(parents=True)
    folder.rename(staging / "replaced")
    with pytest.raises(duckdb.IOException, match="is not empty"):
        connection.execute(copy(folder, "new"))
    assert content(connection, folder) == [("old", ROWS)]
    assert left_beside(folder) == []


def test_a_folder_another_machine_writes_is_left_alone(connection, folder):
    """Its lock need not be seen here; a day later it is taken for dead."""
    place = folder.parent / f".{folder.name}.merganser"
    place.mkdir()
    (place / "owner").write_text("another-machine")
    with pytest.raises(duckdb.IOException, match=f'Another COPY is writing to .*remove "{place}"'):
        connection.execute(copy(folder, "new"))
    then = time.time() - 2 * 86400
    for path in (place / "owner", place):
        os.utime(path, (then, then))
    connection.execute(copy(folder, "new"))
    assert content(connection, folder) == [("new", ROWS)]
    assert left_beside(folder) == []


def test_staged_files_have_names_no_glob_for_data_finds(tmp_path):
    """While the tasks of a COPY write, readers of the folder above see none of its files."""
    with merganser.connect(runner="local") as connection:
        connection.execute("SET merganser_distribute_min_bytes = 0; SET merganser_tasks = 4; SET merganser_slots = 1")
        connection.execute("CREATE TABLE t AS SELECT i FROM range(40000) r(i)")
        staged: set[str] = set()
        ended = threading.Event()

        def watch() -> None:
            while not ended.is_set():
                for folder, _, files in os.walk(tmp_path / ".out.merganser"):
                    if not ARE_BEING_PUBLISHED.intersection(Path(folder).parts):
                        staged.update(Path(folder, name).suffix for name in files if name != "owner")

        watcher = threading.Thread(target=watch)
        watcher.start()
        connection.execute(
            f"COPY (SELECT i, md5(i::VARCHAR) AS m FROM t) TO '{tmp_path}/out' (FORMAT parquet, PER_THREAD_OUTPUT)"
        )
        ended.set()
        watcher.join()
        assert staged and not staged & {".parquet"}
        assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".parquet", ".merganser"}
