"""A staged query works in every kind of statement, fails as DuckDB would, and leaves nothing behind."""

import os
import signal
import threading
import time
from pathlib import Path

import duckdb
import merganser
import pytest

QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]


@pytest.fixture
def exchanges(tmp_path) -> Path:
    return tmp_path / "exchanges"


@pytest.fixture
def staged(tmp_path, exchanges):
    exchanges.mkdir()
    with merganser.connect() as connection:
        for part in range(4):
            rows = f"SELECT i, i % 3 AS g FROM range({part * 2500}, {(part + 1) * 2500}) r(i)"
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/t_{part}.parquet' (ROW_GROUP_SIZE 2048)")
        connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/t_*.parquet')")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_tasks = 5")
        connection.execute("SET merganser_slots = 2")
        connection.execute(f"SET merganser_exchange_directory = '{exchanges}'")
        connection.execute("SET merganser_runner = 'local'")
        yield connection
    assert list(exchanges.iterdir()) == []


def plan(connection, query: str) -> str:
    return connection.execute(f"EXPLAIN {query}").fetchall()[0][1]


def test_execute_and_sql(staged):
    assert "Staged Query" in plan(staged, QUERY)
    assert sorted(staged.execute(QUERY).fetchall()) == EXPECTED
    assert sorted(staged.sql(QUERY).fetchall()) == EXPECTED


def test_create_insert_copy(staged, tmp_path):
    staged.execute(f"CREATE TABLE made AS {QUERY}")
    staged.execute(f"INSERT INTO made {QUERY}")
    staged.execute(f"COPY ({QUERY}) TO '{tmp_path}/copied.parquet'")
    assert staged.execute("SELECT count(*), sum(s) FROM made").fetchall() == [(6, 99990000)]
    assert staged.execute(f"SELECT count(*), sum(s) FROM '{tmp_path}/copied.parquet'").fetchall() == [(3, 49995000)]


def test_prepared_statement_without_parameters_runs_again(staged):
    staged.execute(f"PREPARE again AS {QUERY}")
    assert sorted(staged.execute("EXECUTE again").fetchall()) == EXPECTED
    assert sorted(staged.execute("EXECUTE again").fetchall()) == EXPECTED
    staged.execute("DEALLOCATE again")


def test_parameters_stay_on_one_node(staged):
    assert staged.execute("SELECT count(*) FROM t WHERE i < ?", [10]).fetchall() == [(10,)]


def test_uncommitted_and_temporary_rows_are_seen(staged):
    staged.execute("CREATE TEMP TABLE keys(g BIGINT)")
    staged.execute("BEGIN")
    staged.execute("INSERT INTO keys VALUES (1)")
    query = "SELECT count(*) FROM t JOIN keys USING (g)"
    assert "Staged Query" in plan(staged, query)
    assert staged.execute(query).fetchall() == [(3333,)]
    staged.execute("ROLLBACK")
    assert staged.execute(query).fetchall() == [(0,)]


def test_error_of_a_task(staged):
    with pytest.raises(duckdb.ConversionException, match="oops"):
        staged.execute(
            "SELECT g, sum(CASE WHEN i = 777 THEN 'oops' ELSE i::VARCHAR END::INTEGER) FROM t GROUP BY g"
        ).fetchall()
    assert sorted(staged.execute(QUERY).fetchall()) == EXPECTED


def test_interrupt(staged, exchanges):
    threading.Timer(1.0, staged.interrupt).start()
    start = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        staged.execute("SELECT count(*) FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i = -1").fetchall()
    assert time.monotonic() - start < 60
    assert list(exchanges.iterdir()) == []
    assert sorted(staged.execute(QUERY).fetchall()) == EXPECTED


@pytest.mark.usefixtures("interruptible")
def test_control_c(staged, exchanges):
    threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
    start = time.monotonic()
    with pytest.raises((KeyboardInterrupt, RuntimeError)):
        staged.execute("SELECT count(*) FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i = -1").fetchall()
    assert time.monotonic() - start < 60
    assert list(exchanges.iterdir()) == []
    assert sorted(staged.execute(QUERY).fetchall()) == EXPECTED


def test_the_time_limit_of_the_session_ends_a_query(staged, exchanges):
    staged.execute("SET max_execution_time = 300")
    with pytest.raises(duckdb.InterruptException, match="exceeded maximum execution time"):
        staged.execute("SELECT count(*) FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i = -1").fetchall()
    assert list(exchanges.iterdir()) == []
    staged.execute("SET max_execution_time = 0")
    assert sorted(staged.execute(QUERY).fetchall()) == EXPECTED


def test_a_query_too_small(staged):
    staged.execute("SET merganser_distribute_min_bytes = 1000000000")
    rows = staged.execute("SELECT tasks, reason FROM merganser_stages($1)", [QUERY]).fetchall()
    assert [tasks for tasks, _ in rows] == [1]
    assert "smaller than merganser_distribute_min_bytes" in rows[0][1]
    assert "Staged Query" not in plan(staged, QUERY)


@pytest.mark.parametrize(
    "setting, reason",
    [
        ("enable_external_access = false", "enable_external_access is off"),
        ("disabled_filesystems = 'LocalFileSystem'", "LocalFileSystem is disabled"),
        ("lock_configuration = true", "lock_configuration is on"),
    ],
)
def test_a_session_that_is_locked_down_runs_queries_alone(connection, setting, reason):
    connection.execute("CREATE TABLE t AS SELECT i % 3 AS g, i FROM range(100) r(i)")
    connection.execute(
        "SET merganser_runner = 'local'; SET merganser_distribute_min_bytes = 0; SET merganser_tasks = 4"
    )
    query = "SELECT g, sum(i) FROM t GROUP BY g ORDER BY g"
    assert "lock" not in connection.execute("SELECT reason FROM merganser_stages(?)", [query]).fetchone()[0]
    connection.execute(f"SET {setting}")
    assert connection.execute(query).fetchall() == [(0, 1683), (1, 1617), (2, 1650)]
    assert reason in connection.execute("SELECT reason FROM merganser_stages(?)", [query]).fetchone()[0]
