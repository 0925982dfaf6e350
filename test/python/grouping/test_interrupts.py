"""What a table function does between two chunks ends soon after an interrupt, or when max_execution_time is over.

Each query would take minutes. How soon is not measured: it has to end long before it would by itself.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import merganser
import pytest

#: An interrupt comes when the query has run for so long; within how many more seconds it has to end.
BEGUN_SECONDS = 1.0
SECONDS = 10
#: `a` goes up and down from row to row.
SERIES = "SELECT i AS time, i % 2 * 100 + hash(i) % 50 AS a, hash(-i) % 1000 / 3.0 AS b FROM range({rows}) r(i)"


def series(rows: int, columns: str = "time, a, b") -> str:
    return f"(SELECT {columns} FROM ({SERIES.format(rows=rows)}))"


#: Parts of SQL that compute long for one chunk, or for no row at all.
LONG = {
    # 64 partitions, each of 131071 lags of up to 65536 rows
    "correlation": (
        f"XCORR(DATA => {series(64 * 65536, 'time // 65536 AS k, time, a, b')} PARTITION BY k ORDER BY time, "
        "TIMECOL => 'time')"
    ),
    # every row in 60000 windows
    "overlapping windows": (
        f"M4(DATA => {series(10_000_000)} ORDER BY time, TIMECOL => 'time', SIZE => 60000, SLIDE => 1)"
    ),
    "overlapping windows, thinned": (
        f"LTTB(DATA => {series(3_000_000)} ORDER BY time, TIMECOL => 'time', SIZE => 60000, SLIDE => 1)"
    ),
    # up and down until a level comes, which never does
    "readings of a pattern": (
        f"PATTERN_MATCH(DATA => {series(1_000_000)} ORDER BY time, DATA_COL => 'a', "
        "PATTERN => '{0,1}+,0,0,0,0,0,0', SMOOTH => 0, THRESHOLD => 1000)"
    ),
}


@pytest.fixture
def session() -> duckdb.DuckDBPyConnection:
    with merganser.connect(config={"threads": "2"}) as connection:
        yield connection


def ends_by_interrupt(connection: duckdb.DuckDBPyConnection, end: Callable[[], None], query: str) -> float:
    """Seconds from the call of `end` to the end of the query."""
    ended_at: list[float] = []

    def interrupt() -> None:
        ended_at.append(time.monotonic())
        end()

    timer = threading.Timer(BEGUN_SECONDS, interrupt)
    timer.start()
    try:
        with pytest.raises(duckdb.InterruptException):
            connection.execute(query)
    finally:
        timer.cancel()
        timer.join()
    assert ended_at, "the query ended by itself"
    return time.monotonic() - ended_at[0]


@pytest.mark.parametrize("name", LONG)
def test_an_interrupt_ends_it(session, name):
    query = f"SELECT count(*) FROM {LONG[name]}"
    assert ends_by_interrupt(session, session.interrupt, query) < SECONDS
    assert session.execute("SELECT 42").fetchall() == [(42,)]


@pytest.mark.parametrize("name", LONG)
def test_max_execution_time_ends_it(session, name):
    """DuckDB itself looks at the time once in 256 chunks only."""
    session.execute(f"SET max_execution_time = {int(BEGUN_SECONDS * 1000)}")
    begun = time.monotonic()
    with pytest.raises(duckdb.InterruptException, match="time"):
        session.execute(f"SELECT count(*) FROM {LONG[name]}")
    assert time.monotonic() - begun < BEGUN_SECONDS + SECONDS


@pytest.fixture
def sensor(session, tmp_path) -> str:
    """A view of 4000 regions of two million rows, and a filter that lets none pass, which statistics do not show."""
    first = tmp_path / "0.parquet"
    session.execute(f"COPY (SELECT 1 AS k, i AS time, i % 2 * 100 AS a FROM range(2000000) r(i)) TO '{first}'")
    for number in range(1, 4000):
        Path(tmp_path, f"{number}.parquet").hardlink_to(first)
    session.execute(f"CREATE VIEW sensor AS FROM '{tmp_path}/*.parquet'")
    session.execute("ALTER VIEW sensor SET PARTITIONED BY (k)")
    session.execute("ALTER VIEW sensor SET SORTED BY (k, time)")
    return "(FROM sensor WHERE a > 10 AND a < 90)"


@pytest.mark.parametrize("how", ["interrupt", "max_execution_time"])
def test_regions_of_which_no_row_passes(session, sensor, how):
    """Threads go from region to region, and no chunk comes out of the scan."""
    query = f"SELECT count(*) FROM SESSION(DATA => {sensor} PARTITION BY k ORDER BY time, GAP => 1)"
    decisions = session.execute("SELECT text FROM merganser_explain($1) WHERE section = 'decision'", [query]).fetchall()
    assert [text.split(":")[0] for (text,) in decisions] == ["region_local"]
    if how == "interrupt":
        assert ends_by_interrupt(session, session.interrupt, query) < SECONDS
        return
    session.execute(f"SET max_execution_time = {int(BEGUN_SECONDS * 1000)}")
    begun = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        session.execute(query)
    assert time.monotonic() - begun < BEGUN_SECONDS + SECONDS
