"""Files lost at every boundary of stages: before, between and after the tasks that read them.

One task runs at a time, in the order of stages and tasks, so each test says what had been read of a file when it goes.
Rows must be those of one execution: each row once, each id in one group, whatever a stage writes the second time.
"""

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import merganser
import pytest
from merganser.ray import query as query_module
from merganser.ray.worker import ExchangeFile, Outcome

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

ONCE = "SELECT count(*), sum(n) FROM (SELECT x, count(*) AS n FROM ({}) GROUP BY x)"
#: A query and its rows, whatever its stages write.
QUERIES = {
    "volatile": (
        ONCE.format(
            "SELECT unnest(l) AS x FROM (SELECT b, list(i) AS l FROM "
            "(SELECT i, floor(random() * 1000)::INT AS b FROM t) GROUP BY b)"
        ),
        [(10000, 10000)],
    ),
    "limit": (ONCE.format("SELECT i AS x FROM (SELECT i FROM t LIMIT 5000) JOIN t r USING (i)"), [(5000, 5000)]),
    "sample": (
        ONCE.format("SELECT i AS x FROM (SELECT i FROM t USING SAMPLE 5000 ROWS) JOIN t r USING (i)"),
        [(5000, 5000)],
    ),
    "sort": ("SELECT i FROM t ORDER BY g, i", [(i,) for g in range(3) for i in range(g, 10000, 3)]),
    "shared CTE": (
        "WITH c AS MATERIALIZED (SELECT i, floor(random() * 1000)::INT AS b FROM t) "
        "SELECT count(DISTINCT l.i), count(*) FROM c l JOIN c r ON l.i = r.i AND l.b = r.b",
        [(10000, 10000)],
    ),
    "DISTINCT": (
        "SELECT count(*), sum(i) FROM (SELECT DISTINCT i, g FROM (FROM t UNION ALL FROM t))",
        [(10000, 49995000)],
    ),
    "even shares": (
        "WITH c AS MATERIALIZED (SELECT l.i FROM t l JOIN t r USING (i)) "
        "SELECT count(DISTINCT a.i), count(*) FROM c a JOIN c b USING (i)",
        [(10000, 10000)],
    ),
    "lists": (ONCE.format("SELECT unnest(l) AS x FROM (SELECT g, list(i) AS l FROM t GROUP BY g)"), [(10000, 10000)]),
}


@pytest.fixture
def one_by_one(session):
    session.execute("SET merganser_slots = 1")
    session.execute("SET merganser_task_bytes = 0")
    session.execute("SET merganser_broadcast_max_bytes = 0")
    # DuckDB would fetch the columns of few rows by a second scan, in eight more stages.
    session.execute("SET disabled_optimizers = 'late_materialization'")
    return session


@pytest.fixture
def when_accepted(monkeypatch) -> Callable:
    """when_accepted(call): from now on, calls in the driver with the query and each attempt that counts."""
    accept = query_module.Query.accept

    def register(call: Callable) -> None:
        def accept_and_call(query, attempt, outcome):
            accept(query, attempt, outcome)
            call(query, attempt)

        monkeypatch.setattr(query_module.Query, "accept", accept_and_call)

    return register


class Loss:
    """Removes the files of a stage's first two tasks once, when `task` of stage `after` has ended."""

    def __init__(self, stage: int, after: int, task: int) -> None:
        self.stage, self.after, self.task = stage, after, task
        self.lost: list[str] = []

    def __call__(self, query, attempt) -> None:
        if self.lost or (attempt.stage, attempt.task) != (self.after, self.task):
            return
        for task in query.stages[self.stage].tasks[:2]:
            Path(task.accepted.path).unlink()
            self.lost.append(task.accepted.path)


def stages_of(session, query: str) -> list[tuple[int, int, str]]:
    return session.execute("SELECT stage, tasks, inputs FROM merganser_stages($1)", [query]).fetchall()


def readers(stages: list[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """Each stage with each stage of several tasks that reads it."""
    found = set()
    for stage, tasks, inputs in stages:
        found |= {
            (int(part.split("stage ")[1]), stage) for part in inputs.split(", ") if "stage " in part and tasks > 1
        }
    return sorted(found)


@pytest.mark.parametrize("name", QUERIES)
def test_lost_between_the_tasks_that_read_it(one_by_one, within, when_accepted, name):
    """The first reader has read the old file; the others find it gone."""
    query, expected = QUERIES[name]
    boundaries = readers(stages_of(one_by_one, query))
    assert boundaries
    for read, reader in boundaries:
        loss = Loss(read, reader, 0)
        when_accepted(loss)
        assert within(one_by_one.execute(query).fetchall) == expected, (name, read, reader)
        assert loss.lost
        assert merganser.last_query()["stages"][read - 1]["retries"] > 0


@pytest.mark.parametrize("name", ["volatile", "shared CTE", "sort"])
def test_lost_before_the_tasks_that_read_it(one_by_one, within, when_accepted, name):
    query, expected = QUERIES[name]
    for stage, tasks, _ in stages_of(one_by_one, query)[:-1]:
        loss = Loss(stage, stage, tasks - 1)
        when_accepted(loss)
        assert within(one_by_one.execute(query).fetchall) == expected
        assert loss.lost
        assert merganser.last_query()["stages"][stage - 1]["retries"] > 0


@pytest.mark.parametrize("name", ["volatile", "shared CTE", "sort"])
def test_lost_after_the_tasks_that_read_it(one_by_one, within, when_accepted, name):
    """Nobody misses it."""
    query, expected = QUERIES[name]
    stages = stages_of(one_by_one, query)
    last, tasks, _ = stages[-1]
    for stage in range(1, last):
        loss = Loss(stage, last, tasks - 1)
        when_accepted(loss)
        assert within(one_by_one.execute(query).fetchall) == expected
        assert loss.lost
        assert all(stage["retries"] == 0 for stage in merganser.last_query()["stages"])


def test_readers_of_other_rows_run_again(one_by_one, ray_cluster, within, when_accepted):
    """All of them, and nothing else: the tasks of the stage that still have their files do not."""
    when_accepted(Loss(1, 2, 1))
    query, expected = QUERIES["volatile"]
    assert within(one_by_one.execute(query).fetchall) == expected
    assert [ray_cluster.attempts(1, task) for task in range(4)] == [2, 2, 1, 1]
    # 0 and 1 had ended; 2 found the file missing; each then ran once more
    assert [ray_cluster.attempts(2, task) for task in range(4)] == [2, 2, 2, 1]


def test_readers_of_the_same_rows_stay(one_by_one, ray_cluster, within, when_accepted):
    when_accepted(Loss(1, 2, 1))
    query, expected = QUERIES["lists"]
    assert within(one_by_one.execute(query).fetchall) == expected
    assert [ray_cluster.attempts(1, task) for task in range(4)] == [2, 2, 1, 1]
    assert [ray_cluster.attempts(2, task) for task in range(4)] == [1, 1, 2, 1]


def test_a_reader_that_still_runs_is_dropped_too(session, ray_cluster, within, when_accepted):
    """It has opened the old file; what it returns later does not count."""
    session.execute("SET merganser_task_bytes = 0")
    ray_cluster.fault("wait", 2, 0)
    started = []

    def lose(query, attempt) -> None:
        if attempt.stage == 1 and query.stages[1].is_complete and not started:
            started.append(query.stages[1].tasks[0].accepted.path)
            os.unlink(started[0])

    when_accepted(lose)
    query, expected = QUERIES["volatile"]
    assert within(session.execute(query).fetchall) == expected
    assert ray_cluster.attempts(1, 0) == 2
    assert ray_cluster.attempts(2, 0) == 2


def test_the_result_is_lost_before_the_session_has_read_it(one_by_one, when_accepted):
    """Rows that were delivered are not delivered again: it is an error."""

    def lose(query, attempt) -> None:
        if query.last.is_complete:
            for task in query.last.tasks[1:]:
                os.unlink(task.accepted.path)

    when_accepted(lose)
    with pytest.raises(duckdb.IOException, match=r'Exchange file ".*/s2/t1-a0" is gone'):
        one_by_one.execute("SELECT i % 10000 AS i, count(*) FROM t GROUP BY ALL").fetchall()


def test_the_result_is_lost_before_it_is_here(one_by_one, ray_cluster, within, when_accepted):
    """Without shared storage it is copied first: no row was delivered, so its task runs again."""
    one_by_one.execute("SET merganser_exchange_shared = false")
    lost = []

    def lose(query, attempt) -> None:
        if query.last.is_complete and not lost:
            lost.append(query.last.tasks[1].accepted.path)
            os.unlink(lost[0])

    when_accepted(lose)
    rows = within(one_by_one.execute("SELECT i % 10000 AS i, count(*) FROM t GROUP BY ALL").fetchall)
    assert sorted(rows) == [(i, 1) for i in range(10000)]
    assert [ray_cluster.attempts(2, task) for task in range(4)] == [1, 2, 1, 1]


def test_sent_rows_are_lost(one_by_one, within, when_accepted):
    one_by_one.execute("CREATE TABLE sent AS SELECT i, i % 3 AS g FROM range(10000) r(i)")

    def lose(query, attempt) -> None:
        for path in query.plan.sent:
            Path(path).unlink(missing_ok=True)

    when_accepted(lose)
    with pytest.raises(duckdb.IOException, match=r'the file ".*sent/0" the session sent is gone or damaged'):
        within(one_by_one.execute("SELECT g, count(*) FROM sent GROUP BY g").fetchall)


def test_a_whole_file_in_the_place_of_another(one_by_one, ray_cluster, within, when_accepted):
    """Its name is right, its blocks are whole: its size tells that it is another, or its identity."""
    replaced = []

    def replace(query, attempt) -> None:
        if query.stages[1].is_complete and not replaced:
            first, second = (task.accepted for task in query.stages[1].tasks[1:3])
            Path(first.path).write_bytes(Path(second.path).read_bytes())
            replaced.append(first.path)

    when_accepted(replace)
    rows = "SELECT i, i // 10000 AS g FROM t"
    query = ONCE.format(f"SELECT unnest(l) AS x FROM (SELECT g, list(i) AS l FROM ({rows}) GROUP BY g)")
    assert within(one_by_one.execute(query).fetchall) == [(10000, 10000)]
    assert replaced
    assert [ray_cluster.attempts(1, task) for task in range(4)] == [1, 2, 1, 1]


@pytest.mark.parametrize(
    "query", ["SELECT 't' AS x, min(i), max(i) FROM a UNION ALL SELECT 'u', min(i), max(i) FROM b"]
)
def test_files_of_two_tables_without_shared_storage(session, within, query):
    session.execute("SET merganser_exchange_shared = false")
    for start in (2000, 4000):
        session.execute("CREATE OR REPLACE TABLE a AS SELECT i + 1000 AS i FROM range(1000) r(i)")
        session.execute(f"CREATE OR REPLACE TABLE b AS SELECT i + {start} AS i FROM range(1000) r(i)")
        rows = within(session.execute(query).fetchall)
        assert sorted(rows) == [("t", 1000, 1999), ("u", start, start + 999)]


def test_an_attempt_that_ends_late_does_not_count():
    """Attempts have names of their own, and what was dropped is not looked at."""
    state = query_module.StageState(stage=None, tasks=[query_module.TaskState()])
    query = query_module.Query.__new__(query_module.Query)
    query.stages = {1: state}
    attempt = query_module.Attempt(1, 0, 0, member=None, message=None, dropped=True)
    query.take_outcome(attempt, Outcome(rows=1, identity=1))
    query.take_outcome(attempt, Outcome(error="IO Error: late"))
    query.take_outcome(attempt, Outcome(lost=["file"]))
    assert state.tasks[0].accepted is None and state.tasks[0].failures == 0
    state.tasks[0].accepted = ExchangeFile("file", 1, 2)
    late = query_module.Attempt(1, 0, 1, member=None, message=None)
    query.take_outcome(late, Outcome(rows=1, identity=1))
    query.take_outcome(late, Outcome(error="IO Error: late"))
    assert state.tasks[0].accepted == ExchangeFile("file", 1, 2) and state.tasks[0].failures == 0
