"""Layouts that nobody declared: what they rest on is checked, whatever files say of themselves."""

from pathlib import Path

import duckdb
import merganser
import pytest

WINDOW = "SELECT count(x), sum(x) FROM (SELECT lag(v) OVER (PARTITION BY device ORDER BY time) AS x FROM {source})"
DECISION = "SELECT text FROM merganser_explain(?) WHERE section = 'decision'"


@pytest.fixture
def connection():
    with merganser.connect(config={"threads": 1}) as opened:
        opened.execute("SET merganser_ordered_windows_min_rows = 0")
        opened.execute(
            "CREATE TABLE t AS SELECT chr((97 + i // 500)::INT) AS device, i % 500 AS time, i % 7 AS v "
            "FROM range(6000) r(i)"
        )
        yield opened


def decision(connection, query: str) -> str:
    return connection.execute(DECISION, [query]).fetchone()[0]


def change_footer(path: Path, value: bytes, other: bytes) -> None:
    """Replaces a statistic of one letter in the footer of a Parquet file, everywhere it stands as one."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length :]
    changed = footer.replace(b"\x01" + value, b"\x01" + other)
    assert changed != footer
    path.write_bytes(data[: -8 - length] + changed)


def test_statistics_that_lie_are_an_error_that_names_the_files(connection, tmp_path):
    connection.execute(f"COPY (FROM t WHERE device <= 'f') TO '{tmp_path}/low.parquet'")
    connection.execute(f"COPY (FROM t WHERE device = 'c' OR device > 'f') TO '{tmp_path}/high.parquet'")
    source = f"read_parquet(['{tmp_path}/low.parquet', '{tmp_path}/high.parquet'])"
    query = WINDOW.format(source=source)
    assert "overlap" in decision(connection, query)
    plain = connection.execute(query).fetchall()
    change_footer(tmp_path / "high.parquet", b"c", b"g")
    assert "found in the files' footers" in decision(connection, query)
    with pytest.raises(duckdb.InvalidInputException) as failure:
        connection.execute(query).fetchall()
    for part in ("device = c", "low.parquet", "high.parquet", "found in the files' footers", "write them again"):
        assert part in str(failure.value)
    connection.execute("SET merganser_ordered_windows_min_rows = 1000000000000")
    assert connection.execute(query).fetchall() == plain


def test_rows_outside_their_bounds_are_not_lost(connection, tmp_path):
    """A file that is read in two parts has rows of neither part's range: each is read once."""
    connection.execute(f"COPY (FROM t WHERE device <= 'f') TO '{tmp_path}/0.parquet' (ROW_GROUP_SIZE 2048)")
    connection.execute(f"COPY (FROM t WHERE device >= 'f') TO '{tmp_path}/1.parquet' (ROW_GROUP_SIZE 2048)")
    query = WINDOW.format(source=f"'{tmp_path}/*.parquet'")
    connection.execute("SET merganser_ordered_windows = false")
    plain = connection.execute(query).fetchall()
    connection.execute("SET merganser_ordered_windows = true")
    change_footer(tmp_path / "0.parquet", b"a", b"b")
    assert "found in the files' footers" in decision(connection, query)
    assert connection.execute(query).fetchall() == plain


@pytest.mark.parametrize("files", [3, 600])
def test_at_most_512_footers_are_read(connection, tmp_path, files):
    for file in range(files):
        connection.execute(f"COPY (SELECT {file} AS device, 1 AS time, 2 AS v) TO '{tmp_path}/{file}.parquet'")
    text = decision(connection, WINDOW.format(source=f"'{tmp_path}/*.parquet'"))
    assert ("found in the files' footers" in text) == (files == 3)
    assert ("600 files: the footers of at most 512 are read" in text) == (files == 600)


def test_a_region_is_tried_again_after_one_that_was_out_of_order(connection, tmp_path):
    """In the first and the last folder rows lie in order, in the others not; all come out right, on one thread."""
    for device in "abcde":
        order = "time" if device in "ae" else "hash(time)"
        (tmp_path / f"device={device}").mkdir()
        part = f"SELECT time, v FROM t WHERE device = '{device}' ORDER BY {order}"
        connection.execute(f"COPY ({part}) TO '{tmp_path}/device={device}/0.parquet'")
    query = f"SELECT device, time, lag(time) OVER (PARTITION BY device ORDER BY time) FROM '{tmp_path}/*/*.parquet'"
    assert "5 regions hold whole groups of {device}: found in the names of the folders" in decision(connection, query)
    rows = connection.execute(query).fetchall()
    assert len(rows) == 2500
    assert all(before == (time - 1 if time else None) for _, time, before in rows)
