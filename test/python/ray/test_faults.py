"""What goes wrong on a cluster costs an attempt, not the query; or it is the right error. Nothing is left behind."""

import os
import signal
import time

import duckdb
import merganser
import pytest
import ray
from merganser.ray import cluster as cluster_module
from merganser.ray import query as query_module
from merganser.ray import runner

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

MAP, REDUCE, LAST = 1, 2, 3
QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g ORDER BY g LIMIT 10"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]
LONG = "SELECT count(*) FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i = -1"


def retries() -> list[int]:
    return [stage["retries"] for stage in merganser.last_query()["stages"]]


@pytest.fixture
def when_stage_is_complete(monkeypatch):
    """when_stage_is_complete(MAP, call): calls once in the driver, between two stages, with the driver's query."""

    def register(stage: int, call) -> None:
        accept = query_module.Query.accept
        left = [call]

        def accept_and_call(query, attempt, outcome):
            accept(query, attempt, outcome)
            if query.stages[stage].is_complete and left:
                left.pop()(query)

        monkeypatch.setattr(query_module.Query, "accept", accept_and_call)

    return register


@pytest.mark.parametrize("stage", [MAP, REDUCE, LAST])
def test_worker_killed_in_a_task(session, ray_cluster, within, stage):
    ray_cluster.fault("kill", stage, 0)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert retries()[stage - 1] >= 1


def test_worker_killed_between_stages(session, within, when_stage_is_complete):
    def kill(query) -> None:
        node = query.stages[MAP].tasks[0].accepted.node
        os.kill(ray.get(query.members[node].actor.process.remote()), signal.SIGKILL)

    when_stage_is_complete(MAP, kill)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert retries()[MAP - 1] == 0  # on shared storage, its files outlive it


def test_two_workers_killed(session, ray_cluster, within):
    ray_cluster.fault("kill", MAP, 0)
    ray_cluster.fault("kill", MAP, 3)
    assert within(session.execute(QUERY).fetchall) == EXPECTED


def test_a_task_that_kills_every_worker(session, ray_cluster, within):
    ray_cluster.fault("kill", MAP, 1, times=4)
    with pytest.raises(duckdb.IOException, match="the worker on .* died while it ran stage 1"):
        within(session.execute(QUERY).fetchall)
    assert ray_cluster.attempts(MAP, 1) == 4
    assert within(session.execute(QUERY).fetchall) == EXPECTED


def test_node_removed_with_its_exchange_files(session, ray_cluster, within, when_stage_is_complete):
    lost: list[int] = []

    def remove(query) -> None:
        node = query.stages[MAP].tasks[0].accepted.node
        lost.append(sum(task.accepted.node == node for task in query.stages[MAP].tasks))
        member = query.members[node]
        ray_cluster.remove_node(node, ray.get(member.actor.process.remote()), member.folder)

    session.execute("SET merganser_exchange_shared = false")
    when_stage_is_complete(MAP, remove)
    try:
        assert within(session.execute(QUERY).fetchall) == EXPECTED
        written = sum(ray_cluster.attempts(MAP, task) for task in range(4))
        assert written == 4 + lost[0]  # only what the node had written was written again
    finally:
        ray_cluster.add_node()
        ray_cluster.await_nodes()


@pytest.mark.parametrize("fault", ["truncate", "damage", "remove"])
@pytest.mark.parametrize("shared", ["true", "false"])
def test_lost_exchange_file(session, ray_cluster, within, fault, shared):
    session.execute(f"SET merganser_exchange_shared = {shared}")
    ray_cluster.fault(fault, MAP, 2)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert [ray_cluster.attempts(MAP, task) for task in range(4)] == [1, 1, 2, 1]


def test_exchange_file_that_is_damaged_every_time(session, ray_cluster, within):
    ray_cluster.fault("damage", MAP, 2, times=4)
    with pytest.raises(duckdb.IOException, match=r'Exchange file ".*s1/t2-a3" was lost 4 times'):
        within(session.execute(QUERY).fetchall)


def test_task_that_raises(session, ray_cluster, within):
    ray_cluster.fault("raise", REDUCE, 1)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert retries()[REDUCE - 1] == 1


def test_task_that_always_raises(session, ray_cluster, within):
    session.execute("SET merganser_task_attempts = 2")
    ray_cluster.fault("raise", REDUCE, 1, times=2)
    with pytest.raises(duckdb.Error, match="a fault the test asked for"):
        within(session.execute(QUERY).fetchall)


def test_full_disk(session, within):
    session.execute("SET merganser_exchange_max_bytes = 1000")
    with pytest.raises(duckdb.IOException, match="take more than merganser_exchange_max_bytes = 1000; SET it to more"):
        within(session.execute("SELECT i % 10000, count(*) FROM t GROUP BY ALL").fetchall)
    session.execute("RESET merganser_exchange_max_bytes")
    assert within(session.execute(QUERY).fetchall) == EXPECTED


def test_interrupted_query(session, within, once_it_runs):
    once_it_runs(session.interrupt)
    with pytest.raises(duckdb.InterruptException):
        within(session.execute(LONG).fetchall)
    assert within(session.execute(QUERY).fetchall) == EXPECTED


@pytest.mark.usefixtures("interruptible")
def test_control_c(session, once_it_runs):
    once_it_runs(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises((KeyboardInterrupt, RuntimeError)):
        session.execute(LONG).fetchall()
    assert session.execute(QUERY).fetchall() == EXPECTED


def test_closed_connection(session, within):
    with session.cursor() as cursor:
        cursor.execute(QUERY)  # nobody reads its rows


def test_exception_in_the_driver(session, within, when_stage_is_complete):
    def fail(query) -> None:
        raise ZeroDivisionError("in the driver")

    when_stage_is_complete(MAP, fail)
    with pytest.raises(duckdb.IOException, match="the Ray runner failed: ZeroDivisionError: in the driver"):
        within(session.execute(QUERY).fetchall)
    assert within(session.execute(QUERY).fetchall) == EXPECTED


def test_straggler(session, ray_cluster, within):
    session.execute("SET merganser_speculation = true")
    ray_cluster.fault("wait", MAP, 3)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert ray_cluster.attempts(MAP, 3) == 2


def test_folders_of_killed_processes_are_swept(session, ray_cluster, within):
    old = ray_cluster.exchange_root() / "process" / "query"
    old.mkdir(parents=True)
    long_ago = time.time() - 7 * 24 * 3600
    for folder in (old, old.parent):
        os.utime(folder, (long_ago, long_ago))
    session.execute("SET merganser_worker_threads = 2")  # other workers, which start
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert not old.parent.exists()


def workers_with(threads: int) -> int:
    members = runner._runner.cluster.members
    return sum(len(group) for limits, group in members.items() if limits.threads == threads)


def pauses_with(threads: int) -> list:
    return [pause for (limits, _), pause in runner._runner.cluster.pauses.items() if limits.threads == threads]


def test_a_worker_that_does_not_start_is_started_another_time(session, ray_cluster, within, monkeypatch):
    monkeypatch.setattr(cluster_module, "FIRST_PAUSE_SECONDS", 3600)
    session.execute("SET merganser_worker_threads = 3")
    ray_cluster.fault("start", 0, 0)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert workers_with(threads=3) == 2
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert workers_with(threads=3) == 2  # its pause is not over
    (pause,) = pauses_with(threads=3)
    assert pause.failures == 1
    pause.until = 0
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert workers_with(threads=3) == 3
    assert not pauses_with(threads=3)


def test_no_worker_starts(session, ray_cluster, within):
    session.execute("SET merganser_worker_threads = 4")
    ray_cluster.fault("start", 0, 0, times=3)
    with pytest.raises(duckdb.IOException, match="(?s)the worker on .* did not start: .*the test asked to fail"):
        within(session.execute(QUERY).fetchall)
    assert within(session.execute(QUERY).fetchall) == EXPECTED  # at once: there is no other


def test_a_worker_that_does_not_start_again_after_it_died(session, ray_cluster, within, eventually):
    session.execute("SET merganser_worker_threads = 5")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    ray_cluster.fault("start", 0, 0)
    ray_cluster.fault("kill", MAP, 0)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    eventually(lambda: not ray_cluster.open_faults(), "Ray has not tried to start it again")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert workers_with(threads=5) == 2
    runner._runner.cluster.pauses.clear()
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert workers_with(threads=5) == 3


def test_pauses_grow():
    pause = cluster_module.Pause()
    for seconds in (1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300):
        before = time.monotonic()
        pause.grow()
        assert before + seconds <= pause.until <= time.monotonic() + seconds


def test_workers_are_the_same_for_all_queries(session):
    session.execute(QUERY).fetchall()
    before = {m.actor for group in runner._runner.cluster.members.values() for m in group.values()}
    with merganser.connect(runner="ray") as other:
        other.execute("SELECT 1").fetchall()
    session.execute(QUERY).fetchall()
    assert {m.actor for group in runner._runner.cluster.members.values() for m in group.values()} == before


@pytest.mark.parametrize("action", ["kill", "raise", "truncate", "remove"])
def test_a_small_side_that_is_lost_is_written_again(session, ray_cluster, within, action):
    """The decision it led to stays: the other side is still not exchanged."""
    session.execute("SET merganser_broadcast_max_bytes = 5000")
    query = "SELECT count(*), sum(a.i) FROM t a JOIN t b ON a.i + 1 = b.i + 1 WHERE b.i::VARCHAR LIKE '9_9_'"
    ray_cluster.fault(action, 1, 1)
    assert within(session.execute(query).fetchall) == [(100, 954450)]
    stages = merganser.last_query()["stages"]
    assert sum(stage["retries"] for stage in stages) >= 1
    assert stages[1]["tasks"] == 0
    assert "computed inside stage 3" in str(stages[1]["decisions"])
