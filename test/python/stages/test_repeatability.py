"""Which stages write the same rows when their tasks run again, and that they do."""

import hypothesis
import merganser
import pytest
import twice
from hypothesis import strategies as st
from staged import assert_same_rows, cut_everything, most_tasks, rows_or_error
from test_random_queries import LANES, queries, tables, write_table

REPEATABLE = "repeatable"


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    with merganser.connect() as connection:
        columns = "i, i % 7 AS g, i::DOUBLE / 3 AS x, (i % 11)::VARCHAR AS s, (i % 13)::DECIMAL(9, 2) AS d"
        connection.execute(f"COPY (SELECT {columns} FROM range(9000) r(i)) TO '{folder}/t' (FORMAT parquet)")
        connection.execute(f"CREATE VIEW t AS FROM read_parquet('{folder}/t')")
        connection.execute("CREATE TABLE sent AS SELECT i, i % 7 AS g FROM range(100) r(i)")
        cut_everything(connection)
        connection.execute("SET merganser_task_bytes = 0")
        connection.execute("SET merganser_broadcast_max_bytes = 0")
        connection.execute("SET merganser_runner = 'local'")
        yield connection


def not_repeatable(connection, query: str) -> dict[int, str]:
    """The stages that are not, with the reason."""
    stages = connection.execute("SELECT stage, reason FROM merganser_stages($1)", [query]).fetchall()
    assert len(stages) > 1
    return {stage: reason.split("not repeatable: ")[1] for stage, reason in stages if "not repeatable: " in reason}


CTE = "WITH c AS MATERIALIZED ({}) SELECT count(*) FROM c a JOIN c b USING (i)"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT g, count(*), count(x), sum(i), avg(i), min(s), max(d), sum(d), avg(d), bit_xor(i) FROM t GROUP BY g",
        "SELECT sum(i), bool_and(i > 3), count(DISTINCT s) FROM t",
        "SELECT g, list(i) FROM t GROUP BY g",  # its rows are exchanged, and the lists made by who reads them
        "SELECT g, sum(i) FROM sent GROUP BY g",
        "SELECT DISTINCT g, s FROM t",
        "SELECT a.i, b.s FROM t a LEFT JOIN t b ON a.i = b.g",
        "SELECT i FROM t WHERE i NOT IN (SELECT g FROM t)",
        "SELECT g, s FROM t INTERSECT SELECT g, s FROM t",
        "SELECT i, rank() OVER (PARTITION BY g ORDER BY s) AS r FROM t QUALIFY r < 3",
        "SELECT i, row_number() OVER (PARTITION BY g) FROM t",
        "SELECT g, (SELECT max(d) FROM t b WHERE b.g = a.g) FROM t a",
        CTE.format("SELECT i, s FROM t WHERE g = 3"),  # shares by position of rows whose order is fixed
        CTE.format("SELECT i, g FROM sent"),
        CTE.format("SELECT unnest([i, i]) AS i FROM t"),
        "SELECT count(*) FROM TUMBLE(DATA => TABLE(SELECT i, TIMESTAMP '2020-01-01' + i * INTERVAL 1 second AS time "
        "FROM t), TIMECOL => 'time', SIZE => INTERVAL 1 minute)",
    ],
)
def test_repeatable(connection, query):
    assert not_repeatable(connection, query) == {}


@pytest.mark.parametrize(
    ("query", "stage", "reason"),
    [
        ("SELECT b, count(*) FROM (SELECT floor(random() * 9)::INT AS b FROM t) GROUP BY b", 1,
         "random() gives another value each time"),
        ("SELECT DISTINCT uuid() FROM t", 1, "uuid() gives another value each time"),
        ("SELECT g, sum(x) FROM t GROUP BY g", 1, "sum() depends on the order of its rows"),
        ("SELECT g, avg(x) FROM t GROUP BY g", 1, "avg() depends on the order of its rows"),
        ("SELECT g, stddev(i) FROM t GROUP BY g", 1, "stddev() depends on the order of its rows"),
        ("SELECT g, first(i) FROM t GROUP BY g", 1, "first() depends on the order of its rows"),
        ("SELECT g, max(x) FROM t GROUP BY g", 1, "max() depends on the order of its rows"),
        ("SELECT x, count(*) FROM t GROUP BY x", 1, "equal values of DOUBLE need not be identical"),
        ("SELECT count(*) FROM (SELECT list(i) AS l FROM t GROUP BY g) GROUP BY l", 2, "of BIGINT[] need not be"),
        ("SELECT count(*) FROM (SELECT g, list(i) AS l FROM t GROUP BY g), unnest(l)", 2, "list() depends on"),
        ("SELECT i FROM t LIMIT 5", 1, "which rows are the first depends on the order they come in"),
        ("SELECT i FROM t ORDER BY g LIMIT 5", 1, "which rows are the first depends on the order they come in"),
        ("SELECT count(*) FROM (FROM t USING SAMPLE 9 ROWS) GROUP BY g", 2, "SAMPLE may give other rows each time"),
        ("SELECT DISTINCT ON (g) i FROM t ORDER BY g, s", 2, "DISTINCT may give other rows each time"),
        ("SELECT count(*) FROM (SELECT i, row_number() OVER (PARTITION BY g ORDER BY s) AS r FROM t) GROUP BY r", 2,
         "a window depends on the order of rows that tie"),
        ("SELECT i FROM t ORDER BY g", 2, "SORT_KEY_SAMPLE may give other rows each time"),
        (CTE.format("SELECT a.i FROM t a JOIN t b USING (i)"), 3,
         "which share a row is in depends on the order of all, and a join gives rows in any order"),
        (CTE.format("SELECT i FROM t UNION ALL SELECT i FROM t"), 1,
         "which share a row is in depends on the order of all, and UNION ALL gives rows in any order"),
        (CTE.format("SELECT i, random() AS r FROM t") + " WHERE a.r = b.r", 1, "random() gives another value"),
    ],
)  # fmt: skip
def test_not_repeatable(connection, query, stage, reason):
    found = not_repeatable(connection, query)
    assert min(found) == stage
    assert reason in found[stage]


def test_without_preserved_order_even_shares_are_not_repeatable(connection):
    query = CTE.format("SELECT i, s FROM t WHERE g = 3")
    connection.execute("SET preserve_insertion_order = false")
    assert "preserve_insertion_order is off" in not_repeatable(connection, query)[1]
    connection.execute("RESET preserve_insertion_order")
    assert not_repeatable(connection, query) == {}


@pytest.fixture
def run_twice(connection):
    runner = twice.Twice()
    connection.execute(f"SET merganser_runner = '{twice.NAME}'")
    yield runner
    connection.execute("SET merganser_runner = 'local'")
    runner.close()


def test_the_runner_sees_what_is_not_repeatable(connection, run_twice, monkeypatch):
    """The check has teeth: where it is told that random() repeats, it says that it does not."""
    stage_tasks = twice.native.stage_tasks
    query = "SELECT b, count(*) FROM (SELECT floor(random() * 100) AS b FROM t) GROUP BY b"
    assert sum(n for _, n in connection.execute(query).fetchall()) == 9000
    assert run_twice.broken == []
    monkeypatch.setattr(twice.native, "stage_tasks", lambda *arguments: {**stage_tasks(*arguments), "repeatable": True})
    connection.execute(query).fetchall()
    assert run_twice.broken


@pytest.mark.parametrize("threads_matter", ["SELECT g, count(*), sum(i), max(s) FROM t GROUP BY g ORDER BY g"])
def test_tasks_of_many_rows_run_again(connection, run_twice, threads_matter):
    connection.execute("SET merganser_runner = ''")
    expected = connection.execute(threads_matter).fetchall()
    connection.execute(f"SET merganser_runner = '{twice.NAME}'")
    assert connection.execute(threads_matter).fetchall() == expected
    assert run_twice.broken == []
    assert any(claim.startswith(REPEATABLE) for claim in run_twice.claims)


@LANES
def test_tasks_of_random_queries_run_again(connection, run_twice, tmp_path_factory, lane):
    folder = tmp_path_factory.mktemp("random")
    seen = {"queries": 0, "in several tasks": 0}
    limits = st.sampled_from([0, 1000, 64 << 20])

    @hypothesis.given(tables, tables, st.lists(queries(), min_size=2, max_size=2), limits)
    @hypothesis.settings(max_examples=hypothesis.settings().max_examples // 4)
    def run(left, right, texts, limit):
        connection.execute("SET merganser_runner = ''")
        connection.execute(f"SET merganser_broadcast_max_bytes = {limit}")
        write_table(connection, folder, "a", left)
        write_table(connection, folder, "b", right)
        for query in texts:
            hypothesis.note(query)
            connection.execute("SET merganser_runner = ''")
            expected = rows_or_error(connection, query)
            connection.execute(f"SET merganser_runner = '{twice.NAME}'")
            actual = rows_or_error(connection, query)
            seen["queries"] += 1
            if isinstance(expected, str) or isinstance(actual, str):
                assert actual == expected
            else:
                seen["in several tasks"] += most_tasks(connection, query) > 1
                assert_same_rows(actual, expected, ordered=False)
            assert run_twice.broken == []

    run()
    connection.execute("SET merganser_broadcast_max_bytes = 0")
    assert seen["in several tasks"] * 3 > seen["queries"]
    repeatable = [claim for claim in run_twice.claims if claim.startswith(REPEATABLE)]
    assert len(repeatable) > len(run_twice.claims) / 3
