"""A process that may start no more threads: its query fails and says why, and the next one runs."""

import threading

import duckdb
import pytest
from merganser.ray import runner
from merganser.ray.threads import start_thread

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g ORDER BY g LIMIT 10"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]


@pytest.fixture
def refused(monkeypatch):
    """refused("merganser-query"): threads whose name begins so cannot be started, as under `ulimit -u`."""
    start = threading.Thread.start

    def refuse(name: str) -> None:
        def start_or_refuse(thread) -> None:
            if thread.name.startswith(name):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_or_refuse)

    refuse.undo = lambda: monkeypatch.setattr(threading.Thread, "start", start)
    return refuse


@pytest.mark.parametrize("name", ["merganser-query", "merganser-interrupts"])
def test_a_thread_of_the_driver(session, within, eventually, refused, name):
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    eventually(lambda: runner._runner.watcher is None, "nobody needs it")
    refused(name)
    with pytest.raises(duckdb.IOException, match=f'cannot start the thread "{name}.*Raise the limit .* .ulimit -u.'):
        within(session.execute(QUERY).fetchall)
    refused.undo()
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert not runner._runner.running


def test_a_thread_of_a_worker(session, ray_cluster, within):
    """Its task runs again, as the thread may start the next time."""
    ray_cluster.fault("refuse", 1, 0)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert ray_cluster.attempts(1, 0) == 2


def test_what_is_started_is_told(refused):
    refused("merganser-any")
    with pytest.raises(OSError, match='cannot start the thread "merganser-any": can.t start new thread. Raise the'):
        start_thread("merganser-any", print)
