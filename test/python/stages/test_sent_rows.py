"""What the session sends: no more than LIMIT needs of it, no more than it may, and no stream without an end."""

import merganser
import pyarrow
import pytest
from staged import check, cut_everything, most_tasks, reasons

ROWS = "SELECT i, i % 5 AS g, 'x' || i % 9 AS s FROM range({}) r(i)"


@pytest.fixture
def connection():
    with merganser.connect(runner="local") as connection:
        cut_everything(connection)
        yield connection


class Stream:
    """A stream of 2000 batches of 1000 rows that counts the batches it is asked for."""

    def __init__(self) -> None:
        self.batches = 0

    def reader(self) -> pyarrow.RecordBatchReader:
        return pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("a", pyarrow.int64())]), self.next_batches())

    def next_batches(self):
        for number in range(2000):
            self.batches += 1
            yield pyarrow.record_batch({"a": list(range(number * 1000, number * 1000 + 1000))})


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SELECT a FROM stream LIMIT 3", [(0,), (1,), (2,)]),
        ("SELECT count(*) FROM (SELECT a FROM stream LIMIT 3)", [(3,)]),
        ("SELECT a + 1 FROM stream LIMIT 2 OFFSET 2500", [(2501,), (2502,)]),
        ("SELECT a FROM stream WHERE a % 1000 = 7 LIMIT 3", [(7,), (1007,), (2007,)]),
        ("SELECT sum(b) FROM (SELECT a * 2 AS b FROM (SELECT a FROM stream WHERE a > 4999) LIMIT 1)", [(10000,)]),
        ("SELECT a FROM stream LIMIT 0", []),
    ],
)
def test_a_limit_stops_a_stream(connection, query, expected):
    stream = Stream()
    connection.register("stream", stream.reader())
    assert connection.execute(query).fetchall() == expected
    assert stream.batches < 100


def test_the_first_rows_of_a_stream_are_sent(connection, tmp_path):
    stream = Stream()
    connection.register("stream", stream.reader())
    for number in range(4):
        connection.execute(f"COPY ({ROWS.format(3000)}) TO '{tmp_path}/{number}.parquet'")
    query = f"""SELECT a, count(*) FROM '{tmp_path}/*.parquet' JOIN (SELECT a FROM stream WHERE a > 5 LIMIT 3) ON i = a
        GROUP BY a ORDER BY a"""
    assert "the session makes the rows LIMIT needs" in reasons(connection, query)
    assert most_tasks(connection, query) == 4
    assert connection.execute(query).fetchall() == [(6, 4), (7, 4), (8, 4)]
    assert stream.batches < 100


def test_all_of_a_stream_stays_in_duckdb(connection):
    stream = Stream()
    connection.register("stream", stream.reader())
    query = "SELECT count(*), sum(a) FROM stream"
    assert "how many rows" in reasons(connection, query)
    assert connection.execute(query).fetchall() == [(2_000_000, sum(range(2_000_000)))]
    assert stream.batches == 2000


@pytest.mark.parametrize("limit", ["LIMIT 3", "LIMIT 2 OFFSET 90000", "LIMIT 3 OFFSET 200000"])
def test_a_limit_of_a_large_table(connection, limit):
    connection.execute(f"CREATE TABLE t AS {ROWS.format(100000)}")
    for query in (
        f"SELECT i, s FROM t {limit}",
        f"SELECT i + 1 FROM t WHERE g > 1 {limit}",
        f"SELECT g, count(*), min(i) FROM (FROM t {limit}) GROUP BY g",
        f"SELECT i, row_number() OVER () FROM (SELECT i FROM t {limit})",
    ):
        check(connection, query, ordered="GROUP" not in query)
        assert "the session makes the rows LIMIT needs" in reasons(connection, query)


def test_a_limit_keeps_the_session_within_what_it_may_send(connection):
    connection.execute(f"CREATE TABLE t AS {ROWS.format(100000)}")
    connection.execute("SET merganser_send_max_bytes = 10000")
    assert check(connection, "SELECT i FROM t WHERE g = 4 LIMIT 5", ordered=True) == 1
    assert "the session makes" in reasons(connection, "SELECT i FROM t WHERE g = 4 LIMIT 5")
    assert "more than merganser_send_max_bytes" in reasons(connection, "SELECT sum(i) FROM t")


def stays_here() -> list[int]:
    """The stages that read rows which were too many to be sent."""
    return [
        stage["stage"]
        for stage in merganser.last_query()["stages"]
        if any("the tasks ran in this process: a scan of the session has" in text for text in stage["decisions"])
    ]


def test_what_may_not_be_sent_stays_here(connection, tmp_path):
    """DuckDB expects less of these texts than they are."""
    connection.execute("CREATE TABLE t AS SELECT i, repeat('x', 10000) || i AS s FROM range(5000) r(i)")
    connection.execute(f"SET merganser_send_max_bytes = 1000000; SET merganser_exchange_directory = '{tmp_path}'")
    query = "SELECT i % 2, max(length(s)) FROM t GROUP BY ALL"
    assert check(connection, query) > 1
    assert stays_here() == [1]
    assert check(connection, "SELECT i, right(s, 4) FROM t WHERE i % 3 > 0", ordered=True) > 1
    assert stays_here() == [1]
    connection.execute("BEGIN")
    connection.execute("INSERT INTO t SELECT i, repeat('y', 10000) FROM range(5000, 5100) r(i)")
    assert check(connection, query) > 1  # rows that only this transaction sees
    connection.execute("ROLLBACK")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    connection.execute("SET merganser_send_max_bytes = 1000000000")
    assert check(connection, query) > 1
    assert stays_here() == []


def test_a_stream_that_may_not_be_sent_is_read_once(connection, tmp_path):
    batch = pyarrow.record_batch({"a": list(range(1000)), "s": ["x" * 10000] * 1000})
    batches = 0

    def rows():
        nonlocal batches
        while True:
            batches += 1
            yield batch

    connection.execute("SET merganser_send_max_bytes = 1000000")
    stream = pyarrow.RecordBatchReader.from_batches(batch.schema, rows())
    for number in range(4):
        connection.execute(
            f"COPY (SELECT i FROM range(1000) r(i) WHERE i % 4 = {number}) TO '{tmp_path}/{number}.parquet'"
        )
    query = f"""SELECT a, count(*), max(s) FROM '{tmp_path}/*.parquet' JOIN (FROM stream LIMIT 5000) ON i = a
        GROUP BY a ORDER BY a"""
    assert connection.execute(query).fetchall() == [(a, 5, "x" * 10000) for a in range(1000)]
    assert stays_here() == [1]
    assert 5 <= batches < 100 and stream is not None
