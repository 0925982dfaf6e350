"""What a table function needs of memory, shown by limits that it stays under or does not; and what it does not read."""

import json
from pathlib import Path

import duckdb
import merganser
import pytest

LIMIT = "40MB"
DECISIONS = "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'"
SESSIONS = "SESSION(DATA => {data} PARTITION BY k ORDER BY time, GAP => {gap})"
SEEN = "count(*), sum(strlen(text))"
ROWS = 1_000_000


def write_readings(folder: Path, rows: int) -> Path:
    """Some 50 bytes of text that cannot be compressed per row; sessions of 100 rows; partitions of 50 000 rows."""
    file = folder / f"{rows}.parquet"
    with duckdb.connect() as plain:
        plain.execute(
            f"COPY (SELECT i // 50000 AS k, i + i // 100 * 10 AS time, concat(hash(i), hash(-i), hash(i + 1)) AS text "
            f"FROM range({rows}) r(i)) TO '{file}' (ROW_GROUP_SIZE 20480)"
        )
    return file


@pytest.fixture(scope="module")
def readings(tmp_path_factory) -> Path:
    return write_readings(tmp_path_factory.mktemp("readings"), ROWS)


def connect(folder: Path, *, spills: bool) -> duckdb.DuckDBPyConnection:
    connection = merganser.connect(
        config={"memory_limit": LIMIT, "threads": "2", "temp_directory": str(folder / "spill")}
    )
    if not spills:
        connection.execute("SET max_temp_directory_size = '0KB'")
    return connection


def view(connection, file: Path, *, sorted_by: str = "k, time") -> None:
    connection.execute(f"CREATE VIEW readings AS FROM '{file}'")
    connection.execute("ALTER VIEW readings SET PARTITIONED BY (k)")
    if sorted_by:
        connection.execute(f"ALTER VIEW readings SET SORTED BY ({sorted_by})")


def expected(file: Path) -> tuple:
    with duckdb.connect() as plain:
        return plain.execute(f"SELECT {SEEN} FROM '{file}'").fetchone()


def test_region_local_calls_stay_below_a_limit_that_the_data_exceeds(readings, tmp_path):
    with connect(tmp_path, spills=False) as small:
        view(small, readings)
        one = SESSIONS.format(data="readings", gap=1)
        nested = SESSIONS.format(data=f"(SELECT * FROM {one})", gap=5)
        for query, decisions in ((one, ["region_local"]), (nested, ["region_local", "fused"])):
            found = small.execute(DECISIONS, [f"SELECT * FROM {query}"]).fetchall()
            assert [name for (name,) in found] == decisions
            assert small.execute(f"SELECT {SEEN} FROM {query}").fetchone() == expected(readings)
        # the same rows, gathered, do not fit
        with pytest.raises(duckdb.OutOfMemoryException):
            small.execute("CREATE TEMP TABLE gathered AS FROM readings")


@pytest.mark.parametrize(
    ("data", "grouping"),
    [
        ("(SELECT hash(time) % 1000 AS k, time, text FROM '{file}')", "hashed"),
        ("(SELECT 1 AS k, time, text FROM '{file}')", "hashed"),
        ("readings", "region_local"),
    ],
    ids=["many partitions", "one giant partition", "each region sorted"],
)
def test_rows_that_have_to_be_sorted_spill(readings, tmp_path, data, grouping):
    query = SESSIONS.format(data=data.format(file=readings), gap=1)
    with connect(tmp_path, spills=True) as small:
        view(small, readings, sorted_by="")
        small.execute("SET threads = 1")
        assert small.execute(DECISIONS, [f"SELECT * FROM {query}"]).fetchall() == [(grouping,)]
        assert small.execute(f"SELECT {SEEN} FROM {query}").fetchone() == expected(readings)
        small.execute("SET max_temp_directory_size = '0KB'")
        with pytest.raises(duckdb.OutOfMemoryException):
            small.execute(f"SELECT {SEEN} FROM {query}")


def test_one_session_larger_than_memory_is_a_clear_error(tmp_path):
    with connect(tmp_path, spills=True) as small:
        rows = "(SELECT i AS time, i + 1 AS a, i + 2 AS b FROM range(5000000) r(i))"
        message = "SESSION: [0-9]+ rows of one partition are held .* do not fit into memory_limit"
        with pytest.raises(duckdb.OutOfMemoryException, match=message):
            small.execute(f"SELECT sum(a), sum(b) FROM SESSION(DATA => {rows}, GAP => 1)")
        # a shorter session, and a function that holds nothing
        assert small.execute(f"SELECT count(a), count(b) FROM SESSION(DATA => {rows}, GAP => 0)").fetchone() == (
            5_000_000,
            5_000_000,
        )
        capacity = f"CAPACITY(DATA => {rows}, SIZE => 5000000)"
        assert small.execute(f"SELECT count(a), count(b) FROM {capacity}").fetchone() == (5_000_000, 5_000_000)


def rows_out(operator: dict, name: str) -> list[int]:
    below = [rows for child in operator.get("children", []) for rows in rows_out(child, name)]
    return ([operator["intermediate_rows"]] if operator["name"] == name else []) + below


def test_a_limit_stops_the_scan(readings):
    with merganser.connect(config={"threads": "2"}) as connection:
        view(connection, readings)
        connection.execute("SET enable_profiling = 'no_output'")
        call = SESSIONS.format(data="readings", gap=1)
        assert len(connection.execute(f"SELECT * FROM {call} LIMIT 500").fetchall()) == 500
        profile = json.loads(connection.get_profiling_information(format="json"))
        (scanned,) = rows_out(profile["operator"][0], "REGION_SCAN")
        assert 500 <= scanned <= 50_000


def test_what_verification_remembers_of_partitions_counts(tmp_path):
    """Two million partitions of one row: 96 MiB of hash table, and half of that again while it grows."""
    file = tmp_path / "partitions.parquet"
    with duckdb.connect() as plain:
        plain.execute(f"COPY (SELECT i AS k, i AS time FROM range(2000000) r(i)) TO '{file}'")
    query = "SELECT count(*), sum(k) FROM SESSION(DATA => readings PARTITION BY k ORDER BY time, GAP => 1)"
    for limit, fits in (("60MB", False), ("400MB", True)):
        with merganser.connect(config={"memory_limit": limit, "threads": "1", "temp_directory": ""}) as small:
            view(small, file)
            assert small.execute(DECISIONS, [query]).fetchall() == [("region_local",)]
            if fits:
                assert small.execute(query).fetchone() == (2_000_000, sum(range(2_000_000)))
            else:
                with pytest.raises(duckdb.OutOfMemoryException):
                    small.execute(query)


def test_texts_in_open_windows_count(tmp_path):
    """Every row lies in 2000 windows, each of which keeps its first, last, smallest and largest text of 10 kB."""
    query = (
        "SELECT count(*), count(DISTINCT text) FROM M4(DATA => (SELECT i AS time, repeat(i::VARCHAR, {repeated}) AS "
        "text FROM range(1000, 5000) r(i)) ORDER BY time, TIMECOL => 'time', SIZE => 2000, SLIDE => 1)"
    )
    with merganser.connect(config={"memory_limit": LIMIT, "threads": "1", "temp_directory": ""}) as small:
        # windows of which the first begins with the first row: 4000, all but the last few with more than one point
        windows, texts = small.execute(query.format(repeated=5)).fetchone()
        assert texts == 4000 and windows > 4000
        with pytest.raises(duckdb.OutOfMemoryException):
            small.execute(query.format(repeated=2500))
