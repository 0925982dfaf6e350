"""Every query of TPC-DS runs in several tasks, in waves, and returns the rows of plain DuckDB in the same order."""

import merganser
import pytest
from staged import REPRESENTATIVE_OF_TPCDS, assert_same_rows

#: What may stay on one task, by the reason the plan gives: a sort of few rows is not worth dividing.
ALLOWED_ON_ONE_TASK = ("a window without a common PARTITION BY", "ORDER BY sorts about")


@pytest.fixture(scope="module")
def connection(tpcds_database, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpcds")
    with merganser.connect() as connection:
        connection.execute(f"ATTACH '{tpcds_database(0.01)}' AS source (READ_ONLY)")
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'").fetchall()
        for (table,) in tables:
            connection.execute(f"COPY source.{table} TO '{folder}/{table}.parquet' (ROW_GROUP_SIZE 2048)")
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}.parquet')")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_tasks = 4")
        connection.execute("SET merganser_slots = 2")
        yield connection


def check(connection, query: str) -> None:
    connection.execute("SET merganser_runner = ''")
    expected = connection.execute(query).fetchall()
    stages = connection.execute("SELECT tasks, reason FROM merganser_stages($1)", [query]).fetchall()
    assert max(tasks for tasks, _ in stages) == 4
    for _, reason in stages:
        for sentence in reason.split("; "):
            assert "one task" not in sentence or sentence.startswith(ALLOWED_ON_ONE_TASK), reason
    connection.execute("SET merganser_runner = 'local'")
    rows = connection.execute(query).fetchall()
    # Some queries leave the order of equal rows open.
    assert_same_rows(rows, expected, ordered=False)


@pytest.mark.parametrize("number", REPRESENTATIVE_OF_TPCDS)
def test_representative_query(connection, tpcds_queries, number):
    check(connection, tpcds_queries[number])


@pytest.mark.slow
@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
@pytest.mark.parametrize("number", range(1, 100))
def test_query(connection, tpcds_queries, number, broadcast_max_bytes):
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    check(connection, tpcds_queries[number])


def test_table_of_stages(connection, tpcds_queries, golden):
    connection.execute("SET merganser_runner = ''")
    connection.execute("SET merganser_broadcast_max_bytes = 67108864")
    lines = ["query  stages  with several tasks  on one task besides the last rows"]
    for number, query in tpcds_queries.items():
        stages = connection.execute("SELECT tasks, reason FROM merganser_stages($1)", [query]).fetchall()
        several = sum(tasks > 1 for tasks, _ in stages)
        whole = {word for _, reason in stages for word in reason.split("; ") if "one task" in word}
        kinds = sorted({" ".join(sentence.split()[:3]) for sentence in whole})
        lines.append(f"{number:5}  {len(stages):6}  {several:18}  {', '.join(kinds) or '-'}")
    golden("tpcds_stages", "\n".join(lines))
