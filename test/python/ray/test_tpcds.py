"""TPC-DS on the cluster: the rows of plain DuckDB, in any order of equal rows."""

import merganser
import pytest
from staged import REPRESENTATIVE_OF_TPCDS, assert_same_rows

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


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


def check(tpcds, query: str) -> None:
    rows = tpcds.execute(query).fetchall()
    report = merganser.last_query()
    assert report["runner"] == "ray"
    assert max(stage["tasks"] for stage in report["stages"]) == 4
    tpcds.execute("SET merganser_runner = ''")
    expected = tpcds.execute(query).fetchall()
    assert_same_rows(rows, expected, ordered=False)


@pytest.mark.parametrize("number", REPRESENTATIVE_OF_TPCDS)
def test_representative_query(tpcds, tpcds_queries, number):
    check(tpcds, tpcds_queries[number])


@pytest.mark.slow
@pytest.mark.parametrize("number", [number for number in range(1, 100) if number not in REPRESENTATIVE_OF_TPCDS])
def test_query(tpcds, tpcds_queries, number):
    check(tpcds, tpcds_queries[number])
