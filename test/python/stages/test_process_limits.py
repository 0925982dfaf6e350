"""A process that may have few files open, few threads or little memory: a query stays below, or says why not."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

SESSION = """
import errno, os, resource, sys
import duckdb, merganser

folder = sys.argv[1]
connection = merganser.connect(runner="local")
connection.execute("SET enable_progress_bar = false")
for setting in ("merganser_distribute_min_bytes = 0", "merganser_task_bytes = 0", "merganser_broadcast_max_bytes = 0"):
    connection.execute(f"SET {setting}")
connection.execute(f"SET merganser_exchange_directory = '{folder}'")

def limit_open_files(most):
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def leave_open(free):
    '''Opens files until only so many more can be opened.'''
    taken = []
    while True:
        try:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            assert error.errno == errno.EMFILE
            break
    for file in taken[len(taken) - free :]:
        os.close(file)
    return taken[: len(taken) - free]
"""
ROWS = "SELECT count(*), sum(i), count(DISTINCT k) FROM (SELECT k, max(i) AS i FROM '{folder}/in/*.parquet' GROUP BY k)"


def run(code: str, folder: Path) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-c", SESSION + code, str(folder)], capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.splitlines()


@pytest.fixture
def files(tmp_path) -> Path:
    """160 files of 62 rows or 63."""
    (tmp_path / "in").mkdir()
    with duckdb.connect() as plain:
        plain.execute("CREATE TABLE t AS SELECT i, i % 7919 AS k FROM range(10000) r(i)")
        for number in range(160):
            plain.execute(f"COPY (FROM t WHERE i % 160 = {number}) TO '{tmp_path}/in/{number}.parquet'")
    return tmp_path


def test_more_tasks_and_files_than_may_be_open(files):
    """Each of 160 tasks reads 160 exchange files, in a process that may have 128 files open."""
    query = ROWS.format(folder=files)
    rows, tasks = run(
        f"""
connection.execute("SET merganser_tasks = 160; SET merganser_slots = 4")
limit_open_files(128)
print(connection.execute("{query}").fetchall())
print(max(stage["tasks"] for stage in merganser.last_query()["stages"]))
""",
        files,
    )
    with duckdb.connect() as plain:
        assert rows == str(plain.execute(query).fetchall())
    assert tasks == "160"


def test_a_scan_has_one_file_open_for_each_thread(tmp_path):
    """However many files it reads; it is given few more than that."""
    rows, taken = run(
        """
connection.execute("SET threads = 2; SET merganser_runner = ''; CREATE TABLE t AS SELECT i FROM range(250000) r(i)")
names = [f"{folder}/{number}" for number in range(300)]
for number, name in enumerate(names):
    connection.execute(f"COPY (FROM t WHERE i % 300 = {number}) TO '{name}' (FORMAT merganser_exchange)")
limit_open_files(256)
taken = leave_open(2)
print(connection.execute("SELECT count(*), sum(i) FROM merganser_exchange($1)", [names]).fetchall())
print(len(taken))
""",
        tmp_path,
    )
    assert rows == str([(250000, sum(range(250000)))])
    assert int(taken) > 200


def test_folders_by_value_are_written_by_so_many_tasks_that_their_files_may_be_open(files):
    """Each of the tasks that run at the same time may have 100 files open."""
    written, most_tasks = run(
        """
connection.execute("SET merganser_tasks = 8; SET merganser_slots = 8; SET threads = 2")
limit_open_files(256)
rows = f"SELECT i, k % 150 AS p FROM '{folder}/in/*.parquet'"
connection.execute(f"COPY ({rows}) TO '{folder}/out' (FORMAT parquet, PARTITION_BY (p))")
connection.execute("SET merganser_runner = ''")
query = f"SELECT count(*), sum(i), count(DISTINCT p) FROM '{folder}/out/*/*.parquet'"
print(connection.execute(query).fetchall())
print(merganser.last_query()["stages"][-1]["tasks"])
""",
        files,
    )
    assert written == str([(10000, 49995000, 150)])
    assert most_tasks == "8"


@pytest.mark.parametrize("free", [0, 1, 2])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM (SELECT k, max(i) FROM t GROUP BY k)",
        "COPY (SELECT i FROM t) TO '{folder}/out' (FORMAT parquet, PER_THREAD_OUTPUT)",
        "COPY (SELECT k, i FROM t) TO '{folder}/out' (FORMAT merganser_regions, PARTITION_BY k)",
    ],
    ids=["query", "copy", "regions"],
)
def test_no_room_for_a_file_is_told(tmp_path, statement, free):
    """It is no lost file and no other writer. The next query takes away what could not be removed without files."""
    error, rows, left = run(
        f"""
connection.execute("SET merganser_tasks = 8; SET merganser_slots = 2")
connection.execute("CREATE TABLE t AS SELECT i % 7919 AS k, i FROM range(100000) r(i)")
statement = f"{statement}"
limit_open_files(256)
taken = leave_open({free})
try:
    connection.execute(statement).fetchall()
except duckdb.IOException as error:
    print(" ".join(str(error).split()))
for file in taken:
    os.close(file)
print(connection.execute(statement).fetchall())
print(os.listdir(folder))
""",
        tmp_path,
    )
    is_query = statement.startswith("SELECT")
    assert rows == ("[(7919,)]" if is_query else "[(100000,)]")
    assert left == ("[]" if is_query else "['out']")
    assert "Too many open files" in error
    if "region_" not in error:  # DuckDB's own writer of Parquet says what it says
        assert "This process may have 256 files open at a time (ulimit -n): raise that limit" in error


PARTITIONED = """
connection.execute("SET merganser_runner = ''; SET threads = 1; SET temp_directory = ''")
connection.execute("SET memory_limit = '150MB'")
rows = "SELECT i AS a, -i AS b, i AS c, -i AS d, i // 2 AS e FROM range(600000) r(i)"
texts = "SELECT i AS a, repeat(hash(i)::VARCHAR, 100) AS text FROM range(100000) r(i)"
def write(query, partitions):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connection.execute(f"COPY ({query}) TO '{folder}/file' (FORMAT merganser_exchange, PARTITION_BY a, "
                       f"PARTITIONS {partitions})")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
"""


@pytest.mark.parametrize(("query", "partitions"), [("rows", 4096), ("texts", 256)])
def test_what_a_writer_collects_is_bounded(tmp_path, query, partitions):
    """Full blocks of all partitions would be 335 MB of numbers, or 1 GB of texts."""
    kilobytes, same, spread = run(
        f"""{PARTITIONED}
print(write({query}, {partitions}))
read = f"FROM merganser_exchange(['{{folder}}/file'])"
written, expected = (connection.execute(f"SELECT count(*), sum(hash(t)) FROM ({{rows}}) t").fetchall()
                     for rows in (read, {query}))
print(written == expected)
sizes = f"FROM merganser_exchange_partitions(['{{folder}}/file']) WHERE rows > 0"
print(len(connection.execute(sizes).fetchall()))
""",
        tmp_path,
    )
    assert int(kilobytes) < 150_000
    assert same == "True"
    assert int(spread) == partitions


def test_what_a_writer_collects_counts(tmp_path):
    (error,) = run(
        f"""{PARTITIONED}
connection.execute("SET memory_limit = '25MB'")
try:
    print(write(rows, 4096))
except duckdb.OutOfMemoryException as error:
    print("out of memory")
""",
        tmp_path,
    )
    assert error == "out of memory"


def test_a_thread_that_cannot_be_started_fails_its_query_only(tmp_path):
    """None, or so many that some tasks run already; the process keeps its threads and runs the next query."""
    *errors, rows = run(
        """
import glob, re, shutil, tempfile

if os.geteuid() == 0:  # the limit is not for root
    os.setgid(54321)
    os.setuid(54321)
folder = tempfile.mkdtemp()
connection.execute(f"SET merganser_exchange_directory = '{folder}'; SET merganser_tasks = 16; SET merganser_slots = 16")
connection.execute("CREATE TABLE t AS SELECT i, i % 997 AS k FROM range(100000) r(i)")

def threads_of_user():
    count = 0
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            status = open(path).read()
        except OSError:  # it has ended
            continue
        if re.search(rf"^Uid:\\s+{os.getuid()}\\s", status, re.MULTILINE):
            count += int(re.search(r"^Threads:\\s+([0-9]+)", status, re.MULTILINE)[1])
    return count

used, most = threads_of_user(), resource.getrlimit(resource.RLIMIT_NPROC)[1]
for more in (0, 1, 2, 3, 5, 9):
    resource.setrlimit(resource.RLIMIT_NPROC, (used + more, most))
    try:
        connection.execute("SELECT k, count(*) FROM t GROUP BY k")
        print("ran with", more)
    except duckdb.IOException as error:
        print(" ".join(str(error).split()))
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
print(connection.execute("SELECT count(*), sum(n) FROM (SELECT k, count(*) AS n FROM t GROUP BY k)").fetchall())
connection.close()
shutil.rmtree(folder)
""",
        tmp_path,
    )
    assert len(errors) == 6
    for error in errors:
        assert "Cannot start a thread for a stage" in error
        assert "Raise the limit of processes (ulimit -u), or SET merganser_slots to fewer tasks at a time" in error
    assert rows == str([(997, 100000)])
