"""merganser_verify checks one declaration after the other: it shows how far it is, and can be interrupted."""

import threading

import duckdb
import pytest


def test_an_interrupt_ends_a_check_and_nothing_else(connection):
    """The check alone would count for hours."""
    connection.execute("CREATE VIEW endless AS SELECT i % 2 AS a FROM range(100000000000000) r(i)")
    connection.execute("ALTER VIEW endless ADD UNIQUE (a) NOT ENFORCED RELY")
    stopped = threading.Event()

    def interrupt():
        while not stopped.wait(0.05):
            connection.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(duckdb.InterruptException):
            connection.execute("CALL merganser_verify()")
    finally:
        stopped.set()
        thread.join()
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.execute("ALTER TABLE t ADD UNIQUE (a) NOT ENFORCED RELY")
    assert connection.execute("SELECT holds FROM merganser_verify('t')").fetchall() == [(True,)]


def test_many_declarations(connection):
    """More than one chunk of them; every fifth is broken; all others keep the time."""
    count = 2100
    for i in range(count):
        connection.execute(f"CREATE TABLE t{i} AS SELECT a // {2 if i % 5 == 0 else 1} AS a FROM range(2) r(a)")
        connection.execute(f"CALL merganser_declare_unique('t{i}', ['a'])")
    connection.execute("BEGIN; INSERT INTO t1 VALUES (1)")
    rows = connection.execute("SELECT object, holds, violating_keys FROM merganser_verify()").fetchall()
    broken = {f"memory.main.t{i}" for i in range(count) if i % 5 == 0 or i == 1}
    assert {name for name, holds, _ in rows if not holds} == broken
    assert len(rows) == count
    assert {violating for _, _, violating in rows} == {0, 1}
    connection.execute("COMMIT")
    times = "SELECT count(verified_at), count(DISTINCT verified_at) FROM merganser_declarations()"
    assert connection.execute(times).fetchone() == (count - len(broken), 1)


def test_a_check_is_planned_when_its_turn_comes(connection):
    """So the second never is: the first fails. And no rule that trusts declarations takes part in checking them."""
    connection.execute("CREATE TABLE t AS SELECT 'x' AS a")
    connection.execute("CREATE VIEW first AS SELECT a::INTEGER AS a FROM t")
    connection.execute("CREATE VIEW second AS SELECT a FROM first")
    for view in ("first", "second"):
        connection.execute(f"ALTER VIEW {view} ADD PRIMARY KEY (a) NOT ENFORCED RELY")
    with pytest.raises(duckdb.ConversionException):
        connection.execute("CALL merganser_verify()")
    assert connection.execute("SELECT count(verified_at) FROM merganser_declarations()").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM merganser_explain('FROM t') WHERE section = 'plan'").fetchone() == (
        2,
    )
