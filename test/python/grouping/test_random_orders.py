"""Random plans below and between calls: which rows come together, and in which order, never changes a result.

Without ORDER BY rows come as DuckDB's preserve_insertion_order has them, and results are compared as lists; what has no
such order is refused, or only counted. With ORDER BY, filters and projections stand between the calls, and below them.
"""

import re
from collections import Counter
from pathlib import Path

import duckdb
import merganser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Few examples in the fast lane, as many as the profile says in the slow one.
RANDOM = settings(
    max_examples=20 if settings.default.derandomize else settings.default.max_examples,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
DECISIONS = "SELECT text FROM merganser_explain(?) WHERE section = 'decision' AND item = 'grouping'"
THREADS = st.integers(1, 8)
COLUMNS = "k, time, v, r"

# A row is (k, time, v, r): a key, a time that goes up with r, a value, and the row's place in its table.
Row = tuple
TABLES = {
    "few": [(r % 2, r, r % 3, r) for r in range(10)],
    "keys": [(r // 2500, 2 * r, r // 10 % 4, r) for r in range(7500)],
    "mixed": [(r * 7919 % 5, r // 3, r % 7, r) for r in range(6000)],
}
FILTERS = {
    "time >= 0": lambda row: True,
    "v < 0": lambda row: False,
    "k <> 1": lambda row: row[0] != 1,
    "r % 2500 < 10 OR r % 2500 >= 2048": lambda row: row[3] % 2500 < 10 or row[3] % 2500 >= 2048,
    "r // 2048 <> 1 OR r % 100 = 7": lambda row: row[3] // 2048 != 1 or row[3] % 100 == 7,
    "v % 7 <> 9 AND r % 701 = 3": lambda row: row[2] % 7 != 9 and row[3] % 701 == 3,
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    """The tables, each also in Parquet files that are read one after the other, and written as regions."""
    folder = Path(tmp_path_factory.mktemp("orders"))
    with merganser.connect() as opened:
        for name, rows in TABLES.items():
            opened.execute(f"CREATE TABLE {name} (k BIGINT, time BIGINT, v BIGINT, r BIGINT)")
            columns = [list(column) for column in zip(*rows, strict=True)]
            opened.execute(
                f"INSERT INTO {name} SELECT unnest($1::BIGINT[]), unnest($2::BIGINT[]), unnest($3::BIGINT[]), "
                "unnest($4::BIGINT[])",
                columns,
            )
            for half, condition in enumerate((f"r < {len(rows) // 2}", f"r >= {len(rows) // 2}")):
                opened.execute(
                    f"COPY (FROM {name} WHERE {condition} ORDER BY r) TO '{folder}/{name}-{half}.parquet' "
                    "(ROW_GROUP_SIZE 2048)"
                )
            opened.execute(f"CREATE VIEW {name}_files AS FROM read_parquet('{folder}/{name}-*.parquet')")
            opened.execute(
                f"COPY {name} TO '{folder}/{name}' "
                "(FORMAT merganser_regions, PARTITION_BY (k), ORDER_BY (time, r), REGIONS 3)"
            )
            opened.execute(f"CREATE VIEW {name}_regions AS FROM read_parquet('{folder}/{name}/*.parquet')")
        opened.execute("CREATE TABLE chosen AS SELECT unnest([0, 2, 3]) AS k")
        yield opened


# ---------------------------------------------------------------- what the functions give for one partition, in order


def sessions(rows: list[Row], gap: int) -> list[Row]:
    """Of rows in the order of their times."""
    groups: list[list[Row]] = []
    for row in rows:
        if groups and row[1] - groups[-1][-1][1] <= gap:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [(group[0][1], *row) for group in groups for row in group]


def capacities(rows: list[Row], size: int) -> list[Row]:
    return [(place // size, *row) for place, row in enumerate(rows)]


def variations(rows: list[Row], delta: int) -> list[Row]:
    result: list[Row] = []
    window, first = 0, rows[0][2] if rows else 0
    for row in rows:
        if abs(row[2] - first) > delta:
            window, first = window + 1, row[2]
        result.append((window, *row))
    return result


FUNCTIONS = {
    "SESSION": (sessions, "GAP", "window_start", [0, 2, 40]),
    "CAPACITY": (capacities, "SIZE", "window_index", [1, 3, 1000]),
    "VARIATION": (variations, "COL => 'v', DELTA", "window_index", [0, 1, 3]),
}
CALLS = st.sampled_from(list(FUNCTIONS)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(FUNCTIONS[name][3]))
)


def call(name: str, number: int, argument: str) -> str:
    _, parameter, column, _ = FUNCTIONS[name]
    return f"SELECT {column}, {COLUMNS} FROM {name}(DATA => {argument}, {parameter} => {number})"


def partitions(rows: list[Row]) -> list[list[Row]]:
    result: dict[int, list[Row]] = {}
    for row in rows:
        result.setdefault(row[0], []).append(row)
    return list(result.values())


# ---------------------------------------------------------------- pieces of plan: SQL, rows, and whether in that order


class Piece:
    def __init__(self, sql: str, rows: list[Row], ordered: bool = True):
        self.sql = sql
        self.rows = rows
        self.ordered = ordered


SCANS = st.builds(
    lambda name, form: Piece(f"SELECT {COLUMNS} FROM {name}{form}", TABLES[name]),
    st.sampled_from(list(TABLES)),
    st.sampled_from(["", "_files"]),
)


def filtered(piece: Piece, condition: str) -> Piece:
    rows = [row for row in piece.rows if FILTERS[condition](row)]
    return Piece(f"SELECT {COLUMNS} FROM ({piece.sql}) WHERE {condition}", rows, piece.ordered)


def united(pieces: list[Piece]) -> Piece:
    sql = " UNION ALL ".join(f"(SELECT {COLUMNS} FROM ({piece.sql}))" for piece in pieces)
    return Piece(sql, [row for piece in pieces for row in piece.rows], all(piece.ordered for piece in pieces))


def limited(piece: Piece, limit: int, offset: int) -> Piece:
    if not piece.ordered:
        return piece
    return Piece(f"SELECT * FROM ({piece.sql}) LIMIT {limit} OFFSET {offset}", piece.rows[offset : offset + limit])


def sorted_down(piece: Piece) -> Piece:
    rows = sorted(piece.rows, key=lambda row: row[::-1], reverse=True)
    return Piece(f"SELECT * FROM ({piece.sql}) ORDER BY r DESC, v DESC, time DESC, k DESC", rows)


def shared(piece: Piece, condition: str) -> Piece:
    later = [row for row in piece.rows if FILTERS[condition](row)]
    sql = f"WITH c AS MATERIALIZED ({piece.sql}) SELECT * FROM c UNION ALL SELECT * FROM c WHERE {condition}"
    return Piece(sql, piece.rows + later, piece.ordered)


def joined(piece: Piece) -> Piece:
    rows = [row for row in piece.rows if row[0] in (0, 2, 3)]
    return Piece(f"SELECT {COLUMNS} FROM ({piece.sql}) JOIN chosen USING (k)", rows, ordered=False)


def full_joined(left: Piece, right: Piece) -> Piece:
    columns = ", ".join(f"coalesce(a.{c}, b.{c}) AS {c}" for c in COLUMNS.split(", "))
    sql = f"SELECT {columns} FROM ({left.sql}) a FULL JOIN ({right.sql}) b ON a.r = b.r + 1000000"
    return Piece(sql, left.rows + right.rows, ordered=False)


def grouped(piece: Piece) -> Piece:
    return Piece(f"SELECT {COLUMNS} FROM ({piece.sql}) GROUP BY ALL", list(set(piece.rows)), ordered=False)


def in_sets(piece: Piece) -> Piece:
    sql = (
        f"SELECT k, time, v, coalesce(r, -1) AS r FROM ({piece.sql}) GROUP BY GROUPING SETS (({COLUMNS}), (k, time, v))"
    )
    rows = set(piece.rows) | {(*row[:3], -1) for row in piece.rows}
    return Piece(sql, list(rows), ordered=False)


CONDITIONS = st.sampled_from(list(FILTERS))
ORDERED = st.recursive(
    SCANS,
    lambda pieces: st.one_of(
        st.builds(filtered, pieces, CONDITIONS),
        st.builds(united, st.lists(pieces, min_size=2, max_size=3)),
        st.builds(limited, pieces, st.sampled_from([1, 100, 5000]), st.sampled_from([0, 3, 2500])),
        st.builds(sorted_down, pieces),
        st.builds(shared, pieces, CONDITIONS),
    ),
    max_leaves=4,
)
UNORDERED = st.one_of(
    st.builds(joined, ORDERED),
    st.builds(full_joined, ORDERED, ORDERED),
    st.builds(grouped, ORDERED),
    st.builds(in_sets, ORDERED),
).flatmap(
    lambda piece: st.one_of(
        st.just(piece),
        st.builds(filtered, st.just(piece), CONDITIONS),
        st.builds(lambda other: united([other, piece]), ORDERED),
        st.builds(shared, st.just(piece), CONDITIONS),
    )
)


def groupings(connection, query: str) -> list[str]:
    return [text for (text,) in connection.execute(DECISIONS, [query]).fetchall()]


@LANES
@RANDOM
@given(piece=ORDERED, chosen=CALLS, threads=THREADS)
def test_one_partition_has_all_rows_as_produced(lane, connection, piece, chosen, threads):
    connection.execute(f"SET threads = {threads}")
    query = call(*chosen, f"({piece.sql})")
    times = [row[1] for row in piece.rows]
    if chosen[0] == "SESSION" and times != sorted(times):
        with pytest.raises(duckdb.InvalidInputException, match="the time column .time. goes back"):
            connection.execute(query).fetchall()
        return
    (grouping,) = groupings(connection, query)
    assert grouping.startswith("single:")
    assert grouping.endswith("in the order they are produced in")
    assert connection.execute(query).fetchall() == FUNCTIONS[chosen[0]][0](piece.rows, chosen[1])


@LANES
@RANDOM
@given(piece=ORDERED, chosen=CALLS, threads=THREADS)
def test_partitions_have_their_rows_as_produced(lane, connection, piece, chosen, threads):
    connection.execute(f"SET threads = {threads}")
    query = call(*chosen, f"({piece.sql}) PARTITION BY k")
    parts = partitions(piece.rows)
    if chosen[0] == "SESSION" and any(part != sorted(part, key=lambda row: row[1]) for part in parts):
        with pytest.raises(duckdb.InvalidInputException, match="the time column .time. goes back"):
            connection.execute(query).fetchall()
        return
    (grouping,) = groupings(connection, query)
    assert grouping.startswith("hashed:")
    assert grouping.endswith("in the order they are produced in")
    expected = [row for part in parts for row in FUNCTIONS[chosen[0]][0](part, chosen[1])]
    assert Counter(connection.execute(query).fetchall()) == Counter(expected)


@LANES
@RANDOM
@given(piece=UNORDERED, chosen=CALLS, by=st.sampled_from(["", "PARTITION BY k"]), threads=THREADS)
def test_rows_without_an_order_are_refused_or_only_counted(lane, connection, piece, chosen, by, threads):
    connection.execute(f"SET threads = {threads}")
    query = call(*chosen, f"({piece.sql}) {by}")
    if chosen[0] != "CAPACITY":
        try:
            rows = connection.execute(query).fetchall()
        except duckdb.BinderException as refusal:
            assert re.search("gives its rows in no fixed order. Add ORDER BY", str(refusal))
        else:
            assert rows == piece.rows == []  # DuckDB saw that the piece is empty
        return
    rows = connection.execute(query).fetchall()
    assert Counter(row[1:] for row in rows) == Counter(piece.rows)
    parts = partitions(piece.rows) if by else [piece.rows]
    windows = [(part[0][0] if by else None, place // chosen[1]) for part in parts for place in range(len(part))]
    assert Counter((row[1] if by else None, row[0]) for row in rows) == Counter(windows)


# ---------------------------------------------------------------- calls in each other


@LANES
@RANDOM
@given(
    table=st.sampled_from(list(TABLES)),
    form=st.sampled_from(["", "_files", "_regions"]),
    below=st.lists(CONDITIONS, max_size=2),
    steps=st.lists(st.tuples(CALLS, st.one_of(st.none(), CONDITIONS), st.booleans()), min_size=1, max_size=4),
    threads=THREADS,
)
def test_filters_between_calls_change_no_order(lane, connection, table, form, below, steps, threads):
    connection.execute(f"SET threads = {threads}")
    piece = Piece(f"SELECT {COLUMNS} FROM {table}{form}", TABLES[table])
    for condition in below:
        piece = filtered(piece, condition)
    sql, parts, column = piece.sql, [sorted(p, key=lambda row: (row[1], row[3])) for p in partitions(piece.rows)], None
    for (name, number), condition, computes in steps:
        sql = call(name, number, f"({sql}) PARTITION BY k ORDER BY (time, r)")
        parts = [FUNCTIONS[name][0](part, number) for part in parts]
        column = FUNCTIONS[name][2]
        if condition:
            parts = [[row for row in part if FILTERS[condition](row[1:])] for part in parts]
            sql = f"SELECT * FROM ({sql}) WHERE {condition}"
        last = sql
        parts_with_column = parts
        parts = [[row[1:] for row in part] for part in parts]
        sql = f"SELECT {COLUMNS}, time + v AS computed FROM ({sql})" if computes else f"SELECT {COLUMNS} FROM ({sql})"
        sql = f"SELECT {COLUMNS} FROM ({sql})"
    decisions = [text.split(":")[0] for text in groupings(connection, last)]
    if piece.rows:  # else DuckDB may see that there are none, and scan nothing
        assert decisions[1:] == ["fused"] * (len(steps) - 1)
        assert decisions[0] == ("region_local" if form == "_regions" else "hashed")
    rows = connection.execute(f"SELECT {column}, {COLUMNS} FROM ({last})").fetchall()
    assert Counter(rows) == Counter(row for part in parts_with_column for row in part)


# ---------------------------------------------------------------- declared layouts, true and false


def breaks_the_layout(files: list[list[Row]]) -> bool:
    """A key in two files, a key that comes again, or a time that goes back."""
    seen: set[int] = set()
    for rows in files:
        for before, row in zip([None, *rows], rows, strict=False):
            if before is None or before[0] != row[0]:
                if row[0] in seen:
                    return True
                seen.add(row[0])
            elif row[1] < before[1]:
                return True
    return False


@LANES
@RANDOM
@given(
    keys=st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), min_size=1, max_size=6),
    swaps=st.sampled_from([0, 0, 0, 1, 2]),
    files=st.integers(1, 3),
    conditions=st.lists(CONDITIONS, max_size=2),
    gaps=st.lists(st.sampled_from([0, 2, 40]), min_size=1, max_size=2),
    threads=THREADS,
)
def test_a_false_layout_is_an_error_and_a_true_one_is_right(
    lane, connection, tmp_path_factory, keys, swaps, files, conditions, gaps, threads
):
    """Runs of rows of a key, written to files in turn; swapped times break the order."""
    folder = Path(tmp_path_factory.mktemp("layout"))
    rows = [(k, r, r % 3, r) for r, k in enumerate(key for key in keys for _ in range(1500))]
    for swap in range(swaps):
        here, there = len(rows) // 3 + swap, len(rows) // 2
        rows[here], rows[there] = rows[there], rows[here]
    written = [rows[i * len(rows) // files : (i + 1) * len(rows) // files] for i in range(files)]
    connection.execute(f"SET threads = {threads}")
    for i, part in enumerate(written):
        connection.execute("CREATE OR REPLACE TABLE part (k BIGINT, time BIGINT, v BIGINT, r BIGINT)")
        columns = [list(column) for column in zip(*part, strict=True)]
        connection.execute(
            "INSERT INTO part SELECT unnest($1::BIGINT[]), unnest($2::BIGINT[]), unnest($3::BIGINT[]), "
            "unnest($4::BIGINT[])",
            columns,
        )
        connection.execute(f"COPY part TO '{folder}/{i}.parquet' (ROW_GROUP_SIZE 2048)")
    connection.execute(f"CREATE OR REPLACE VIEW declared AS FROM read_parquet('{folder}/*.parquet')")
    connection.execute("ALTER VIEW declared SET PARTITIONED BY (k)")
    connection.execute("ALTER VIEW declared SET SORTED BY (k, time)")
    piece = Piece(f"SELECT {COLUMNS} FROM declared", rows)
    for condition in conditions:
        piece = filtered(piece, condition)
        written = [[row for row in part if FILTERS[condition](row)] for part in written]
    sql = piece.sql
    for gap in gaps:
        sql = call("SESSION", gap, f"(SELECT {COLUMNS} FROM ({sql})) PARTITION BY k ORDER BY time")
    decisions = [text.split(":")[0] for text in groupings(connection, sql)]
    if piece.rows:  # else DuckDB may see that there are none, and scan nothing
        assert decisions == ["region_local"] + ["fused"] * (len(gaps) - 1)
    if breaks_the_layout(written):
        with pytest.raises(duckdb.InvalidInputException, match="declared by view declared"):
            connection.execute(sql).fetchall()
        return
    parts = [sorted(part, key=lambda row: row[1]) for part in partitions(piece.rows)]
    expected = [row for part in parts for row in sessions(part, gaps[-1])]
    assert Counter(connection.execute(sql).fetchall()) == Counter(expected)
