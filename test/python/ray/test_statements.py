"""A query on Ray works in every kind of statement and returns DuckDB's rows, or DuckDB's error."""

import threading

import duckdb
import merganser
import pytest

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]


def plan(connection, query: str) -> str:
    return connection.execute(f"EXPLAIN {query}").fetchall()[0][1]


def test_execute_sql_and_cursor(session):
    assert "Staged Query" in plan(session, QUERY)
    assert sorted(session.execute(QUERY).fetchall()) == EXPECTED
    assert sorted(session.sql(QUERY).fetchall()) == EXPECTED
    with session.cursor() as cursor:
        assert "Staged Query" in plan(cursor, QUERY)
        assert sorted(cursor.execute(QUERY).fetchall()) == EXPECTED
    assert isinstance(session, duckdb.DuckDBPyConnection)


def test_arrow_and_streaming(session):
    reader = session.sql("SELECT i, g FROM t WHERE g < 2").to_arrow_reader(1000)
    assert sum(batch.num_rows for batch in reader) == 6667


def test_create_insert_copy(session, tmp_path):
    session.execute(f"CREATE TABLE made AS {QUERY}")
    session.execute(f"INSERT INTO made {QUERY}")
    session.execute(f"COPY ({QUERY}) TO '{tmp_path}/copied.parquet'")
    assert session.execute("SELECT count(*), sum(s) FROM made").fetchall() == [(6, 99990000)]
    assert session.execute(f"SELECT count(*), sum(s) FROM '{tmp_path}/copied.parquet'").fetchall() == [(3, 49995000)]


def test_rows_come_in_their_order(session):
    query = """WITH c AS MATERIALIZED (SELECT i FROM t ORDER BY i DESC)
        SELECT i FROM c UNION ALL SELECT i FROM t UNION ALL SELECT 12345 UNION ALL SELECT -i FROM c"""
    stages = session.execute("SELECT max(tasks), string_agg(reason) FROM merganser_stages($1)", [query]).fetchall()
    assert stages[0][0] > 1
    assert "one after another" in stages[0][1]
    falling = list(range(9999, -1, -1))
    expected = [*falling, *range(10000), 12345, *(-i for i in falling)]
    assert [row[0] for row in session.execute(query).fetchall()] == expected
    assert session.execute(f"SELECT list(i) FROM ({query} LIMIT 300 OFFSET 19900)").fetchall() == [
        (expected[19900:20200],)
    ]


def test_rows_of_the_session(session):
    session.execute("CREATE TEMP TABLE keys AS SELECT 1::BIGINT AS g")
    session.execute("BEGIN")
    session.execute("INSERT INTO keys VALUES (2)")
    query = "SELECT count(*) FROM t JOIN keys USING (g)"
    assert "Staged Query" in plan(session, query)
    assert session.execute(query).fetchall() == [(6666,)]
    session.execute("ROLLBACK")
    assert session.execute(query).fetchall() == [(3333,)]


def test_every_type_comes_back(session):
    session.execute(
        """CREATE TABLE types AS SELECT i, i::HUGEINT * 100000000000000000000::HUGEINT AS h, i::DECIMAL(38, 3) AS d,
        uuid() AS u, INTERVAL (i) HOUR AS v, [i, NULL] AS l, {'a': i, 'b': 'x{}'} AS s, MAP {i: 'y'} AS m,
        '101'::BIT AS b, 'z'::BLOB AS z, CAST(i % 2 AS BOOLEAN) AS o, NULL AS n,
        TIMESTAMPTZ '2026-11-30 12:00:00+03' AS t FROM range(1000) r(i)"""
    )
    query = (
        "SELECT i % 10 AS k, max(h), max(d), max(u), max(v), max(l), max(s), max(m), max(b), max(z), max(o), max(n),"
    )
    query += " max(t) FROM types GROUP BY k ORDER BY k"
    assert "Staged Query" in plan(session, query)
    rows = session.execute(query).fetchall()
    session.execute("SET merganser_runner = ''")
    assert rows == session.execute(query).fetchall()


@pytest.mark.parametrize(
    "setting",
    [
        "TimeZone = 'Asia/Tokyo'",
        "default_null_order = 'nulls_first'",
        "integer_division = true",
        "default_order = 'desc'",
    ],
)
def test_settings_that_change_answers(session, setting):
    query = """SELECT hour(to_timestamp(i * 3600)::TIMESTAMPTZ) AS h, list(nullif(i, 5) / 2 ORDER BY nullif(i, 5)) AS l,
               min(to_timestamp(i)::VARCHAR) FROM t WHERE i < 50 GROUP BY h ORDER BY h LIMIT 20"""
    session.execute(f"SET {setting}")
    assert "Staged Query" in plan(session, query)
    rows = session.execute(query).fetchall()
    session.execute("SET merganser_runner = ''")
    assert rows == session.execute(query).fetchall()


@pytest.mark.parametrize(
    "expression",
    [
        "CASE WHEN i = 777 THEN 'oops' ELSE i::VARCHAR END::INTEGER",
        "(CASE WHEN i = 777 THEN 1000000000000 ELSE i END)::INTEGER",
        "CASE WHEN i = 777 THEN error('own words') ELSE i END",
        "CASE WHEN i = 777 THEN 9223372036854775807 ELSE 0 END + i",
    ],
)
def test_error_of_a_task_is_that_of_the_local_run_and_is_not_tried_again(session, ray_cluster, expression):
    query = f"SELECT g, max({expression}) FROM t GROUP BY g"
    with pytest.raises(duckdb.Error) as on_ray:
        session.execute(query).fetchall()
    assert max(ray_cluster.attempts(1, task) for task in range(4)) == 1
    session.execute("SET merganser_runner = 'local'")
    with pytest.raises(duckdb.Error) as local:
        session.execute(query).fetchall()
    assert type(on_ray.value) is type(local.value)
    assert str(on_ray.value) == str(local.value)


def test_function_of_the_session(session):
    session.create_function("twice", lambda value: 2 * value, ["BIGINT"], "BIGINT")
    query = "SELECT g, sum(twice(i)) FROM t GROUP BY g"
    assert len(session.execute(query).fetchall()) == 3
    (reason,) = session.execute("SELECT reason FROM merganser_stages($1)", [query]).fetchone()
    assert reason == "the function twice was registered in this process only"


def test_the_time_limit_of_the_session_ends_a_query(session, within):
    query = "SELECT g, sum(length(repeat(md5(i::VARCHAR), 30000))) FROM t GROUP BY g"
    session.execute("SET max_execution_time = 200")
    with pytest.raises(duckdb.InterruptException, match="exceeded maximum execution time"):
        within(session.execute(query).fetchall)
    session.execute("SET max_execution_time = 0")
    assert len(session.execute("SELECT g, count(*) FROM t GROUP BY g").fetchall()) == 3


def test_several_queries_at_once(session, within):
    results: dict[int, list] = {}

    def run(number: int) -> None:
        with session.cursor() as cursor:
            query = f"SELECT g, count(*) FROM t WHERE i >= {number} GROUP BY g ORDER BY g"
            results[number] = [cursor.execute(query).fetchall() for _ in range(3)]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(0, 3000, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        within(thread.join)
    for number, rows in results.items():
        assert len(rows) == 3
        assert sum(n for _, n in rows[0]) == 10000 - number
        assert rows[0] == rows[1] == rows[2]
    assert len(results) == 3


def test_report(session):
    query = QUERY + " ORDER BY g LIMIT 10"
    session.execute(query).fetchall()
    report = merganser.last_query()
    assert report["runner"] == "ray"
    first, second, last = report["stages"]
    assert [stage["stage"] for stage in report["stages"]] == [1, 2, 3]
    assert (first["tasks"], first["rows_in"], first["bytes_in"]) == (4, 10000, 0)
    assert (second["tasks"], second["rows_in"], second["rows_out"]) == (4, first["rows_out"], 3)
    assert first["bytes_out"] == second["bytes_in"] > 0
    assert (last["tasks"], last["rows_out"], last["retries"]) == (1, 3, 0)
    assert all(stage["task_seconds"] > 0 and stage["skew"] >= 1 for stage in report["stages"])
    assert report["wall_seconds"] >= max(stage["wall_seconds"] for stage in report["stages"])
    session.execute("SET merganser_runner = 'local'")
    session.execute(query).fetchall()
    local = merganser.last_query()
    assert local["runner"] == "local"
    figures = ("stage", "partitioning", "reads", "tasks", "rows_in", "rows_out", "bytes_in", "bytes_out")
    assert [[s[f] for f in figures] for s in local["stages"]] == [[s[f] for f in figures] for s in report["stages"]]
    assert local["stages"][0].keys() == first.keys()


def test_nodes_without_shared_storage(session, tmp_path):
    session.execute("SET merganser_exchange_shared = false")
    session.execute("CREATE TABLE keys AS SELECT i AS g FROM range(2) r(i)")
    query = "SELECT g, count(*) FROM t JOIN keys USING (g) GROUP BY g ORDER BY g"
    assert "Staged Query" in plan(session, query)
    assert session.execute(query).fetchall() == [(0, 3334), (1, 3333)]
    assert {stage["slowest_worker"] != "" for stage in merganser.last_query()["stages"]} == {True}


def test_second_address(session):
    with pytest.raises(ValueError, match="already uses the Ray cluster"):
        merganser.connect(runner="ray", address="10.0.0.1:6379")


def test_a_node_with_another_duckdb(session, monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "9.9.9")
    session.execute("SET merganser_worker_threads = 1")
    with pytest.raises(duckdb.IOException, match=r"has DuckDB 2.0.1, this process 9.9.9.*pip install duckdb==9"):
        session.execute(QUERY).fetchall()


SMALL_SIDE = (
    "SELECT b.g, count(*), sum(a.i) FROM t a JOIN t b ON a.i + 1 = b.i + 1 WHERE b.i::VARCHAR LIKE '9_9_' GROUP BY b.g"
)


def decisions() -> list[tuple]:
    return [(stage["stage"], stage["tasks"], stage["decisions"]) for stage in merganser.last_query()["stages"]]


@pytest.mark.parametrize("shared", ["true", "false"])
def test_decisions_between_stages_are_those_of_the_local_runner(session, shared):
    session.execute(f"SET merganser_exchange_shared = {shared}")
    session.execute("SET merganser_broadcast_max_bytes = 5000")
    session.execute("SET merganser_task_bytes = 50000")
    rows = sorted(session.execute(SMALL_SIDE).fetchall())
    on_ray = decisions()
    session.execute("SET merganser_runner = 'local'")
    assert sorted(session.execute(SMALL_SIDE).fetchall()) == rows
    assert len(rows) == 3
    assert decisions() == on_ray
    assert any("computed inside stage" in str(stage) for stage in on_ray)
    assert {tasks for _, tasks, _ in on_ray} >= {0, 1}
