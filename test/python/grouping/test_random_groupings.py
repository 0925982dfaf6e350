"""Random tables, calls and layouts: every grouping gives the rows of plain SQL, and the intended grouping ran."""

from pathlib import Path

import merganser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "a longer text than fits inline", None])
TIMES = st.one_of(
    st.integers(-60, 60),
    st.sampled_from([-(2**62), 2**62, 0, 1]),
)
ROWS = st.lists(st.tuples(KEYS, st.sampled_from([1, 2, None]), TIMES, st.integers(0, 9)), max_size=60)
GAPS = st.sampled_from([0, 1, 5, 2**62])
LISTS = st.permutations(["k", "n"])

SESSIONS = """
    SELECT min(time) OVER s AS window_start, max(time) OVER s AS window_end, k, n, time, v
    FROM (SELECT *, sum(starts) OVER (PARTITION BY k, n ORDER BY time RANGE UNBOUNDED PRECEDING) AS session
          FROM (SELECT *, CASE WHEN time::HUGEINT - lag(time) OVER (PARTITION BY k, n ORDER BY time) <= {gap}
                               THEN 0 ELSE 1 END AS starts FROM ({table})))
    WINDOW s AS (PARTITION BY k, n, session)
"""
DECISIONS = "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'"
# Few examples in the fast lane, as many as the profile says in the slow one.
RANDOM = settings(
    max_examples=20 if settings.default.derandomize else settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])


def session(table: str, keys: list[str], gap: int) -> str:
    return f"SELECT * FROM SESSION(DATA => ({table}) PARTITION BY ({', '.join(keys)}) ORDER BY time, GAP => {gap})"


def ordered(connection, query: str) -> list[tuple]:
    return connection.execute(f"FROM ({query}) ORDER BY ALL").fetchall()


@pytest.fixture(scope="module")
def connection():
    with merganser.connect() as opened:
        opened.execute("CREATE TABLE t(k VARCHAR, n INTEGER, time BIGINT, v INTEGER)")
        yield opened


def fill(connection, rows: list[tuple], copies: int) -> None:
    """`copies` repeats the rows under as many keys, so that partitions and chunks do not end together."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 4
    connection.execute("TRUNCATE t")
    connection.execute(
        "INSERT INTO t SELECT unnest($1::VARCHAR[]), unnest($2::INT[]), unnest($3::BIGINT[]), unnest($4::INT[])",
        columns,
    )
    connection.execute("INSERT INTO t SELECT k || i, n, time, v FROM t, range(?) r(i)", [copies])


@LANES
@RANDOM
@given(rows=ROWS, gap=GAPS, keys=LISTS, copies=st.sampled_from([0, 3, 200]), threads=st.integers(1, 4))
def test_hashed_sessions_are_those_of_window_functions(lane, connection, rows, gap, keys, copies, threads):
    fill(connection, rows, copies)
    connection.execute(f"SET threads = {threads}")
    query = session("FROM t", keys, gap)
    assert connection.execute(DECISIONS, [query]).fetchall() == [("hashed",)]
    assert ordered(connection, query) == ordered(connection, SESSIONS.format(gap=gap, table="FROM t"))


@LANES
@RANDOM
@given(rows=ROWS, gaps=st.lists(GAPS, min_size=2, max_size=5), data=st.data(), threads=st.integers(1, 4))
def test_nested_sessions_share_one_pipeline(lane, connection, rows, gaps, data, threads):
    fill(connection, rows, 5)
    connection.execute(f"SET threads = {threads}")
    query, oracle = "FROM t", "FROM t"
    for gap in gaps:
        query = session(f"SELECT k, n, time, v FROM ({query})", data.draw(LISTS), gap)
        oracle = SESSIONS.format(gap=gap, table=f"SELECT k, n, time, v FROM ({oracle})")
    decisions = [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()]
    assert decisions == ["hashed"] + ["fused"] * (len(gaps) - 1)
    assert ordered(connection, query) == ordered(connection, oracle)


@LANES
@RANDOM
@given(rows=ROWS, gap=GAPS, keys=LISTS, regions=st.integers(1, 7), threads=st.integers(1, 4))
def test_regions_give_the_rows_of_the_table(lane, connection, tmp_path_factory, rows, gap, keys, regions, threads):
    fill(connection, rows, 20)
    connection.execute(f"SET threads = {threads}")
    folder = Path(tmp_path_factory.mktemp("regions")) / "written"
    connection.execute(
        f"COPY t TO '{folder}' (FORMAT merganser_regions, PARTITION_BY (k, n), ORDER_BY (time), REGIONS {regions})"
    )
    query = session(f"FROM read_parquet('{folder}/*.parquet')", keys, gap)
    assert connection.execute(DECISIONS, [query]).fetchall() == [("region_local",)]
    assert ordered(connection, query) == ordered(connection, SESSIONS.format(gap=gap, table="FROM t"))


@LANES
@RANDOM
@given(rows=ROWS, size=st.integers(1, 5), slide=st.integers(1, 5), threads=st.integers(1, 4))
def test_capacity_windows_are_counted_rows(lane, connection, rows, size, slide, threads):
    fill(connection, rows, 50)
    connection.execute(f"SET threads = {threads}")
    query = f"""
        SELECT window_index, k, n, time, count(*) AS rows
        FROM CAPACITY(DATA => t PARTITION BY (k, n) ORDER BY time, SIZE => {size}, SLIDE => {slide}) GROUP BY ALL"""
    oracle = f"""
        SELECT w AS window_index, k, n, time, count(*) AS rows
        FROM (SELECT *, row_number() OVER (PARTITION BY k, n ORDER BY time) - 1 AS i FROM t),
             LATERAL (SELECT unnest(range(greatest(0, (i - {size}) // {slide}), i // {slide} + 1)) AS w)
        WHERE w * {slide} <= i AND i < w * {slide} + {size} GROUP BY ALL"""
    assert ordered(connection, query) == ordered(connection, oracle)


@LANES
@RANDOM
@given(rows=ROWS, gap=GAPS)
def test_filters_on_keys_pass_and_others_stay(lane, connection, rows, gap):
    fill(connection, rows, 3)
    query = session("FROM t", ["k", "n"], gap)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE expected AS {SESSIONS.format(gap=gap, table='FROM t')}")
    for condition in ("k = 'a'", "n IS NULL", "v > 4", "k = 'a' AND v > 4", "window_start = time", "k = 'a' OR v = 1"):
        assert ordered(connection, f"FROM ({query}) WHERE {condition}") == ordered(
            connection, f"FROM expected WHERE {condition}"
        )


def test_only_columns_in_use_are_scanned(connection, tmp_path):
    connection.execute(
        f"COPY (SELECT i AS k, 2 AS time, 3 AS wide, 4 AS wider FROM range(9) r(i)) TO '{tmp_path}/t.parquet'"
    )
    call = f"SESSION(DATA => (FROM '{tmp_path}/t.parquet') PARTITION BY k ORDER BY time, GAP => 1)"
    plan = connection.execute(f"EXPLAIN SELECT window_end FROM (SELECT * FROM {call}) WHERE k = 1").fetchone()[1]
    assert "Filters: k = 1" in plan
    assert "wide" not in plan


def test_a_session_over_many_chunks_is_held_and_released(connection):
    rows, sessions = connection.execute(
        "SELECT count(*), count(DISTINCT window_start) FROM SESSION(DATA => (SELECT i AS time, i // 100000 AS k, "
        "'text ' || i AS s FROM range(300000) r(i)) PARTITION BY k ORDER BY time, GAP => 1)"
    ).fetchone()
    assert (rows, sessions) == (300000, 3)


def test_the_hashed_grouping_spills(tmp_path):
    config = {"memory_limit": "120MB", "threads": "2", "temp_directory": str(tmp_path / "spill")}
    with merganser.connect(tmp_path / "data.db", config=config) as small:
        small.execute(
            "CREATE TABLE t AS SELECT hash(i) % 1000 AS k, hash(i * 3) % 1000000 AS t, 'some payload text ' || i AS s "
            "FROM range(2000000) r(i)"
        )
        rows, sum_of_rows = small.execute(
            "SELECT count(*), sum(length(s)) FROM SESSION(DATA => (SELECT k, t::BIGINT AS time, s FROM t) "
            "PARTITION BY k ORDER BY time, GAP => 100)"
        ).fetchone()
        assert (rows, sum_of_rows) == small.execute("SELECT count(*), sum(length(s)) FROM t").fetchone()
