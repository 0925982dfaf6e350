"""A node that cannot run tasks is named, in one sentence, and the others run the query, soon."""

import errno
import json
import os
import threading
from pathlib import Path

import duckdb
import merganser
import pytest
import ray
from merganser.ray import query as query_module
from merganser.ray import runner
from merganser.ray.worker import Marker, Misfit, Options, Worker, sha_of
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g ORDER BY g LIMIT 10"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]
LONG = "SELECT count(*) FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i = -1"


def left_out() -> list[str]:
    return merganser.last_query()["left_out"]


def members_with(threads: int) -> list:
    groups = runner._runner.cluster.members
    return [member for limits, group in groups.items() if limits.threads == threads for member in group.values()]


@pytest.fixture
def other_duckdb(ray_cluster):
    """other_duckdb(text): what `import duckdb` runs on a node with the fault `without`."""
    folder = ray_cluster.folder / "other_duckdb"
    folder.mkdir()

    def write(text: str) -> None:
        (folder / "duckdb.py").write_text(text)

    yield write
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def test_a_node_without_duckdb(session, ray_cluster, within, other_duckdb, capfd):
    other_duckdb("raise ModuleNotFoundError('No module named duckdb')")
    ray_cluster.fault("without", 0, 0)
    session.execute("SET merganser_worker_threads = 11")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    (why,) = left_out()
    assert why.startswith("node ") and why.endswith(
        "cannot import duckdb (No module named duckdb); on that node run: pip install duckdb==2.0.1"
    )
    assert "\n" not in why
    assert len(members_with(threads=11)) == 2
    assert capfd.readouterr().err.count(why) == 1
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert why not in capfd.readouterr().err  # told once


def test_a_node_with_another_duckdb(session, ray_cluster, within, other_duckdb):
    other_duckdb("__version__ = '1.4.2'")
    ray_cluster.fault("without", 0, 0)
    session.execute("SET merganser_worker_threads = 12")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    (why,) = left_out()
    assert "has DuckDB 1.4.2, this process 2.0.1; on that node run: pip install duckdb==2.0.1" in why


def test_no_node_has_duckdb(session, ray_cluster, within, other_duckdb):
    other_duckdb("raise ModuleNotFoundError('No module named duckdb')")
    ray_cluster.fault("without", 0, 0, times=3)
    session.execute("SET merganser_worker_threads = 13")
    with pytest.raises(duckdb.IOException, match="(node [0-9a-f]{16} .* cannot import duckdb.*; ?){3}"):
        within(session.execute(QUERY).fetchall)
    assert within(session.execute(QUERY).fetchall) == EXPECTED  # it has been installed


@pytest.mark.parametrize(
    ("fault", "why"), [("blind", "does not see the exchange folder"), ("readonly", "cannot write into the exchange")]
)
def test_a_node_without_the_exchange_folder(session, ray_cluster, within, fault, why):
    """It is told before a task has failed, and its worker is as good as the others for queries without that folder."""
    ray_cluster.fault(fault, 0, 0)
    session.execute(f"SET merganser_worker_threads = {14 if fault == 'blind' else 15}")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    (told,) = left_out()
    assert told.startswith("node ") and f"{why}" in told
    assert told.endswith("mount it there for this user to write, or SET merganser_exchange_shared = false")
    assert sum(stage["retries"] for stage in merganser.last_query()["stages"]) == 0
    if fault == "readonly":
        session.execute("SET merganser_exchange_shared = false")
        assert within(session.execute(QUERY).fetchall) == EXPECTED
        assert left_out() == []


def test_no_node_sees_the_exchange_folder(session, ray_cluster, within):
    ray_cluster.fault("blind", 0, 0, times=3)
    session.execute("SET merganser_worker_threads = 16")
    with pytest.raises(duckdb.IOException, match="(node [0-9a-f]{16} .* does not see the exchange folder.*; ?){3}"):
        within(session.execute(QUERY).fetchall)


def test_a_node_that_loses_the_exchange_folder(session, ray_cluster, within):
    """The reader is avoided; the writers of files it does not see are not to blame and do not run again."""
    session.execute("SET merganser_worker_threads = 17")
    ray_cluster.fault("unmount", 2, 1)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    (told,) = left_out()
    assert "does not see the exchange folder" in told
    assert [ray_cluster.attempts(1, task) for task in range(4)] == [1, 1, 1, 1]
    assert ray_cluster.attempts(2, 1) == 2


@pytest.fixture
def hanging(ray_cluster, monkeypatch):
    """hanging(1): workers of so many nodes do not answer, until release() is called. Nobody has much patience."""
    monkeypatch.setattr(query_module, "PATIENCE_SECONDS", 0)
    monkeypatch.setattr(query_module, "USUAL_SECONDS", 0)
    marks = []

    def hang(count: int) -> set[str]:
        nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")][:count]
        marks.extend(ray_cluster.faults / f"hang-{node}" for node in nodes)
        for mark in marks:
            mark.touch()
        return set(nodes)

    def release() -> None:
        for mark in marks:
            mark.unlink(missing_ok=True)

    hang.release = release
    yield hang
    release()


def test_a_node_that_does_not_answer(session, within, hanging, eventually):
    """Tasks start without it, and other queries do not wait either; later it is used."""
    (late,) = hanging(1)
    session.execute("SET merganser_worker_threads = 18")
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(session.cursor().execute(QUERY).fetchall())) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        within(thread.join)
    assert results == [EXPECTED] * 3
    assert any("has not answered for" in why for why in left_out())
    hanging.release()

    def is_used() -> bool:
        assert within(session.execute(QUERY).fetchall) == EXPECTED
        return any(member.node == late and member.has_answered for member in members_with(threads=18))

    eventually(is_used, "it is not used")


def test_a_query_that_waits_for_workers_is_interrupted(session, within, hanging, monkeypatch):
    """Nobody waits with a lock in hand."""
    hanging(3)
    session.execute("SET merganser_worker_threads = 19")
    wait = query_module.Query.give_up_late_answers

    def wait_and_be_interrupted(query) -> None:
        session.interrupt()
        wait(query)

    monkeypatch.setattr(query_module.Query, "give_up_late_answers", wait_and_be_interrupted)
    with pytest.raises(duckdb.InterruptException):
        within(session.execute(QUERY).fetchall)
    assert not runner._runner.cluster.lock.locked()
    monkeypatch.setattr(query_module.Query, "give_up_late_answers", wait)
    hanging.release()
    assert within(session.execute(QUERY).fetchall) == EXPECTED


def test_workers_that_never_answer(session, within, hanging, monkeypatch):
    monkeypatch.setattr(query_module, "START_SECONDS", 3)
    hanging(3)
    session.execute("SET merganser_worker_threads = 20")
    with pytest.raises(
        duckdb.IOException, match="(the worker on .* is not used: it has not answered for [0-9]+ s;? ?){3}"
    ):
        within(session.execute(QUERY).fetchall)
    assert members_with(threads=20) == []


def test_a_node_whose_cpus_are_held(session, within, eventually):
    """Workers need no CPU that is free, and reserve none."""

    class Held:
        def node(self) -> str:
            return ray.get_runtime_context().get_node_id()

    node = next(node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU"))
    placed = NodeAffinitySchedulingStrategy(node, soft=False)
    held = ray.remote(Held).options(num_cpus=1, scheduling_strategy=placed).remote()
    assert ray.get(held.node.remote()) == node
    try:
        session.execute("SET merganser_worker_threads = 21")
        assert within(session.execute(QUERY).fetchall) == EXPECTED
        cpus = sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
        eventually(lambda: ray.available_resources()["CPU"] == cpus - 1, "the workers reserve CPUs")
    finally:
        ray.kill(held)


# ---------------------------------------------------------------- the extension


def options(tmp_path: Path, extension: Path) -> Options:
    return Options(
        node="f" * 32,
        name="one",
        cpus=1,
        directory=str(tmp_path),
        memory_limit="200MB",
        threads=1,
        max_spill_bytes=0,
        duckdb=duckdb.__version__,
        platform=duckdb.execute("PRAGMA platform").fetchone()[0],
        extension_path=str(extension),
        extension_sha=sha_of(merganser.extension_path().read_bytes()),
    )


@pytest.mark.usefixtures("ray_cluster")
@pytest.mark.parametrize("there", ["the same", "another one", "none"])
def test_the_extension_is_a_copy_of_its_own(tmp_path, there):
    """Whoever may write where the driver's file lies on a node cannot make workers load something else."""
    data = merganser.extension_path().read_bytes()
    seen = tmp_path / "seen.duckdb_extension"
    if there != "none":
        seen.write_bytes(data if there == "the same" else b"evil")
    worker = Worker(options(tmp_path, seen))
    loaded = worker.database([ray.put(data)]).execute("SELECT count(*) FROM merganser_table_functions()").fetchall()
    assert loaded[0][0] > 0
    copy = worker.own_extension([])
    assert copy.read_bytes() == data and copy.is_relative_to(worker.path)
    assert [path.stat().st_mode & 0o077 for path in (worker.path, worker.path.parent)] == [0, 0]
    worker.connection.close()
    worker.folder.remove()
    assert not worker.path.exists()


@pytest.mark.usefixtures("ray_cluster")
def test_another_extension_is_not_loaded(tmp_path):
    worker = Worker(options(tmp_path, tmp_path / "none"))
    with pytest.raises(OSError, match="has started anew and does not have the extension"):
        worker.database()
    with pytest.raises(Misfit, match="did not get the extension of this process as it is there"):
        worker.database([ray.put(b"evil")])
    worker.folder.remove()


def test_workers_load_the_copy(session, within):
    session.execute("SET merganser_worker_threads = 22")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert len(members_with(threads=22)) == 3
    for member in members_with(threads=22):
        maps = Path(f"/proc/{ray.get(member.actor.process.remote())}/maps").read_text()
        loaded = {line.split()[-1] for line in maps.splitlines() if line.endswith("merganser.duckdb_extension")}
        assert loaded == {f"{member.folder}/extension/merganser/merganser.duckdb_extension"}


@pytest.mark.parametrize(
    ("number", "why"), [(errno.ENOSPC, ""), (errno.EMFILE, ""), (errno.EROFS, "cannot write into the exchange folder")]
)
def test_what_passes_says_nothing_of_the_folder(tmp_path, monkeypatch, number, why):
    worker = Worker(options(tmp_path, tmp_path / "none"))
    marker = Marker(str(tmp_path / "driver"), "text")
    (tmp_path / "driver").write_text("text")
    assert worker.why_not_shared(marker) == ""

    def fail(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", fail)
    told = worker.why_not_shared(marker)
    monkeypatch.undo()
    assert why in told and bool(why) == bool(told)


# ---------------------------------------------------------------- ends that are not tried again, and interrupts


def test_an_interrupt_between_two_statements_of_a_task(session, ray_cluster, within, eventually):
    """The task begins its query only when it has been interrupted, and ends nevertheless."""
    ray_cluster.fault("pause", 1, 0)
    query = threading.Thread(target=lambda: outcome.append(error_of(session, LONG)))
    outcome: list[str] = []
    query.start()
    eventually(lambda: not ray_cluster.open_faults(), "the task has not begun")
    session.interrupt()
    within(query.join)
    assert outcome == ["InterruptException"]


def error_of(connection, query: str) -> str:
    try:
        connection.execute(query).fetchall()
    except Exception as error:  # noqa: BLE001 - compared by the test
        return type(error).__name__
    return "none"


def test_a_refused_request_is_final(tmp_path):
    error = duckdb.HTTPException("HTTP Error: no right")
    worker = Worker(options(tmp_path, tmp_path / "none"))
    for status, final in {403: True, 404: True, 429: False, 503: False}.items():
        error.status_code = status
        outcome = worker.failure(error, {})
        assert (outcome.final, json.dumps(outcome.error)) == (final, '"HTTP Error: no right"')
