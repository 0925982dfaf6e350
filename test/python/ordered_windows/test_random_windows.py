"""Random windows over data in order: the rows are those of DuckDB's own windows, and the rule ran."""

from collections import Counter
from pathlib import Path

import duckdb
import merganser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RANDOM = settings(
    max_examples=30 if settings.default.derandomize else settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
DECISIONS = """
    SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision' AND item = 'ordered_windows'
"""

KEYS = st.sampled_from(["a", "b", "a longer text than fits inline", None])
# No two rows of a partition have one time, so that every function has one right value.
ROWS = st.dictionaries(
    st.tuples(KEYS, st.sampled_from([1, 2, None]), st.one_of(st.integers(-30, 30), st.sampled_from([None, 2**40]))),
    st.tuples(
        st.one_of(st.none(), st.integers(-9, 9)),
        st.sampled_from([None, "", "x", "a text that is longer than twelve bytes"]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=60,
)

# Without a frame of their own.
RANKS = [
    "row_number()",
    "rank()",
    "dense_rank()",
    "percent_rank()",
    "cume_dist()",
    "ntile(3)",
    "ntile(nullif(g, 0))",
    "lag(v)",
    "lag(s, 2, 'none')",
    "lag(v, g)",
    "lag(v, 1, g)",
    "lag(v IGNORE NULLS)",
    "lag(v, 2, -100 IGNORE NULLS)",
    "lead(v)",
    "lead(s, 2)",
    "lead(v, g, 7)",
    "lead(v IGNORE NULLS)",
    "lag(v ORDER BY g, time)",
    "row_number(ORDER BY v, time)",
    "fill(v)",
]
# With any frame.
FRAMED = [
    "count(*)",
    "count(v)",
    "sum(v)",
    "avg(v)",
    "min(v)",
    "max(s)",
    "sum(v) FILTER (WHERE g > 1)",
    "count(*) FILTER (WHERE v IS NULL)",
    "count(DISTINCT v)",
    "sum(DISTINCT v)",
    "list(DISTINCT v ORDER BY v)",
    "list(v ORDER BY g, time)",
    "list(v)",
    "string_agg(s, '|')",
    "string_agg(s, '|' ORDER BY time DESC)",
    "median(v)",
    "quantile_disc(v, [0.25, 0.75])",
    "mad(v)",
    "arg_max(s, v * 1000 + time)",
    "bool_or(v > 4)",
    "bit_xor(v)",
    "first_value(v)",
    "last_value(s)",
    "first_value(v IGNORE NULLS)",
    "last_value(v IGNORE NULLS)",
    "nth_value(v, 2)",
    "nth_value(v, 2 IGNORE NULLS)",
    "first_value(v ORDER BY g, time)",
    "any_value(v)",
]
# Rows that tie share a value, whatever their order.
TIES = ["rank()", "dense_rank()", "percent_rank()", "cume_dist()"]
TIES_FRAMED = ["count(*)", "sum(v)", "min(v)", "max(s)", "count(DISTINCT v)", "median(v)"]
BOUNDS = [
    ["UNBOUNDED PRECEDING", "3 PRECEDING", "1 PRECEDING"],
    ["CURRENT ROW"],
    ["0 FOLLOWING", "1 FOLLOWING", "7 FOLLOWING", "UNBOUNDED FOLLOWING"],
]
FRAMES = [
    (start, end)
    for place, starts in enumerate(BOUNDS)
    for start in starts
    for ends in BOUNDS[place:]
    for end in ends
    if start != "UNBOUNDED FOLLOWING" and end != "UNBOUNDED PRECEDING"
]
UNITS = ("ROWS", "RANGE", "GROUPS")
EXCLUDED = st.sampled_from(["", "", "EXCLUDE CURRENT ROW", "EXCLUDE GROUP", "EXCLUDE TIES", "EXCLUDE NO OTHERS"])


@st.composite
def frames(draw, units):
    if draw(st.integers(0, 4)) == 0:
        return ""
    start, end = draw(st.sampled_from(FRAMES))
    return f"{draw(st.sampled_from(units))} BETWEEN {start} AND {end} {draw(EXCLUDED)}"


@st.composite
def functions(draw, unframed, framed, units):
    """Calls with {keys} in place of the partition columns; the first keeps DuckDB from making a join of the others."""
    result = ["rank() OVER (PARTITION BY {keys} ORDER BY time)"]
    for function in draw(st.lists(st.sampled_from(unframed + framed), min_size=1, max_size=4)):
        frame = draw(frames(units)) if function in framed else ""
        result.append(f"{function} OVER (PARTITION BY {{keys}} ORDER BY time {frame})")
    return result


def select(functions: list[str], keys: list[str], source: str) -> str:
    listed = ", ".join(f"{call.format(keys=', '.join(keys))} AS f{i}" for i, call in enumerate(functions))
    return f"SELECT k, n, time, v, s, g, {listed} FROM {source}"


@pytest.fixture(scope="module")
def connection():
    with merganser.connect() as opened:
        opened.execute("SET merganser_ordered_windows_min_rows = 0")
        opened.execute("CREATE TABLE t(k VARCHAR, n INTEGER, time BIGINT, v INTEGER, s VARCHAR, g INTEGER)")
        yield opened


def fill(connection, rows: dict, copies: int) -> None:
    """`copies` repeats the rows under as many keys, so that partitions and chunks do not end together.

    Two rows are always there, so that no filter is decided by statistics.
    """
    columns = [list(column) for column in zip(*(key + value for key, value in rows.items()), strict=True)] or [[]] * 6
    connection.execute("TRUNCATE t")
    connection.execute(
        "INSERT INTO t SELECT unnest($1::VARCHAR[]), unnest($2::INT[]), unnest($3::BIGINT[]), unnest($4::INT[]), "
        "unnest($5::VARCHAR[]), unnest($6::INT[])",
        columns,
    )
    connection.execute("INSERT INTO t VALUES ('z', 3, 0, 1, 'x', 0), ('z', 3, 1, NULL, '', 3)")
    connection.execute("INSERT INTO t SELECT k || i, n, time, v, s, g FROM t, range(?) r(i)", [copies])


def write(connection, folder: Path, regions: int, order: str = "time") -> str:
    connection.execute(
        f"COPY t TO '{folder}' (FORMAT merganser_regions, PARTITION_BY (k, n), ORDER_BY ({order}), REGIONS {regions})"
    )
    return f"read_parquet('{folder}/*.parquet')"


def compare(connection, query: str, decisions: list[str], threads: int) -> None:
    """The same rows as with DuckDB's own windows, or the same error."""
    connection.execute(f"SET threads = {threads}")
    assert [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()] == decisions
    ours = outcome(connection, query)
    connection.execute("SET merganser_ordered_windows = false")
    plain = outcome(connection, query)
    connection.execute("SET merganser_ordered_windows = true")
    assert ours == plain


def outcome(connection, query: str):
    try:
        return Counter(map(repr, connection.execute(query).fetchall()))
    except duckdb.Error as error:
        return str(error)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    keys=st.permutations(["k", "n"]),
    copies=st.sampled_from([0, 3, 150]),
    regions=st.integers(1, 7),
    threads=st.integers(1, 8),
)
def test_functions_over_regions(lane, connection, tmp_path_factory, rows, calls, keys, copies, regions, threads):
    fill(connection, rows, copies)
    source = write(connection, Path(tmp_path_factory.mktemp("regions")) / "written", regions)
    compare(connection, select(calls, keys, source), ["region_local"], threads)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(TIES, TIES_FRAMED, ("RANGE", "GROUPS")),
    copies=st.sampled_from([0, 3, 150]),
    regions=st.integers(1, 7),
    threads=st.integers(1, 8),
)
def test_rows_that_tie(lane, connection, tmp_path_factory, rows, calls, copies, regions, threads):
    fill(connection, rows, copies)
    connection.execute("UPDATE t SET time = time // 7")
    source = write(connection, Path(tmp_path_factory.mktemp("regions")) / "written", regions)
    compare(connection, select(calls, ["k", "n"], source), ["region_local"], threads)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    copies=st.sampled_from([0, 150]),
    descending=st.booleans(),
)
def test_regions_that_are_sorted_one_by_one(lane, connection, tmp_path_factory, rows, calls, copies, descending):
    fill(connection, rows, copies)
    source = write(connection, Path(tmp_path_factory.mktemp("regions")) / "written", 3, "g")
    if descending:
        calls = [call.replace("{keys} ORDER BY time", "{keys} ORDER BY time DESC") for call in calls]
    compare(connection, select(calls, ["k", "n"], source), ["region_local"], threads=1)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    above=functions(RANKS, FRAMED, UNITS),
    copies=st.sampled_from([0, 150]),
    regions=st.integers(1, 4),
    threads=st.integers(1, 8),
)
def test_windows_over_windows(lane, connection, tmp_path_factory, rows, calls, above, copies, regions, threads):
    fill(connection, rows, copies)
    source = write(connection, Path(tmp_path_factory.mktemp("regions")) / "written", regions)
    inner = select(calls, ["k", "n"], source)
    outer = select(above, ["n", "k"], f"(SELECT * FROM ({inner}) WHERE hash(g) % 5 <> 2)").replace("k, n,", "*,", 1)
    compare(connection, outer, ["region_local", "fused"], threads)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    copies=st.sampled_from([0, 150]),
    gap=st.sampled_from([0, 3, 100]),
    threads=st.integers(1, 8),
)
def test_windows_over_sessions(lane, connection, rows, calls, copies, gap, threads):
    fill(connection, {key: value for key, value in rows.items() if key[2] is not None}, copies)
    sessions = f"SESSION(DATA => t PARTITION BY (n, k) ORDER BY time, GAP => {gap})"
    compare(connection, select(calls, ["k", "n"], sessions), ["fused"], threads)


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    copies=st.sampled_from([0, 150]),
    threads=st.integers(1, 8),
    sorted_so=st.booleans(),
)
def test_declared_layouts(lane, connection, tmp_path_factory, rows, calls, copies, threads, sorted_so):
    """A declaration that is false is an error that says so, and true rows are right."""
    fill(connection, rows, copies)
    folder = tmp_path_factory.mktemp("declared")
    order = "n, k, time DESC NULLS FIRST"
    for region in range(3):
        part = f"FROM t WHERE hash(k, n) % 3 = {region} ORDER BY {order if sorted_so else 'hash(time)'}"
        connection.execute(f"COPY ({part}) TO '{folder}/{region}.parquet'")
    connection.execute(f"CREATE OR REPLACE VIEW declared AS FROM read_parquet('{folder}/*.parquet')")
    connection.execute("ALTER VIEW declared SET PARTITIONED BY (k, n)")
    connection.execute(f"ALTER VIEW declared SET SORTED BY ({order})")
    calls = [call.replace("{keys} ORDER BY time", "{keys} ORDER BY time DESC NULLS FIRST") for call in calls]
    query = select(calls, ["k", "n"], "declared")
    if sorted_so:
        compare(connection, query, ["region_local"], threads)
        return
    connection.execute(f"SET threads = {threads}")
    assert connection.execute(DECISIONS, [query]).fetchall() == [("region_local",)]
    ours = outcome(connection, query)
    connection.execute("SET merganser_ordered_windows = false")
    plain = outcome(connection, query)
    connection.execute("SET merganser_ordered_windows = true")
    assert ours == plain or "declared by view declared" in ours


@st.composite
def layouts(draw):
    """How files or tables lie that nobody has declared, and whether a layout can be found at one thread."""
    kind = draw(st.sampled_from(["folders", "clustered", "export", "slices", "table", "shuffled table"]))
    key = draw(st.sampled_from(["k", "n"]))
    return kind, key, draw(st.sampled_from(["time", "time DESC", "hash(time, v)"])), draw(st.integers(2, 6))


def lay(connection, folder: Path, kind: str, key: str, order: str, number: int) -> str:
    files = f"{folder}/*.parquet"
    if kind == "folders":
        connection.execute(f"COPY (FROM t ORDER BY {order}) TO '{folder}/keys' (FORMAT parquet, PARTITION_BY ({key}))")
        types = "k: VARCHAR" if key == "k" else "n: INTEGER"
        return f"read_parquet('{folder}/keys/*/*.parquet', hive_types = {{{types}}})"
    if "table" in kind:
        name = f"small.{'shuffled' if kind.startswith('shuffled') else 'sorted'}"
        by = "hash(k, n, time)" if kind.startswith("shuffled") else f"{key}, {order}"
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM t ORDER BY {by}")
        return name
    place = {
        "clustered": f"dense_rank() OVER (ORDER BY {key}) * {number}"
        f" // (1 + (SELECT count(DISTINCT coalesce({key}::VARCHAR, 'none')) FROM t))",
        "export": f"row_number() OVER (ORDER BY {key}, {order}) * {number} // (1 + (SELECT count(*) FROM t))",
        "slices": f"hash(time) % {number}",
    }[kind]
    connection.execute(f"CREATE OR REPLACE TEMP TABLE laid AS SELECT *, {place} AS file FROM t")
    for (file,) in connection.execute("SELECT DISTINCT file FROM laid").fetchall():
        part = f"SELECT * EXCLUDE (file) FROM laid WHERE file = {file} ORDER BY {key}, {order}"
        connection.execute(f"COPY ({part}) TO '{folder}/{file}.parquet' (ROW_GROUP_SIZE 2048)")
    return f"read_parquet('{files}')"


@LANES
@RANDOM
@given(
    rows=ROWS,
    calls=functions(RANKS, FRAMED, UNITS),
    copies=st.sampled_from([0, 3, 150]),
    layout=layouts(),
    threads=st.integers(1, 8),
)
def test_found_layouts(lane, connection, tmp_path_factory, rows, calls, copies, layout, threads):
    """Nothing is declared: where a layout is found, rows are the same, and where files lie in folders, it is found."""
    fill(connection, rows, copies)
    folder = tmp_path_factory.mktemp("found")
    connection.execute(f"ATTACH '{folder}/small.db' AS small (ROW_GROUP_SIZE 2048)")
    try:
        source = lay(connection, folder, *layout)
        query = select(calls, ["k", "n"], source)
        connection.execute("SET threads = 1")
        decisions = [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()]
        several = connection.execute(f"SELECT count(DISTINCT coalesce({layout[1]}::VARCHAR, '')) > 1 FROM t").fetchone()
        if layout[0] == "folders" and several == (True,):
            assert decisions == ["region_local"]
        connection.execute(f"SET threads = {threads}")
        compare(connection, query, [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()], threads)
    finally:
        connection.execute("DETACH small")
