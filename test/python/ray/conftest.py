"""One small Ray cluster for all tests of the runner `ray`: a head without CPUs and three nodes, on this machine."""

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import merganser
import pytest
from ray_cluster import HANGS_SECONDS, SmallCluster, private_folder


class TestCluster(SmallCluster):
    """The cluster, the folder its workers use, and the faults they are to have."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.faults = folder / "faults"
        self.faults.mkdir()

    def remove_node(self, node: str, worker: int, files: str) -> None:
        """With its worker's process and its files, as the nodes of this cluster share a machine and its disk."""
        (found,) = [n for n in self.ray.list_all_nodes() if n.node_id == node]
        self.ray.remove_node(found, allow_graceful=False)
        with contextlib.suppress(ProcessLookupError):  # it may end with its node
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not is_running(worker), "the worker of a removed node is left")
        shutil.rmtree(files)

    def exchange_root(self) -> Path:
        return self.folder / f"merganser-{os.getuid()}"

    def files(self) -> list[Path]:
        """All exchange files there are."""
        root = self.exchange_root()
        others = {"spill", "extension"}
        return [path for path in root.rglob("*") if path.is_file() and not others.intersection(path.parts)]

    def fault(self, action: str, stage: int, task: int, times: int = 1) -> None:
        for number in range(times):
            (self.faults / f"{action}-{stage}-{task}-{number}").touch()

    def open_faults(self) -> list[str]:
        return [path.name for path in self.faults.iterdir() if path.name != "log"]

    def begun(self) -> list[list[str]]:
        """Query, stage, task and number of each attempt the test has seen so far."""
        return [line.split() for line in (self.faults / "log").read_text().splitlines()]

    def attempts(self, stage: int, task: int) -> int:
        """How many attempts at a task the test has seen so far."""
        return sum(1 for attempt in self.begun() if attempt[1:3] == [str(stage), str(task)])


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[TestCluster]:
    with private_folder() as folder:
        cluster = TestCluster(folder)
        try:
            use_faulty_workers()
            yield cluster
            merganser.ray.shutdown()
            assert is_initialized(), "merganser must not shut down a Ray it did not start"
            assert not list(cluster.exchange_root().rglob("*"))
        finally:
            cluster.close()
            wait_until(lambda: not processes_of(folder), "a process of the cluster is left")


def use_faulty_workers() -> None:
    import faulty_worker
    import merganser.ray
    import ray
    from merganser.ray import cluster, query

    # Every worker there can be is there, and ends by itself, however slow the machine.
    for name in ("START", "PATIENCE", "USUAL", "COMEBACK", "CLEAN_UP"):
        setattr(query, f"{name}_SECONDS", HANGS_SECONDS)
    cluster.END_SECONDS = HANGS_SECONDS
    ray.cloudpickle.register_pickle_by_value(faulty_worker)
    with merganser.connect() as connection:
        merganser.ray.use(connection, merganser.extension_path(), worker_class=faulty_worker.FaultyWorker)


def is_initialized() -> bool:
    import ray

    return ray.is_initialized()


@pytest.fixture
def use_small_workers(ray_cluster) -> Callable:
    """use_small_workers(connection): every query in four tasks, by workers that fit this cluster."""

    def use(connection) -> None:
        for name, value in {
            "distribute_min_bytes": 0,
            "tasks": 4,
            "exchange_directory": f"'{ray_cluster.folder}'",
            "worker_directory": f"'{ray_cluster.folder}'",
            "worker_memory_limit": "'500MB'",
        }.items():
            connection.execute(f"SET GLOBAL merganser_{name} = {value}")

    return use


@pytest.fixture
def session(use_small_workers, tmp_path) -> Iterator:
    """A connection whose queries run on Ray, four tasks a stage, with a view `t` over four files."""
    with merganser.connect(runner="ray") as connection:
        for part in range(4):
            rows = f"SELECT i, i % 3 AS g FROM range({part * 2500}, {(part + 1) * 2500}) r(i)"
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/t_{part}.parquet' (ROW_GROUP_SIZE 2048)")
        connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/t_*.parquet')")
        use_small_workers(connection)
        yield connection


@pytest.fixture(autouse=True)
def leaves_nothing(ray_cluster) -> Iterator[None]:
    """After each test: every fault has happened, no exchange file is left, and no worker is busy."""
    (ray_cluster.faults / "log").write_text("")
    yield
    faults = ray_cluster.open_faults()
    for fault in faults:
        (ray_cluster.faults / fault).unlink()
    wait_until(lambda: busy_workers() == 0, "a worker is busy")
    wait_until(lambda: not ray_cluster.files(), "exchange files are left")
    assert not faults


def busy_workers() -> int:
    import ray
    from merganser.ray import runner

    cluster = runner._runner.cluster
    alive = cluster.living_nodes()
    members = [m for group in cluster.members.values() for m in group.values() if m.node in alive and m.has_answered]
    try:
        return sum(ray.get([member.actor.busy.remote() for member in members], timeout=HANGS_SECONDS))
    except ray.exceptions.ActorUnavailableError:  # Ray is starting it again
        return 1


def wait_until(holds: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + HANGS_SECONDS
    while not holds():
        assert time.monotonic() < end, otherwise
        time.sleep(0.05)


@pytest.fixture
def once_it_runs(ray_cluster) -> Iterator[Callable]:
    """once_it_runs(call): calls in another thread, when a worker has begun the next task and all faults have happened.

    However slow the machine is: an interrupt that comes before its query is lost.
    """
    threads = []

    def register(call: Callable) -> None:
        before = len(ray_cluster.begun())

        def wait_and_call() -> None:
            wait_until(lambda: len(ray_cluster.begun()) > before, "no task has begun")
            wait_until(lambda: not ray_cluster.open_faults(), "a fault has not happened")
            call()

        threads.append(threading.Thread(target=wait_and_call, daemon=True))
        threads[-1].start()

    yield register
    for thread in threads:
        thread.join()


@pytest.fixture
def eventually() -> Callable:
    """eventually(holds, otherwise): waits until holds() is true; fails with `otherwise` where it never is."""
    return wait_until


def is_running(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_of(folder: Path) -> list[str]:
    """Processes other than this one whose command line names the folder."""
    result = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                line = (process / "cmdline").read_text()
            except OSError:  # it has just ended
                continue
            if str(folder) in line:
                result.append(line.replace("\0", " "))
    return result


@pytest.fixture
def within() -> Callable:
    """within(call): the call's result or error; fails where it hangs."""

    def run(call: Callable):
        outcome: list = []

        def target() -> None:
            try:
                outcome.append((call(), None))
            except BaseException as error:  # noqa: BLE001 - raised again below
                outcome.append((None, error))

        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        thread.join(HANGS_SECONDS)
        if not outcome:
            pytest.fail(f"hangs: took longer than {HANGS_SECONDS} s", pytrace=False)
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    return run
