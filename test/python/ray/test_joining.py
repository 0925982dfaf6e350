"""Which Ray a process uses, and what happens when the user ends it or there is none: a sentence, soon, and no other."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import merganser
import pytest
from merganser.ray import joining
from ray_cluster import HANGS_SECONDS, private_folder

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) AS n FROM t GROUP BY g ORDER BY g LIMIT 10"


@pytest.fixture
def listening():
    """host:port of a program that is not Ray and says nothing."""
    with socket.create_server(("", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("address", "error", "match"),
    [
        ("127.0.0.1:1", ConnectionError, "no Ray cluster answers at '127.0.0.1:1' .*refused"),
        (
            "host-that-is-none.invalid:6379",
            ConnectionError,
            "no Ray cluster answers at 'host-that-is-none.invalid:6379'",
        ),
        ("cluster", ValueError, "'cluster' is no address of a Ray cluster"),
        ("10.0.0.1:port", ValueError, "'10.0.0.1:port' is no address of a Ray cluster"),
        ("ray://10.0.0.1:10001", ValueError, "'ray://10.0.0.1:10001' is no address of a Ray cluster for merganser"),
    ],
)
def test_a_wrong_address(address, error, match, within):
    with pytest.raises(error, match=f"{match}.*: give host:port of its head, as '10.0.0.1:6379', 'auto'") as raised:
        within(lambda: joining.reachable(address))
    assert "\n" not in str(raised.value)


def test_an_address_where_something_else_listens(listening, within, monkeypatch):
    monkeypatch.setattr(joining, "CONNECT_SECONDS", 1)
    with pytest.raises(
        ConnectionError, match=r"no Ray cluster .* answers at '127.*' \(it says nothing for 1 s\): give"
    ):
        within(lambda: joining.reachable(listening))


def test_the_address_of_a_cluster(ray_cluster, within):
    assert within(lambda: joining.reachable(ray_cluster.address)) == ray_cluster.address


@pytest.mark.parametrize("address", ["local", "10.0.0.1:6379"])
def test_another_address_than_that_of_the_process(session, address, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(
        ValueError, match=f"already uses the Ray cluster .*before it uses '{address}', call merganser.ray"
    ):
        merganser.connect(runner="ray", address=address)
    with pytest.raises(ValueError, match=f"Ray is initialised in this process with the cluster at .*'{address}'"):
        joining.require_current(address)


def test_the_address_of_the_process(session, ray_cluster):
    port = ray_cluster.address.rpartition(":")[2]
    for address in (ray_cluster.address, f"127.0.0.1:{port}", f"localhost:{port}", None):
        joining.require_current(address)
        merganser.connect(runner="ray", address=address).close()


# What a user does to Ray, one line for each step; RAY_ADDRESS is another cluster's, which nobody asked for.
ENDED_AND_AGAIN = """
import atexit, os, sys, ray
atexit.register(lambda: print("at exit:", ray.is_initialized()))
import merganser
address, folder, files = sys.argv[1:]
quiet = {"log_to_driver": False, "logging_level": "ERROR"}

def run(connection):
    t = f"read_parquet('{files}')"
    try:
        return connection.execute(f"SELECT g, count(*) AS n FROM {t} GROUP BY g ORDER BY g LIMIT 9").fetchall()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def settle(connection):
    for name in ("exchange_directory", "worker_directory"):
        connection.execute(f"SET GLOBAL merganser_{name} = '{folder}'")
    connection.execute("SET GLOBAL merganser_distribute_min_bytes = 0")
    connection.execute("SET GLOBAL merganser_worker_memory_limit = '500MB'")
    connection.execute("SET enable_progress_bar = false")
    return connection

ray.init(address=address, **quiet)
os.environ["RAY_ADDRESS"] = "127.0.0.1:1"
first = settle(merganser.connect(runner="ray"))
print("1:", run(first))
ray.shutdown()
print("2:", run(first), ray.is_initialized())
merganser.connect().close()
ray.init(address=address, **quiet)
print("3:", run(first))
second = settle(merganser.connect(runner="ray", address=address))
print("4:", run(second))
merganser.ray.shutdown()
print("5:", run(second), ray.is_initialized())
third = settle(merganser.connect(runner="ray"))
ray.shutdown()
merganser.ray.shutdown()
merganser.ray.shutdown()
print("6:", ray.is_initialized())
try:
    merganser.connect(runner="ray")
except ConnectionError as error:
    print("7:", error, ray.is_initialized())
third = settle(merganser.connect(runner="ray", address=address))
print("8:", run(third))
ray.shutdown()
"""


def test_ray_is_shut_down_by_the_user_and_initialised_again(session, ray_cluster, tmp_path):
    rows = session.execute(QUERY).fetchall()
    program = [sys.executable, "-c", ENDED_AND_AGAIN, ray_cluster.address, str(ray_cluster.folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [*program, f"{tmp_path}/t_*.parquet"], env=environment, capture_output=True, text=True, timeout=HANGS_SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    told = dict(line.split(": ", 1) for line in ended.stdout.splitlines())
    assert told["1"] == told["3"] == told["4"] == told["8"] == str(rows)
    assert told["2"].startswith("IOException: IO Error: Ray does not run in this process any more: call ray.init(...)")
    assert told["2"].endswith(" False")
    assert told["5"].startswith("IOException: IO Error: merganser.ray.shutdown() was called: call merganser.connect")
    assert told["5"].endswith(" True")  # merganser had not started it
    assert told["6"] == "False"
    assert told["7"].startswith("no Ray cluster answers at '127.0.0.1:1'") and told["7"].endswith(" False")
    assert told["at exit"] == "False"


def test_ray_is_shut_down_while_a_query_runs(session, ray_cluster, tmp_path):
    program = """
import sys, threading, ray, merganser
from merganser.ray.query import Query
address, folder, files = sys.argv[1:]
connection = merganser.connect(runner="ray", address=address)
for name, value in {"distribute_min_bytes": 0, "exchange_directory": f"'{folder}'", "worker_directory": f"'{folder}'",
                    "worker_memory_limit": "'500MB'", "tasks": 4}.items():
    connection.execute(f"SET GLOBAL merganser_{name} = {value}")
connection.execute("SET enable_progress_bar = false")
t = f"read_parquet('{files}')"
begun, start = threading.Event(), Query.start_attempt
Query.start_attempt = lambda *arguments: (start(*arguments), begun.set())
told = []
def run():
    try:
        connection.execute(f"SELECT count(*) FROM {t} a, {t} b, {t} c WHERE hash(a.i, b.i, c.i) = 1").fetchall()
    except Exception as error:
        told.append(f"{type(error).__name__}: {error}")
thread = threading.Thread(target=run)
thread.start()
begun.wait()
ray.shutdown()
thread.join()
print(told, ray.is_initialized())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [ray_cluster.address, str(ray_cluster.folder), f"{tmp_path}/t_*.parquet"]
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
    )
    assert ended.stdout == "['IOException: IO Error: Ray was shut down while the query ran'] False\n", ended.stderr


# ---------------------------------------------------------------- with Ray's token


TOKEN_PROGRAM = """
import sys, merganser
connection = merganser.connect(runner="ray", address=sys.argv[1])
connection.execute("SET merganser_distribute_min_bytes = 0")
connection.execute("COPY (SELECT i FROM range(1000) r(i)) TO 'rows.parquet'")
print(connection.execute("SELECT i % 2 AS g, count(*) FROM 'rows.parquet' GROUP BY g ORDER BY g").fetchall())
"""


@pytest.mark.slow
def test_a_cluster_that_asks_for_a_token():
    with private_folder() as folder:
        run_with_tokens(folder)


def run_with_tokens(folder: Path) -> None:
    here = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path), "RAY_AUTH_MODE": "token"}
    here.pop("RAY_ADDRESS", None)
    right, wrong = {**here, "RAY_AUTH_TOKEN": "a" * 40}, {**here, "RAY_AUTH_TOKEN": "b" * 40}
    start = "import ray, sys; ray.init(address='local', num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1]); "
    start += "print(ray.get_runtime_context().gcs_address, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", start, str(folder)], env=right, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as cluster:
        address = cluster.stdout.readline().strip()
        program = [sys.executable, "-c", TOKEN_PROGRAM, address]
        ended = subprocess.run(program, cwd=folder, env=right, capture_output=True, text=True, timeout=HANGS_SECONDS)
        assert ended.stdout == "[(0, 500), (1, 500)]\n", ended.stderr
        ended = subprocess.run(program, cwd=folder, env=wrong, capture_output=True, text=True, timeout=HANGS_SECONDS)
        assert "no Ray cluster of this process answers at" in ended.stderr.splitlines()[-1], ended.stderr
        cluster.stdin.close()


FORKS = """
import os, sys, merganser, merganser.ray
address, folder = sys.argv[1:]
connection = merganser.connect(runner="ray", address=address, config={"threads": "1"})
for name, value in {"distribute_min_bytes": 0, "exchange_directory": f"'{folder}'", "worker_directory": f"'{folder}'",
                    "worker_memory_limit": "'500MB'"}.items():
    connection.execute(f"SET GLOBAL merganser_{name} = {value}")
connection.execute("SET enable_progress_bar = false")
connection.execute("CREATE TABLE t AS SELECT i, i % 2 AS g FROM range(1000) r(i)")

def tell(call):
    try:
        print(call(), flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)

query = lambda: connection.execute("SELECT g, count(*) FROM t GROUP BY g ORDER BY g").fetchall()
tell(query)
child = os.fork()
if child == 0:
    tell(lambda: merganser.connect(runner="ray", address=address))
    tell(query)
    tell(lambda: merganser.connect(runner="local").execute("SELECT 42").fetchall())
    tell(merganser.ray.shutdown)
    os._exit(0)
tell(lambda: os.waitpid(child, 0)[1])
tell(query)
"""


def test_a_process_that_forks(ray_cluster):
    """As multiprocessing does by itself on Linux: the child is told, and cannot end what the parent uses."""
    command = [sys.executable, "-c", FORKS, ray_cluster.address, str(ray_cluster.folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS_SECONDS)
    assert ended.returncode == 0, ended.stderr
    rows, connects, queries, local, shuts_down, status, same_rows = ended.stdout.splitlines()
    forked = (
        "this process was forked from one that uses Ray, whose connection does not come along: start processes with"
    )
    assert rows == same_rows == "[(0, 500), (1, 500)]"
    assert connects.startswith(f"ConnectionError: {forked} multiprocessing.get_context('spawn')")
    assert queries.startswith(f"IOException: IO Error: {forked} ")
    assert (local, shuts_down, status) == ("[(42,)]", "None", "0")
