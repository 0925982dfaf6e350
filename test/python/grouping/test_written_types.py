"""Regions are read back as they were written, whatever becomes of a column's type in Parquet."""

import pytest


def grouping(connection, query: str) -> str:
    rows = connection.execute("SELECT text FROM merganser_explain(?) WHERE section = 'decision'", [query]).fetchall()
    return rows[0][0].partition(":")[0]


def write(connection, folder, partition: str, order: str) -> str:
    options = f"PARTITION_BY ({partition}), ORDER_BY ({order}), REGIONS 2"
    connection.execute(f"COPY readings TO '{folder}' (FORMAT merganser_regions, {options})")
    return f"(FROM read_parquet('{folder}/*.parquet'))"


@pytest.mark.parametrize(
    "partition, order",
    [
        ("g", "severity, time"),
        ("g", "huge, time"),
        ("g", "bits, time"),
        ("severity", "time"),
        ("huge", "time"),
        ("bits", "time"),
        ("severities", "time"),
    ],
)
def test_types_that_parquet_changes(connection, tmp_path, partition, order):
    connection.execute("CREATE TYPE severity AS ENUM ('low', 'mid', 'high')")
    connection.execute("""
        CREATE TABLE readings AS
        SELECT i % 2 AS g, (['low', 'mid', 'high'][i % 3 + 1])::severity AS severity, [severity] AS severities,
               9007199254740992000000::HUGEINT + (7 * i) % 5 * 1e18::HUGEINT AS huge, (i % 4)::INTEGER::BIT AS bits,
               i AS time
        FROM range(60) t(i)""")
    source = write(connection, tmp_path / "regions", partition, order)
    arguments = f"PARTITION BY ({partition}) ORDER BY ({order}), SIZE => 4)"
    written = f"SELECT count(*), sum(window_index) FROM CAPACITY(DATA => {source} {arguments}"
    assert grouping(connection, written) == "region_local"
    kept = f"SELECT count(*), sum(window_index) FROM CAPACITY(DATA => TABLE(readings) {arguments}"
    assert connection.execute(written).fetchone() == connection.execute(kept).fetchone()


@pytest.mark.parametrize(
    "type, values",
    [
        ("INT[]", "([]::INT[]), (NULL)"),
        ("INT[]", "([NULL]::INT[]), (NULL)"),
        ("STRUCT(x INT)", "({'x': NULL}), (NULL)"),
        ("INT[2]", "([NULL, NULL]::INT[2]), (NULL)"),
        ("MAP(INT, INT)", "(MAP {}), (NULL)"),
        ("INT[][]", "([[1], [2]]), ([[1, 2]])"),
        ("DOUBLE", "(1.5), ('nan'::DOUBLE), (NULL)"),
    ],
)
def test_partitions_that_duckdb_hashes_alike_lie_in_one_region(connection, tmp_path, type, values):
    connection.execute(f"""
        CREATE TABLE readings AS SELECT i % 2 AS p, q::{type} AS q, i AS time
        FROM range(20) r(i), (VALUES {values}) v(q)""")
    source = write(connection, tmp_path / "regions", "p", "q, time")
    call = (
        f"SELECT p, q, window_index, time FROM CAPACITY(DATA => {source} PARTITION BY (p, q) ORDER BY time, SIZE => 3)"
    )
    assert grouping(connection, call) == "region_local"
    kept = call.replace(source, "TABLE(readings)")
    difference = f"(({call}) EXCEPT ALL ({kept})) UNION ALL (({kept}) EXCEPT ALL ({call}))"
    assert connection.execute(f"SELECT count(*) FROM ({difference})").fetchone() == (0,)
    assert connection.execute(f"SELECT count(*) FROM ({call})").fetchone()[0] >= 40
