"""The head of a cluster is killed while a query runs: one error, soon, and the program goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ray_cluster import HANGS_SECONDS, private_folder

pytestmark = pytest.mark.ray

# A head without CPUs and a node. Tells the address and the processes of the head, and ends with its standard input.
CLUSTER = """
import sys
from pathlib import Path
from ray_cluster import SmallCluster
cluster = SmallCluster(Path(sys.argv[1]), nodes=1)
print(cluster.address, flush=True)
print(*[info.process.pid for kind in cluster.ray.head_node.all_processes.values() for info in kind], flush=True)
sys.stdin.read()
"""

# Waits with a query until it fails, and goes on; `whose` is who has joined the cluster.
PROGRAM = """
import sys, time, duckdb, ray, ray_cluster, merganser
from merganser.ray import head, query
address, folder, whose = sys.argv[1:]
head.CHECK_SECONDS, head.GONE_SECONDS = 0.1, 1
start, told = query.Query.start_attempt, []
def start_and_tell(*arguments):
    start(*arguments)
    if not told:
        told.append(print("begun", flush=True))
query.Query.start_attempt = start_and_tell

if whose == "program":
    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
connection = merganser.connect(runner="ray", address=address)
for name, value in {"distribute_min_bytes": 0, "tasks": 2, "exchange_directory": f"'{folder}'",
                    "worker_directory": f"'{folder}'", "worker_memory_limit": "'500MB'"}.items():
    connection.execute(f"SET GLOBAL merganser_{name} = {value}")
connection.execute("SET enable_progress_bar = false")
t = f"'{folder}/t.parquet'"
duckdb.execute(f"COPY (SELECT i FROM range(10000) r(i)) TO {t} (ROW_GROUP_SIZE 2048)")

def run(query):
    try:
        print(connection.execute(query).fetchall(), flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)

run(f"SELECT count(*) FROM {t} a, {t} b, {t} c, {t} d WHERE hash(a.i, b.i, c.i, d.i) = 1")
run(f"SELECT sum(i) FROM {t}")
connection.execute("SET merganser_runner = ''")
run(f"SELECT sum(i) FROM {t}")
if whose == "program":
    print(ray.is_initialized())
    ray.shutdown()  # or Ray ends the process within a minute
while ray.is_initialized():
    time.sleep(0.01)
print("left", flush=True)
try:
    merganser.connect(runner="ray", address=address)
except ConnectionError as error:
    print(error)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with private_folder() as path:
        yield path


@contextmanager
def python(code: str, *arguments: str, **pipes: int) -> Iterator[subprocess.Popen]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("whose", ["merganser", "program"])
def test_the_head_is_killed_while_a_query_runs(folder, whose):
    with python(CLUSTER, str(folder), stdin=subprocess.PIPE) as cluster:
        address = cluster.stdout.readline().strip()
        processes = [int(number) for number in cluster.stdout.readline().split()]
        assert len(processes) > 1
        with python(PROGRAM, address, str(folder), whose) as program:
            assert program.stdout.readline() == "begun\n"
            for process in processes:
                os.kill(process, signal.SIGKILL)
            told, _ = program.communicate(timeout=HANGS_SECONDS)
        assert program.returncode == 0, told
        assert told.count(f"the head of the Ray cluster at {address} does not answer any more: when it does, call") == 2
        lines = told.splitlines()
        assert [line.split(":")[0] for line in lines[:2]] == ["IOException", "IOException"]
        assert lines[2] == "[(49995000,)]"
        assert lines[3:-1] == (["True", "left"] if whose == "program" else ["left"])
        assert lines[-1].startswith(f"no Ray cluster answers at '{address}' ")
