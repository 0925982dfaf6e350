"""Table functions inside stages: hashed once by their partition set, fused where sets agree; regions stay put."""

import duckdb
import merganser
import pytest


@pytest.fixture
def connection(tmp_path):
    with merganser.connect() as connection:
        connection.execute("""
            CREATE TABLE rows AS
            SELECT 'd' || (i % 40) AS device, 'p' || (i % 40 // 10) AS plant, i // 40 AS time, i AS v
            FROM range(20000) r(i) WHERE i % 7 > 0""")
        connection.execute(
            f"COPY rows TO '{tmp_path}/regions'"
            " (FORMAT merganser_regions, PARTITION_BY (device), ORDER_BY (time), REGIONS 8)"
        )
        connection.execute(f"CREATE VIEW regions AS FROM read_parquet('{tmp_path}/regions/*.parquet')")
        connection.execute(f"COPY rows TO '{tmp_path}/rows.parquet' (ROW_GROUP_SIZE 2048)")
        connection.execute(f"CREATE VIEW file AS FROM read_parquet('{tmp_path}/rows.parquet')")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_tasks = 4")
        connection.execute("SET merganser_slots = 2")
        yield connection


def check(connection, query: str) -> list[tuple]:
    """The rows equal DuckDB's; returns the stages."""
    expected = sorted(connection.execute(query).fetchall())
    stages = connection.execute("SELECT tasks, partitioning, sql, reason FROM merganser_stages($1)", [query]).fetchall()
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert sorted(connection.execute(query).fetchall()) == expected
    connection.execute("SET merganser_runner = ''")
    return stages


def test_hashed_by_the_partition_set(connection):
    stages = check(connection, "FROM SESSION(DATA => TABLE(file) PARTITION BY (device) ORDER BY time, GAP => 1)")
    assert [(tasks, partitioning) for tasks, partitioning, _, _ in stages] == [
        (4, "hash of 1 columns into 4"),
        (4, "gather"),
    ]
    assert '"session"(' in stages[1][2]


def test_equal_sets_share_a_stage(connection):
    stages = check(
        connection,
        """SELECT device, plant, window_index, count(*), sum(v) FROM CAPACITY(DATA => TABLE(
               SELECT device, plant, time, v FROM SESSION(
                   DATA => TABLE(file) PARTITION BY (device, plant) ORDER BY time, GAP => 1))
               PARTITION BY (plant, device) ORDER BY time, SIZE => 10)
           GROUP BY ALL""",
    )
    assert [tasks for tasks, _, _, _ in stages] == [4, 4]
    assert '"session"(' in stages[1][2]
    assert "capacity(" in stages[1][2]


def test_another_set_needs_an_exchange(connection):
    stages = check(
        connection,
        """SELECT plant, window_index, count(*), sum(v) FROM CAPACITY(DATA => TABLE(
               SELECT device, plant, time, v FROM SESSION(
                   DATA => TABLE(file) PARTITION BY (device, plant) ORDER BY time, GAP => 1))
               PARTITION BY plant ORDER BY (time, device), SIZE => 10)
           GROUP BY ALL""",
    )
    assert [tasks for tasks, _, _, _ in stages] == [4, 4, 4]


def test_regions_run_where_they_lie(connection):
    query = """SELECT device, window_start, count(*) AS n FROM SESSION(
                   DATA => TABLE(regions) PARTITION BY (device) ORDER BY time, GAP => 1)
               GROUP BY ALL"""
    stages = check(connection, query)
    assert [(tasks, partitioning) for tasks, partitioning, _, _ in stages] == [(4, "gather")]
    assert "whole regions" in stages[0][3]


def test_a_task_reads_its_regions_as_regions(connection, tmp_path):
    files = ", ".join(f"'{file}'" for file in sorted((tmp_path / "regions").glob("*.parquet"))[:3])
    of_the_task = f"list_position([{files}], filename) IS NOT NULL"
    slice_of_a_task = f"SELECT * FROM read_parquet('{tmp_path}/regions/*.parquet') WHERE {of_the_task}"
    query = f"FROM SESSION(DATA => TABLE({slice_of_a_task}) PARTITION BY device ORDER BY time, GAP => 1)"
    decisions = connection.execute(
        "SELECT text FROM merganser_explain($1) WHERE section = 'decision' AND item = 'grouping'", [query]
    ).fetchall()
    assert [text.split(":")[0] for (text,) in decisions] == ["region_local"]


def test_regions_of_another_set_are_hashed(connection):
    query = "FROM SESSION(DATA => TABLE(regions) PARTITION BY (plant) ORDER BY (time, v), TIMECOL => 'time', GAP => 1)"
    assert [tasks for tasks, _, _, _ in check(connection, query)] == [4, 4]


def test_a_declared_layout_is_hashed_since_no_task_sees_all_regions(connection):
    connection.execute("ALTER VIEW file SET PARTITIONED BY (device)")
    query = "FROM SESSION(DATA => TABLE(file) PARTITION BY (device) ORDER BY time, GAP => 1)"
    assert [tasks for tasks, _, _, _ in check(connection, query)] == [4, 4]


def test_row_semantics_run_where_the_rows_lie(connection):
    query = "FROM TUMBLE(DATA => TABLE(file), TIMECOL => 'time', SIZE => 10)"
    assert [tasks for tasks, _, _, _ in check(connection, query)] == [4]


def test_one_partition_runs_in_one_task(connection):
    query = "FROM SESSION(DATA => TABLE(file) ORDER BY time, TIMECOL => 'time', GAP => 1)"
    stages = check(connection, query)
    assert [tasks for tasks, _, _, _ in stages] == [4, 1]
    assert "without PARTITION BY" in stages[1][3] + stages[0][3]


def test_columns_with_unusual_names(connection):
    query = """SELECT * FROM SESSION(DATA => TABLE(SELECT device AS "a ""b", time AS "desc'", v FROM file)
               PARTITION BY ("a ""b") ORDER BY ("desc'" ASC NULLS FIRST, v DESC), TIMECOL => 'desc''', GAP => 1)"""
    assert [tasks for tasks, _, _, _ in check(connection, query)] == [4, 4]


@pytest.mark.parametrize("pass_through", [True, False])
def test_columns_that_are_compared_by_another_value(connection, pass_through):
    table = """(SELECT CASE WHEN v % 2 = 0 THEN device ELSE upper(device) END COLLATE NOCASE AS device, plant,
                       INTERVAL (v % 3) DAY AS span, time, v FROM file)"""
    if pass_through:
        query = f"""SELECT lower(device), span, sum(v), count(*), window_index FROM CAPACITY(
                        DATA => TABLE{table} PARTITION BY (device, span) ORDER BY (time, v), SIZE => 10) GROUP BY ALL"""
    else:
        query = f"""SELECT lower(device), * EXCLUDE (device) FROM M4(
                        DATA => TABLE(SELECT device, time, v FROM {table}) PARTITION BY device ORDER BY time,
                        TIMECOL => 'time', SIZE => 100)"""
    assert check(connection, query)[0][0] == 4


NUMBERED = """SELECT window_index, v FROM CAPACITY(
                  DATA => (SELECT v FROM file WHERE v % 3 <> 0 UNION ALL SELECT v FROM {second}){partition},
                  SIZE => 100)"""


@pytest.mark.parametrize("second", ["file", "rows"])
@pytest.mark.parametrize("partition", ["", " PARTITION BY v"])
def test_without_order_by_rows_keep_the_order_they_are_produced_in(connection, second, partition):
    numbered = NUMBERED.format(second=second, partition=partition)
    query = f"SELECT * FROM ({numbered}) JOIN (SELECT v, count(*) AS n FROM file GROUP BY v) USING (v)"
    stages = check(connection, query)
    assert "in the order they are produced in, in one task" in " ".join(reason for _, _, _, reason in stages)


def test_without_order_by_a_query_shared_between_stages_is_not_staged(connection):
    query = """WITH shared AS MATERIALIZED (SELECT v FROM file)
               SELECT * FROM CAPACITY(DATA => shared, SIZE => 100) UNION ALL SELECT -1, v FROM shared"""
    expected = connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" not in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert connection.execute(query).fetchall() == expected


def test_one_partition_of_several_aggregates(connection):
    query = """SELECT count(*), max(window_index) FROM CAPACITY(DATA => (
                   SELECT max(v) FROM file UNION ALL SELECT min(v) FROM file UNION ALL SELECT count(*) FROM file),
                   SIZE => 2)"""
    connection.execute("SET merganser_runner = 'local'")
    assert connection.execute(query).fetchall() == [(3, 1)]


def test_without_order_by_what_has_no_order_is_refused_before_it_is_staged(connection):
    connection.execute("SET merganser_runner = 'local'")
    with pytest.raises(duckdb.BinderException, match="GROUP BY gives its rows in no fixed order. Add ORDER BY"):
        connection.execute("FROM VARIATION(DATA => (SELECT v, count(*) FROM file GROUP BY v), COL => 'v')")
