"""A damaged exchange file is named, and a failed COPY leaves nothing."""

import sys
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


def identity(path: Path) -> int:
    """The checksum of the index, which has the checksum of every block and the name the file was written under."""
    return int.from_bytes(path.read_bytes()[-16:-8], sys.byteorder)


def read_identified(connection, *files: tuple[Path, int]) -> list[tuple]:
    paths, identities = [str(path) for path, _ in files], [number for _, number in files]
    query = "SELECT count(*), sum(i) FROM merganser_exchange($1, identities := $2::UBIGINT[])"
    return connection.execute(query, [paths, identities]).fetchall()


def test_the_file_that_was_meant(connection, exchange):
    assert read_identified(connection, (exchange, identity(exchange))) == [(10000, 49995000)]


def test_another_file_in_its_place(connection, exchange):
    meant = identity(exchange)
    connection.execute(f"COPY (FROM t LIMIT 10) TO '{exchange}' (FORMAT merganser_exchange, PARTITIONS 3)")
    assert read(connection, exchange) == [(10, 45)]
    origin = "/".join(exchange.parts[-3:])
    message = rf'"{exchange}" is not the one that was to be read: it was written as "{origin}"'
    with pytest.raises(duckdb.IOException, match=message):
        read_identified(connection, (exchange, meant))


def test_the_same_rows_of_another_attempt(connection, tmp_path):
    """Attempts differ by their names; where one is put in the place of the other, it is still another."""
    first, second = tmp_path / "t0-a0", tmp_path / "t0-a1"
    for path in (first, second):
        connection.execute(f"COPY t TO '{path}' (FORMAT merganser_exchange)")
    assert identity(first) != identity(second)
    files = (first, identity(first)), (second, identity(second))
    assert read_identified(connection, *files) == [(20000, 99990000)]
    meant = identity(first)
    second.rename(first)
    with pytest.raises(duckdb.IOException, match="it was written as .*/t0-a1"):
        read_identified(connection, (first, meant))


def test_the_same_attempt_elsewhere(connection, exchange, tmp_path):
    """A copy another node fetched."""
    meant = identity(exchange)
    fetched = exchange.rename(tmp_path / "fetched")
    assert read_identified(connection, (fetched, meant)) == [(10000, 49995000)]


@pytest.mark.parametrize(
    ("identities", "message"), [("[1, 2]", "one for each of the 1 files, not 2"), ("[NULL]", "NULL")]
)
def test_identities_that_do_not_fit(connection, exchange, identities, message):
    with pytest.raises(duckdb.BinderException, match=message):
        connection.execute(f"FROM merganser_exchange(['{exchange}'], identities := {identities}::UBIGINT[])")


@pytest.mark.parametrize("rows", [1, 20, 2047, 5121, 10000])
def test_shares_depend_on_the_rows_not_on_the_chunks_they_come_in(connection, tmp_path, rows):
    small_chunks = f"SELECT i FROM t WHERE i % 5 < 2 AND i < {rows}"
    connection.execute(f"CREATE TABLE together AS {small_chunks}")
    written = []
    for query in (small_chunks, "SELECT i FROM together"):
        path = tmp_path / str(len(written))
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT merganser_exchange, PARTITIONS 4)")
        shares = [
            connection.execute(
                f"FROM merganser_exchange(['{path}'], partitions := [{share}], ordered := true)"
            ).fetchall()
            for share in range(4)
        ]
        written.append(shares)
    assert written[0] == written[1]
    assert sum(written[0], []) == connection.execute("FROM together").fetchall()
    assert all(written[0]) or rows == 1
