"""Folders of exchange files: private, each the property of the process that locks it, gone when that process is."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import merganser
import pytest

QUERY = "SELECT g, count(*) FROM t GROUP BY g"
SESSION = """
import merganser, sys, time
connection = merganser.connect(runner="local")
connection.execute("SET merganser_distribute_min_bytes = 0")
connection.execute(f"SET merganser_exchange_directory = '{sys.argv[1]}'")
connection.execute("CREATE TABLE t AS SELECT i % 3 AS g, i FROM range(100) r(i)")
"""
RUN_ONE = SESSION + f'assert len(connection.execute("{QUERY}").fetchall()) == 3'
ENDLESS = "SELECT count(*) FROM t a, t b, t c, t d, t e WHERE a.i * b.i + c.i * d.i - e.i = -1"
RUN_FOR_LONG = SESSION + f'connection.execute("{ENDLESS}")'
A_DAY = 86400


def python(code: str, folder: Path) -> list[str]:
    return [sys.executable, "-c", code, str(folder)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / f"merganser-{os.geteuid()}"


@pytest.fixture
def running(tmp_path: Path, root: Path) -> Iterator[subprocess.Popen]:
    """A process in the middle of a query."""
    process = subprocess.Popen(python(RUN_FOR_LONG, tmp_path))
    for _ in range(12000):
        if list(root.glob("*/*/s1/*")):
            break
        assert process.poll() is None
        time.sleep(0.05)
    else:
        pytest.fail("the query did not begin within 10 minutes")
    yield process
    process.kill()
    process.wait()


def run_one(tmp_path: Path) -> None:
    subprocess.run(python(RUN_ONE, tmp_path), check=True, timeout=120)


def age(folder: Path) -> None:
    then = time.time() - 2 * A_DAY
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))


def test_folders_are_private(running: subprocess.Popen, root: Path):
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    assert len(folders) >= 3
    assert {path.stat().st_mode & 0o777 for path in folders[:3]} == {0o700}


def test_what_a_killed_process_left_goes_with_the_next_query(running: subprocess.Popen, root: Path, tmp_path: Path):
    run_one(tmp_path)
    (left,) = root.iterdir()  # the folder of a process that lives is nobody else's
    assert list(left.iterdir())
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert left.exists()
    run_one(tmp_path)
    assert not root.exists()


def test_two_processes_at_once_leave_each_other_alone(tmp_path: Path, root: Path):
    many = SESSION + f'for i in range(40): assert len(connection.execute("{QUERY}").fetchall()) == 3'
    processes = [subprocess.Popen(python(many, tmp_path)) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert not root.exists()


def test_folders_of_other_machines_go_a_day_later(tmp_path: Path, root: Path):
    """Their locks need not be seen here."""
    names = ("old", "used", "locked", "recent")
    for name in names:
        (root / name / "query" / "s1").mkdir(parents=True)
    root.chmod(0o700)
    for name in names[:3]:
        age(root / name)
    os.utime(root / "used" / "query")
    descriptor = os.open(root / "locked", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        run_one(tmp_path)
    finally:
        os.close(descriptor)
    assert sorted(path.name for path in root.iterdir()) == ["locked", "recent", "used"]


@pytest.fixture
def staged(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with merganser.connect(runner="local") as connection:
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute(f"SET merganser_exchange_directory = '{tmp_path}'")
        connection.execute("CREATE TABLE t AS SELECT i % 3 AS g, i FROM range(100) r(i)")
        yield connection


def refused(staged: duckdb.DuckDBPyConnection, message: str) -> None:
    with pytest.raises(duckdb.IOException, match=message):
        staged.execute(QUERY)


def test_a_link_is_refused(staged: duckdb.DuckDBPyConnection, root: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    root.symlink_to(tmp_path / "elsewhere")
    refused(staged, rf"{re.escape(str(root))}\" is a link or no folder; remove it, or SET merganser_exchange_directory")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_is_refused(staged: duckdb.DuckDBPyConnection, root: Path):
    root.write_text("")
    refused(staged, "is a link or no folder")


def test_a_folder_open_to_others_is_closed(staged: duckdb.DuckDBPyConnection, root: Path):
    root.mkdir()
    root.chmod(0o777)
    (root / "planted").mkdir()  # keeps it
    assert len(staged.execute(QUERY).fetchall()) == 3
    assert root.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_another_user_is_refused(staged: duckdb.DuckDBPyConnection, root: Path):
    """Only root can give a folder away; for everybody else it stays his own, and serves."""
    root.mkdir()
    if os.geteuid() == 0:
        os.chown(root, 65534, 65534)
        refused(staged, r"belongs to another owner \(user id 65534\)")
        assert list(root.iterdir()) == []
    else:
        assert len(staged.execute(QUERY).fetchall()) == 3


def test_a_directory_that_went_away_is_named(staged: duckdb.DuckDBPyConnection, tmp_path: Path):
    (tmp_path / "gone").mkdir()
    staged.execute(f"SET merganser_exchange_directory = '{tmp_path}/gone'")
    (tmp_path / "gone").rmdir()
    (tmp_path / "gone").write_text("")
    assert len(staged.execute(QUERY).fetchall()) == 3
    ((reason,),) = staged.execute("SELECT reason FROM merganser_stages($1)", [QUERY]).fetchall()
    assert reason.startswith(f'no exchange folder can be made in "{tmp_path}/gone" (Not a directory): SET')


@pytest.mark.parametrize(
    "name", ["with space", "ünï 数据", "quote's", "star*[1]?", "percent%20#x", "new\nline", "{a},b"]
)
def test_names_of_folders(staged: duckdb.DuckDBPyConnection, tmp_path: Path, name: str):
    """Of exchange files, of what is read, and of what is written; a pattern in the name of a folder is none."""
    folder = tmp_path / name
    folder.mkdir()
    path = str(folder).replace("'", "''")
    staged.execute(f"SET merganser_exchange_directory = '{path}'")
    staged.execute("SET merganser_tasks = 4; SET merganser_task_bytes = 0")
    assert sorted(staged.execute(QUERY).fetchall()) == [(0, 34), (1, 33), (2, 33)]
    assert merganser.last_query()["stages"][0]["tasks"] > 1
    staged.execute(f"COPY (FROM t) TO '{path}/out' (FORMAT parquet, PARTITION_BY (g))")
    assert {file.name for file in (folder / "out").iterdir()} == {"g=0", "g=1", "g=2", "_manifest.merganser"}
    query = f"SELECT g, count(*), sum(i) FROM '{tmp_path}/*/out/*/*.parquet' GROUP BY g ORDER BY g LIMIT 9"
    rows = staged.execute(query).fetchall()
    with duckdb.connect() as plain:
        assert rows == plain.execute(query).fetchall() == [(0, 34, 1683), (1, 33, 1617), (2, 33, 1650)]
    assert merganser.last_query()["stages"][0]["tasks"] > 1
    assert {entry.name for entry in folder.iterdir()} == {"out"}


UNPRIVILEGED = """
import os, sys, merganser
if os.geteuid() == 0:  # to root every folder is open
    os.setgid(54321)
    os.setuid(54321)
os.environ.update(TMPDIR=sys.argv[2])
connection = merganser.connect(runner="local")
connection.execute("SET merganser_distribute_min_bytes = 0")
connection.execute("CREATE TABLE t AS SELECT i % 3 AS g, i FROM range(100) r(i)")
for directory in ("", sys.argv[1]):
    connection.execute(f"SET merganser_exchange_directory = '{directory}'")
    print(sorted(connection.execute("SELECT g, count(*) FROM t GROUP BY g").fetchall()))
    query = "FROM merganser_stages('SELECT g, count(*) FROM t GROUP BY g')"
    print(connection.execute(query).fetchall()[0][-1])
"""


def test_no_folder_can_be_made(tmp_path):
    """As in a container whose disk is for reading only: DuckDB runs the query, and the reason says what to do."""
    closed = Path(tempfile.mkdtemp(dir="/tmp"))  # whose parents others may enter, unlike those of tmp_path
    closed.chmod(0o555)
    try:
        told = subprocess.run(
            [*python(UNPRIVILEGED, closed), str(closed / "none")],
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        closed.rmdir()
    rows, no_temporary, same_rows, not_here = told.stdout.splitlines()
    assert rows == same_rows == "[(0, 34), (1, 33), (2, 33)]"
    assert no_temporary.startswith("there is no folder for temporary files (")
    assert not_here.startswith(
        f'no exchange folder can be made in "{closed}" (Permission denied): SET merganser_exchange'
    )
