"""Windows over more rows than a batch holds: long and short partitions, limits, sinks, and what is held."""

from pathlib import Path

import duckdb
import merganser
import pytest

DECISIONS = """
    SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision' AND item = 'ordered_windows'
"""
#: Rows of partition 77, more than a batch holds; partition k of the others has k * k // 20.
LONG = 150_000
CALLS = """
    lag(v) OVER w AS lagged, lead(s, 3) OVER w AS led, row_number() OVER w AS number, sum(v) OVER w AS running,
    max(v) OVER (w ROWS BETWEEN 5 PRECEDING AND 2 FOLLOWING) AS highest, sum(v) OVER (PARTITION BY k) AS total,
    last_value(nullif(v % 7, 3) IGNORE NULLS) OVER w AS last
"""
WINDOW = "WINDOW w AS (PARTITION BY k ORDER BY i)"


@pytest.fixture(scope="module")
def regions(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("regions") / "written"
    with merganser.connect() as connection:
        connection.execute(
            f"COPY (SELECT k, i, hash(k, i) % 1000 AS v, 'text ' || hash(i) AS s "
            f"FROM range(200) p(k), LATERAL range(CASE k WHEN 77 THEN {LONG} ELSE k * k // 20 END) r(i)) "
            f"TO '{folder}' (FORMAT merganser_regions, PARTITION_BY (k), ORDER_BY (i), REGIONS 5)"
        )
    return folder


@pytest.fixture(params=[1, 4], ids="threads={}".format)
def connection(request, regions) -> duckdb.DuckDBPyConnection:
    with merganser.connect(config={"threads": request.param}) as opened:
        opened.execute("SET merganser_ordered_windows_min_rows = 0")
        opened.execute(f"CREATE VIEW readings AS FROM read_parquet('{regions}/*.parquet')")
        yield opened


def both(connection, query: str) -> tuple[list, list]:
    ours = connection.execute(query).fetchall()
    connection.execute("SET merganser_ordered_windows = false")
    plain = connection.execute(query).fetchall()
    connection.execute("SET merganser_ordered_windows = true")
    return ours, plain


def decisions(connection, query: str) -> list[str]:
    return [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()]


@pytest.mark.parametrize("rows", ["readings", "(FROM readings WHERE v < 5)", "(FROM readings WHERE k > 190 OR k = 77)"])
def test_rows_are_those_of_duckdb(connection, rows):
    query = f"SELECT *, {CALLS} FROM {rows} {WINDOW}"
    assert decisions(connection, query) == ["region_local"]
    ours, plain = both(connection, f"FROM ({query}) ORDER BY k, i")
    assert len(ours) > 1000
    assert ours == plain


def test_rows_leave_in_the_order_of_their_partition(connection):
    """With one thread, what DuckDB is not told is nevertheless so: operators of ours above rely on it."""
    connection.execute("SET threads = 1")
    query = f"SELECT k, i, {CALLS} FROM readings {WINDOW}"
    rows = connection.execute(query).fetchall()
    seen = {}
    for k, i, *_ in rows:
        assert i == seen.get(k, -1) + 1
        seen[k] = i
    assert len(rows) > LONG


def test_a_limit_ends_the_pass(connection):
    query = f"SELECT k, i, {CALLS} FROM readings {WINDOW} LIMIT 5000"
    assert decisions(connection, query) == ["region_local"]
    rows = connection.execute(query).fetchall()
    assert len(rows) == 5000
    connection.execute(f"CREATE TEMP TABLE all_rows AS SELECT k, i, {CALLS} FROM readings {WINDOW}")
    connection.execute("CREATE TEMP TABLE limited AS " + query)
    assert connection.execute("SELECT count(*) FROM (FROM limited EXCEPT ALL FROM all_rows)").fetchone() == (0,)


def test_a_prepared_statement_runs_again(connection):
    connection.execute(
        f"PREPARE w AS SELECT sum(lagged), sum(running) FROM (SELECT {CALLS} FROM readings {WINDOW}) WHERE number > $1"
    )
    runs = [connection.execute("EXECUTE w(3)").fetchall() for _ in range(3)]
    plain = both(
        connection, f"SELECT sum(lagged), sum(running) FROM (SELECT {CALLS} FROM readings {WINDOW}) WHERE number > 3"
    )
    assert runs == [plain[0]] * 3
    assert plain[0] == plain[1]


def test_sinks_of_every_kind(connection, tmp_path):
    query = f"SELECT k, i, {CALLS} FROM readings {WINDOW}"
    connection.execute(f"CREATE TABLE kept AS {query}")
    connection.execute(f"COPY ({query}) TO '{tmp_path}/kept.parquet'")
    connection.execute("SET merganser_ordered_windows = false")
    connection.execute(f"CREATE TABLE expected AS {query}")
    for kept in ("kept", f"'{tmp_path}/kept.parquet'"):
        assert connection.execute(f"SELECT count(*) FROM (FROM {kept} EXCEPT ALL FROM expected)").fetchone() == (0,)
        assert connection.execute(f"SELECT count(*) FROM (FROM expected EXCEPT ALL FROM {kept})").fetchone() == (0,)


def test_in_a_recursive_query(connection):
    """A pipeline that runs again verifies its rows anew."""
    query = """
        WITH RECURSIVE r(n, total) AS (
            SELECT 0, 0::HUGEINT
            UNION ALL
            SELECT n + 1, (SELECT sum(x) FROM (SELECT lag(v) OVER (PARTITION BY k ORDER BY i) AS x FROM readings))
            FROM r WHERE n < 3)
        FROM r ORDER BY n"""
    ours, plain = both(connection, query)
    assert ours == plain
    assert len(ours) == 4


def test_memory_is_that_of_a_batch(regions, tmp_path):
    """The rows of all partitions do not fit, those of a batch do."""
    query = "SELECT count(x), sum(strlen(s)) FROM (SELECT s, lag(v) OVER (PARTITION BY k ORDER BY i) AS x FROM wide)"
    with merganser.connect(config={"memory_limit": "60MB", "threads": 1}) as connection:
        connection.execute("SET merganser_ordered_windows_min_rows = 0")
        connection.execute("SET max_temp_directory_size = '0KB'")
        folder = tmp_path / "wide"
        for region in range(2):
            connection.execute(
                f"COPY (SELECT {region} * 100 + i // 20000 AS k, i, i % 9 AS v, concat(hash(i), hash(-i), hash(i + 1)) "
                f"AS s FROM range(1000000) r(i)) TO '{folder}{region}.parquet' (ROW_GROUP_SIZE 20480)"
            )
        connection.execute(f"CREATE VIEW wide AS FROM read_parquet('{folder}*.parquet')")
        connection.execute("ALTER VIEW wide SET PARTITIONED BY (k)")
        connection.execute("ALTER VIEW wide SET SORTED BY (k, i)")
        assert decisions(connection, query) == ["region_local"]
        assert connection.execute(query).fetchone()[0] == 2_000_000 - 100
        connection.execute("SET merganser_ordered_windows = false")
        with pytest.raises(duckdb.OutOfMemoryException):
            connection.execute(query)
