"""Tables of database files that are attached for reading are read by the tasks, in ranges of row ids; no others."""

import duckdb
import merganser
import pytest
from staged import check, cut_everything

QUERY = "SELECT g, count(*), sum(i), max(s) FROM other.t GROUP BY g"
ROWS = """SELECT i, i % 5 AS g, CASE WHEN i % 4 > 0 THEN 'x' || i % 9 END AS s, {'a': i, 'b': [i]} AS n
          FROM range(400000) r(i)"""


@pytest.fixture
def connection():
    with merganser.connect() as connection:
        cut_everything(connection)
        yield connection


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(path) as other:
        other.execute(f"CREATE TABLE t AS {ROWS}")
        other.execute("DELETE FROM t WHERE i % 1000 = 3 OR i BETWEEN 130000 AND 290000")
        other.execute(
            'CREATE SCHEMA "odd schema"; CREATE TABLE "odd schema"."odd "" table" AS FROM range(300000) r("a b")'
        )
        other.execute("CREATE TABLE made (i BIGINT, twice BIGINT AS (i * 2)); INSERT INTO made FROM range(300000)")
        other.execute(
            "CREATE TABLE empty (i BIGINT); CREATE TABLE rows AS SELECT 7 - i AS rowid FROM range(300000) r(i)"
        )
    return path


def stages(connection, query: str) -> list[tuple]:
    return connection.execute("SELECT inputs, sql FROM merganser_stages($1)", [query]).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        QUERY,
        "SELECT i, s FROM other.t WHERE i % 1000 = 7",
        "SELECT count(*) FROM other.t WHERE i % 2 = 0",
        "SELECT g, sum(rowid), min(rowid) FROM other.t WHERE rowid % 7 = 3 GROUP BY g",
        "SELECT sum(n.a), sum(n.b[1]) FROM other.t",
        "SELECT count(*), sum(i) FROM other.t WHERE g = 2 AND s > 'x3' AND i BETWEEN 50000 AND 350000",
        'SELECT sum("a b") FROM other."odd schema"."odd "" table"',
        "SELECT sum(i), sum(twice) FROM other.made WHERE twice > 10",
        "SELECT count(*), max(i) FROM other.empty",
        "SELECT a.g, count(*) FROM other.t a JOIN other.t b ON a.i = b.i + 1 GROUP BY a.g",
    ],
)
def test_rows_are_right(connection, database, query):
    connection.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    assert "a table in slices" in stages(connection, query)[0][0]
    assert check(connection, query) == 4


def test_order_of_the_rows(connection, database):
    connection.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    check(connection, "SELECT i FROM other.t WHERE g = 1", ordered=True)


def test_the_main_database_opened_for_reading(database):
    with merganser.connect(database, read_only=True) as connection:
        cut_everything(connection)
        query = QUERY.replace("other.", "")
        assert "a table in slices" in stages(connection, query)[0][0]
        assert check(connection, query) == 4


def test_row_ids_are_those_of_row_groups(connection, database):
    """Each task reads the row groups of its range only."""
    connection.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    one_of_four = "SELECT max(twice) FROM (SELECT *, rowid FROM other.made WHERE rowid BETWEEN 122880 AND 245759)"
    analyzed = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {one_of_four}").fetchall()[0][1]
    assert '"row_groups_scanned": 1,' in analyzed
    assert '"total_row_groups_to_scan": 3,' in analyzed
    sliced = "SELECT sum(twice) FROM other.made"
    assert "made" in stages(connection, sliced)[0][1]


@pytest.mark.parametrize("what", ["writable", "in memory", "a column rowid"])
def test_everything_else_is_sent(connection, database, what):
    query = QUERY
    if what == "writable":
        connection.execute(f"ATTACH '{database}' AS other")
    elif what == "in memory":
        connection.execute(f"ATTACH ':memory:' AS other; CREATE TABLE other.t AS {ROWS}")
    else:
        connection.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
        query = "SELECT count(*), sum(rowid) FROM other.rows"
    assert "sent by the session" in stages(connection, query)[0][0]
    assert check(connection, query) == 4
