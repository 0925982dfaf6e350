"""Random queries that show the order of rows: as lists, the rows in stages are those of DuckDB on one thread.

No ORDER BY fixes the order at the end: UNION ALL, shared and materialised CTEs, filters, UNNEST, LIMIT and OFFSET,
OVER () and aggregates over them must hand on the order in which rows are stored. What DuckDB
itself fixes no order of (joins, GROUP BY, DISTINCT) is not asked for: joins hold small chunks back.
"""

import itertools
from pathlib import Path

import duckdb
import hypothesis
import merganser
import pytest
from hypothesis import strategies as st
from staged import cut_everything, most_tasks

LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])

#: name, first and last number, rows of each file or 0 for a table of the session
SOURCES = {"a": (0, 3000, 1000), "b": (-9000, -2000, 3500), "c": (100, 140, 10), "s": (500, 4500, 0), "e": (0, 0, 0)}
FINALS = (
    "SELECT i, v FROM q",
    "SELECT v, i + 1 FROM q LIMIT {n} OFFSET {m}",
    "SELECT list(i), string_agg(v, ' '), first(i), any_value(v) FROM q",
    "SELECT arg_min(i, v), arg_max(i, v), array_agg(v) FILTER (i % 3 = 0), count(*), sum(i) FROM q",
    "SELECT i, row_number() OVER (), lag(v) OVER (), first_value(i) OVER () FROM q",
    "SELECT i, n FROM (SELECT i, row_number() OVER () AS n FROM q) WHERE n % 97 = {n} % 97",
    "SELECT (SELECT list(i) FROM (FROM q LIMIT {n})), (SELECT list(i) FROM (FROM q LIMIT {n} OFFSET {m}))",
)
STATEMENTS = ("query", "CREATE TABLE", "INSERT", "COPY")


def rows_from(first: int, last: int) -> str:
    return f"SELECT i, chr(97 + (i * 7919 % 26)::INTEGER) AS v FROM range({first}, {last}) r(i)"


def write_files(folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
    for name, (first, last, of_file) in SOURCES.items():
        for part, start in enumerate(range(first, last, of_file)) if of_file else ():
            copied = rows_from(start, min(start + of_file, last))
            options = "FORMAT csv" if name == "c" else "FORMAT parquet, ROW_GROUP_SIZE 2048"
            connection.execute(f"COPY ({copied}) TO '{folder}/{part}.{name}' ({options})")


def add_sources(folder: Path, connection: duckdb.DuckDBPyConnection) -> None:
    for name, (first, last, of_file) in SOURCES.items():
        function = "read_csv" if name == "c" else "read_parquet"
        files = f"CREATE VIEW {name} AS FROM {function}('{folder}/*.{name}')"
        connection.execute(files if of_file else f"CREATE TABLE {name} AS {rows_from(first, last)}")


@st.composite
def pieces(draw, depth: int, names: tuple[str, ...]) -> str:
    """A query of columns i and v."""
    if depth == 0:
        return f"SELECT i, v FROM {draw(st.sampled_from(names))}"
    below = pieces(depth - 1, names)
    shape = draw(st.sampled_from(["union", "union", "filter", "shift", "unnest", "limit", "over", "total", "sort"]))
    if shape == "union":
        return " UNION ALL ".join(f"({piece})" for piece in draw(st.lists(below, min_size=2, max_size=3)))
    piece = f"({draw(below)})"
    small = draw(st.integers(1, 5))
    if shape == "filter":
        return f"SELECT i, v FROM {piece} WHERE i % {small + 1} <> 1 AND v > '{draw(st.sampled_from('ax'))}'"
    if shape == "shift":
        return f"SELECT i * {small} AS i, upper(v) AS v FROM {piece}"
    if shape == "unnest":
        return f"SELECT unnest([i, -i, {small}]) AS i, v FROM {piece}"
    if shape == "limit":
        return f"SELECT i, v FROM {piece} LIMIT {draw(st.integers(0, 4000))} OFFSET {draw(st.integers(0, 3000))}"
    if shape == "over":
        return f"SELECT i + row_number() OVER () AS i, v FROM {piece}"
    if shape == "total":
        return f"SELECT count(*) AS i, 'total' AS v FROM {piece}"
    return f"SELECT i, v FROM {piece} ORDER BY i DESC, v"


@st.composite
def queries(draw) -> str:
    names = tuple(SOURCES)
    shared = []
    for number in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(["AS", "AS MATERIALIZED"]))
        shared.append(f"cte{number} {kind} ({draw(pieces(draw(st.integers(0, 2)), names))})")
        names += (f"cte{number}",) * 3
    shared.append(f"q AS ({draw(pieces(draw(st.integers(1, 3)), names))})")
    numbers = {"n": draw(st.integers(1, 3000)), "m": draw(st.integers(0, 5000))}
    return f"WITH {', '.join(shared)} {draw(st.sampled_from(FINALS)).format(**numbers)}"


def rows_of(connection: duckdb.DuckDBPyConnection, query: str, statement: str, target: str) -> list[tuple]:
    """The rows in the order the statement gives them."""
    if statement == "query":
        return connection.execute(query).fetchall()
    if statement == "COPY":
        connection.execute(f"COPY ({query}) TO '{target}' (FORMAT csv)")
        return [(line,) for line in Path(target).read_text().splitlines()]
    connection.execute("DROP TABLE IF EXISTS made")
    if statement == "INSERT":
        connection.execute(f"CREATE TABLE made AS FROM ({query}) LIMIT 0")
        connection.execute(f"INSERT INTO made {query}")
    else:
        connection.execute(f"CREATE TABLE made AS {query}")
    runner = connection.execute("SELECT current_setting('merganser_runner')").fetchall()[0][0]
    connection.execute("SET merganser_runner = ''")
    rows = connection.execute("FROM made").fetchall()
    connection.execute(f"SET merganser_runner = '{runner}'")
    return rows


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("orders")
    with duckdb.connect() as plain:
        write_files(folder, plain)
    return folder


@LANES
def test_random_orders(sources, tmp_path, lane):
    seen = {"all": 0, "in several tasks": 0}
    examples = hypothesis.settings().max_examples if lane == "slow" else 60
    targets = (f"{tmp_path}/{number}.csv" for number in itertools.count())
    settings = st.fixed_dictionaries(
        {
            "threads": st.sampled_from([1, 2, 8]),
            "merganser_tasks": st.integers(1, 8),
            "merganser_task_bytes": st.sampled_from([0, 0, 4000, 64 << 20]),
            "merganser_broadcast_max_bytes": st.sampled_from([0, 64 << 20]),
        }
    )
    with merganser.connect() as plain, merganser.connect() as connection:
        plain.execute("SET threads = 1")
        for each in (plain, connection):
            add_sources(sources, each)
        cut_everything(connection)

        @hypothesis.given(queries(), settings, st.sampled_from(STATEMENTS))
        @hypothesis.settings(max_examples=examples, suppress_health_check=list(hypothesis.HealthCheck))
        def compare(query, settings, statement):
            expected = rows_of(plain, query, statement, next(targets))
            connection.execute("SET merganser_runner = ''")
            for name, value in settings.items():
                connection.execute(f"SET {name} = {value}")
            hypothesis.note(query)
            seen["all"] += settings["merganser_tasks"] > 1
            seen["in several tasks"] += settings["merganser_tasks"] > 1 and most_tasks(connection, query) > 1
            connection.execute("SET merganser_runner = 'local'")
            assert rows_of(connection, query, statement, next(targets)) == expected

        compare()
    assert seen["in several tasks"] * 2 > seen["all"]
