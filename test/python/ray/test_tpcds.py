"""TPC-DS on the cluster: the rows of plain DuckDB, in any order of equal rows."""

import math

import merganser
import pytest

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

#: In the fast lane: shared CTEs, ROLLUP, set operations, windows, EXISTS and scalar subqueries, full joins, 41 stages.
REPRESENTATIVE = (2, 5, 14, 16, 23, 44, 51, 54, 64, 70, 87, 97)


@pytest.fixture(scope="module")
def files(tpcds_database, tmp_path_factory):
    """A Parquet file of several row groups for each table."""
    folder = tmp_path_factory.mktemp("tpcds")
    with merganser.connect(tpcds_database(0.01), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet' (ROW_GROUP_SIZE 2048)")
    return sorted(folder.iterdir())


@pytest.fixture
def tpcds(session, files):
    for file in files:
        session.execute(f"CREATE VIEW {file.stem} AS FROM read_parquet('{file}')")
    return session


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


def text(row: tuple) -> list[str]:
    return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]


def check(tpcds, query: str) -> None:
    rows = tpcds.execute(query).fetchall()
    report = merganser.last_query()
    assert report["runner"] == "ray"
    assert max(stage["tasks"] for stage in report["stages"]) == 4
    tpcds.execute("SET merganser_runner = ''")
    expected = tpcds.execute(query).fetchall()
    assert len(rows) == len(expected)
    for row, other in zip(sorted(rows, key=text), sorted(expected, key=text), strict=True):
        assert all(same(left, right) for left, right in zip(row, other, strict=True))


@pytest.mark.parametrize("number", REPRESENTATIVE)
def test_representative_query(tpcds, tpcds_queries, number):
    check(tpcds, tpcds_queries[number])


@pytest.mark.slow
@pytest.mark.parametrize("number", [number for number in range(1, 100) if number not in REPRESENTATIVE])
def test_query(tpcds, tpcds_queries, number):
    check(tpcds, tpcds_queries[number])
