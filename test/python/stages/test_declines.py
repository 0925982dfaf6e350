"""What goes wrong while a query is cut is a reason why DuckDB runs it alone, never an error of the query."""

import duckdb
import merganser
import pytest
from staged import check, cut_everything, reasons


@pytest.fixture
def connection(tmp_path):
    with merganser.connect() as connection:
        cut_everything(connection)
        for part in range(4):
            numbers = f"range({part * 500}, {part * 500 + 500}) r(i)"
            rows = f"SELECT i, i % 3 AS g, DATE '2026-01-01' + i::INTEGER AS d FROM {numbers}"
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/t_{part}.parquet' (ROW_GROUP_SIZE 128)")
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/t_{part}.csv'")
        connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/t_*.parquet')")
        yield connection


@pytest.mark.parametrize(
    "query, reason",
    [
        ("SELECT vector_type(i) IS NULL, count(*) FROM t GROUP BY ALL", "the function vector_type belongs"),
        ("SELECT bitstring_agg(g) FROM t", "bitstring_agg without bounds"),
        ("SELECT count(*) FROM (FROM t WHERE i % 2 = 0) USING SAMPLE 200 ROWS (system)", "this sample depends on"),
        (
            "SELECT i FROM (FROM t WHERE i >= 0) USING SAMPLE reservoir(10 ROWS) REPEATABLE (7)",
            "this sample depends on",
        ),
    ],
)
def test_what_tasks_cannot_know(connection, query, reason):
    connection.execute("SET threads = 1")
    assert check(connection, query) == 1
    assert reason in reasons(connection, query)


def test_a_seed_is_the_sessions(connection):
    query = "SELECT i, random() AS r FROM t ORDER BY i LIMIT 5"
    connection.execute("SET threads = 1")
    assert "setseed" not in reasons(connection, query)
    rows = []
    for runner in ("", "local"):
        connection.execute(f"SET merganser_runner = '{runner}'")
        connection.execute("SELECT setseed(0.5)")
        rows.append(connection.execute(query).fetchall())
    assert rows[0] == rows[1]
    connection.execute("SET merganser_runner = ''")
    assert "setseed was called" in reasons(connection, query)
    assert "setseed was called" in reasons(connection, "SELECT i FROM (FROM t WHERE i > 0) USING SAMPLE 10")
    other = connection.cursor()
    assert "setseed" not in reasons(other, query)


def test_geometry(connection, tmp_path):
    connection.execute(
        f"COPY (SELECT i, i::VARCHAR AS s, 'POINT(1 2)'::GEOMETRY AS p FROM t) TO '{tmp_path}/g.parquet'"
    )
    query = f"SELECT i, p FROM '{tmp_path}/g.parquet'"
    check(connection, query)
    connection.execute("SET enable_geoparquet_conversion = false")
    check(connection, query)
    connection.execute("SET merganser_runner = 'local'")
    assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_rejected_rows_are_the_sessions(connection, tmp_path):
    for part in range(3):
        (tmp_path / f"r_{part}.csv").write_text("a\n1\nx\n2\n")
    options = "columns = {'a': 'INTEGER'}, header = true"
    for kept in ("store_rejects = true", "rejects_table = 'kept', rejects_scan = 'scans', ignore_errors = true"):
        connection.execute("DROP TABLE IF EXISTS kept; DROP TABLE IF EXISTS scans")
        connection.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
        query = f"SELECT sum(a) FROM read_csv('{tmp_path}/r_*.csv', {options}, {kept})"
        connection.execute("SET merganser_runner = 'local'")
        assert connection.execute(query).fetchall() == [(9,)]
        table = "reject_errors" if "store" in kept else "kept"
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchall() == [(3,)]


def test_plans_that_are_written_and_read(connection):
    connection.execute("SET merganser_runner = 'local'")
    connection.execute("SET debug_verify_serializer = true")
    assert connection.execute("SELECT count(*), sum(i) FROM t").fetchall() == [(2000, 1999000)]
    connection.execute("SET debug_verify_serializer = false")
    assert connection.execute("SELECT 42").fetchall() == [(42,)]


def test_a_plan_that_is_written_as_json(connection):
    connection.execute("SET merganser_runner = 'local'")
    query = "SELECT json_serialize_plan('SELECT sum(i) FROM t', optimize := true)"
    connection.execute("CREATE TABLE kept AS FROM t")
    text = connection.execute(query.replace("FROM t", "FROM kept")).fetchone()[0]
    assert '"error":false' in text and "LOGICAL_AGGREGATE" in text
    with pytest.raises(duckdb.Error):
        connection.execute("SELECT json_serialize_plan('SELECT sum(i) FROM kept'), nothing FROM kept")
    assert "Staged Query" in connection.execute("EXPLAIN SELECT sum(i) FROM t").fetchall()[0][1]


def test_warnings_that_are_errors(connection, tmp_path):
    connection.execute("SET enable_logging = true; SET warnings_as_errors = true")
    connection.execute("SET merganser_runner = 'local'; SET merganser_broadcast_max_bytes = 0")
    rows = connection.execute("SELECT g, count(*) FROM t GROUP BY g ORDER BY g").fetchall()
    assert rows == [(0, 667), (1, 667), (2, 666)]
    assert connection.execute("SELECT i FROM t ORDER BY d").fetchall() == [(i,) for i in range(2000)]
    connection.execute(f"COPY (FROM t) TO '{tmp_path}/by_g' (FORMAT parquet, PARTITION_BY (g))")
    assert connection.execute(f"SELECT count(*) FROM '{tmp_path}/by_g/*/*.parquet'").fetchall() == [(2000,)]


def test_little_memory(connection):
    query = "SELECT g, count(*) FROM t GROUP BY g"
    connection.execute("SET memory_limit = '50MB'")
    assert check(connection, query) == 1
    assert "is too small for what tasks hold" in reasons(connection, query)
    connection.execute("SET memory_limit = '100MB'")
    assert check(connection, query) == 4


def test_json_with_formats(connection, tmp_path):
    copy = "COPY (SELECT i, d, g FROM t) TO '{}' (FORMAT json, DATEFORMAT '%d.%m.%Y', PARTITION_BY (g))"
    columns = "columns = {'d': 'VARCHAR', 'i': 'BIGINT', 'g': 'BIGINT'}"
    rows = []
    for runner in ("", "local"):
        folder = f"{tmp_path}/json_{runner}"
        connection.execute(f"SET merganser_runner = '{runner}'")
        connection.execute(copy.format(folder))
        connection.execute("SET merganser_runner = ''")
        query = f"SELECT d, i, g FROM read_json('{folder}/*/*.json', {columns}) ORDER BY i"
        rows.append(connection.execute(query).fetchall())
    assert rows[0] == rows[1]
    assert rows[0][0] == ("01.01.2026", 0, 0)
    assert "internal use only" in reasons(connection, copy.format(tmp_path / "elsewhere"))


def test_the_folder_of_secrets_can_still_be_set(tmp_path):
    with merganser.connect(runner="local") as connection:
        cut_everything(connection)
        connection.execute(f"COPY (FROM range(100)) TO '{tmp_path}/r.parquet'")
        assert connection.execute(f"SELECT count(*) FROM '{tmp_path}/r.parquet'").fetchall() == [(100,)]
        connection.execute(f"SET secret_directory = '{tmp_path}/secrets'")


def test_a_schema_of_the_search_path_that_is_gone(connection):
    for name in ("one", "other"):
        connection.execute(f"ATTACH ':memory:' AS {name}")
    connection.execute("CREATE TABLE other.t2 AS SELECT i FROM range(2000) r(i)")
    connection.execute("USE one")
    with connection.cursor() as cursor:
        cursor.execute("USE other; DETACH one")
    connection.execute("SET merganser_runner = 'local'")
    assert connection.execute("FROM other.t2").fetchall() == [(i,) for i in range(2000)]
    assert "Staged Query" in connection.execute("EXPLAIN FROM other.t2").fetchall()[0][1]


def test_a_wrong_setting_is_an_error(connection):
    connection.execute("SET merganser_runner = 'local'")
    with pytest.raises(duckdb.InvalidInputException, match="merganser_tasks"):
        connection.execute("SET merganser_tasks = 0; SELECT count(*) FROM t").fetchall()
