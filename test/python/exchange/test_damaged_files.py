"""A damaged exchange file is named, and a failed COPY leaves nothing."""

from pathlib import Path

import duckdb
import merganser
import pytest


@pytest.fixture
def connection():
    with merganser.connect() as opened:
        opened.execute("CREATE TABLE t AS SELECT i, i::VARCHAR AS s FROM range(10000) r(i)")
        yield opened


@pytest.fixture
def exchange(connection, tmp_path) -> Path:
    path = tmp_path / "t.exchange"
    connection.execute(f"COPY t TO '{path}' (FORMAT merganser_exchange, PARTITION_BY (i), PARTITIONS 3)")
    return path


def read(connection, path: Path) -> list[tuple]:
    return connection.execute(f"SELECT count(*), sum(i) FROM merganser_exchange(['{path}'])").fetchall()


def test_whole_file(connection, exchange):
    assert read(connection, exchange) == [(10000, 49995000)]


@pytest.mark.parametrize("kept", [0, 10, 40, 0.5, -1, -30])
def test_truncated(connection, exchange, kept):
    data = exchange.read_bytes()
    length = int(len(data) * kept) if isinstance(kept, float) else kept
    exchange.write_bytes(data[:length])
    with pytest.raises(duckdb.IOException, match=rf'"{exchange}" is truncated'):
        read(connection, exchange)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (0, "is not an exchange file"),
        (8, "has format version"),
        (16, "checksum of a block is wrong"),
        (20000, "checksum of a block is wrong"),
        (-25, "checksum of its index is wrong"),
        (-1, "is truncated"),
    ],
)
def test_altered(connection, exchange, place, message):
    data = bytearray(exchange.read_bytes())
    data[place] ^= 0x40
    exchange.write_bytes(data)
    with pytest.raises(duckdb.IOException, match=rf'"{exchange}".*{message}'):
        read(connection, exchange)


def test_missing_file(connection, tmp_path):
    with pytest.raises(duckdb.IOException, match="gone"):
        read(connection, tmp_path / "gone")


def test_failed_copy_leaves_nothing(connection, tmp_path):
    query = "SELECT CASE WHEN i = 9000 THEN error('boom') ELSE i END FROM t"
    with pytest.raises(duckdb.InvalidInputException, match="boom"):
        connection.execute(f"COPY ({query}) TO '{tmp_path}/x' (FORMAT merganser_exchange)")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_copy_leaves_the_file_of_before(connection, exchange):
    before = exchange.read_bytes()
    with pytest.raises(duckdb.InvalidInputException, match="boom"):
        connection.execute(f"COPY (SELECT error('boom')) TO '{exchange}' (FORMAT merganser_exchange)")
    assert exchange.read_bytes() == before
    assert [path.name for path in exchange.parent.iterdir()] == [exchange.name]
