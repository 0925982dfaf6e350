"""Every query of TPC-H runs in several tasks, in waves, and returns the rows of plain DuckDB."""

import math

import merganser
import pytest

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@pytest.fixture(scope="module", params=["files", "tables"])
def connection(request, tpch_parquet):
    folder = tpch_parquet(0.01)
    kind = "VIEW" if request.param == "files" else "TABLE"
    with merganser.connect() as connection:
        for table in TABLES:
            connection.execute(f"CREATE {kind} {table} AS FROM read_parquet('{folder}/{table}.parquet')")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_tasks = 4")
        connection.execute("SET merganser_slots = 2")
        yield connection


def comparable(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row])


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
@pytest.mark.parametrize("number", range(1, 23))
def test_query(connection, tpch_queries, number, broadcast_max_bytes):
    query = tpch_queries[number]
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    connection.execute("SET merganser_runner = ''")
    expected = comparable(connection.execute(query).fetchall())
    stages = connection.execute("SELECT max(tasks) FROM merganser_stages($1)", [query]).fetchall()
    assert stages == [(4,)]
    connection.execute("SET merganser_runner = 'local'")
    rows = comparable(connection.execute(query).fetchall())
    assert len(rows) == len(expected)
    assert all(
        same(left, right)
        for row, other in zip(rows, expected, strict=True)
        for left, right in zip(row, other, strict=True)
    )


def test_table_of_stages(connection, request, tpch_queries, golden):
    connection.execute("SET merganser_runner = ''")
    connection.execute("SET merganser_broadcast_max_bytes = 67108864")
    lines = ["query  stages  with several tasks"]
    for number, query in tpch_queries.items():
        stages = connection.execute("SELECT tasks FROM merganser_stages($1)", [query]).fetchall()
        lines.append(f"{number:5}  {len(stages):6}  {sum(tasks > 1 for (tasks,) in stages):18}")
    golden(f"tpch_stages_of_{request.node.callspec.params['connection']}", "\n".join(lines))
