"""All of TPC-H, and every case of test/sql/stages, on the cluster: the rows of plain DuckDB."""

import math
from pathlib import Path

import merganser
import pytest
import sqllogic

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
FILES = sorted((Path(__file__).parents[2] / "sql" / "stages").glob("*.test"))


@pytest.fixture
def tpch(session, tpch_parquet):
    for table in TABLES:
        session.execute(f"CREATE VIEW {table} AS FROM read_parquet('{tpch_parquet(0.1)}/{table}.parquet')")
    return session


def comparable(rows: list[tuple]) -> list[tuple]:
    return sorted(rows, key=lambda row: [f"{v:.6g}" if isinstance(v, float) else str(v) for v in row])


def same(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right


@pytest.mark.parametrize("number", range(1, 23))
def test_query(tpch, tpch_queries, number):
    rows = comparable(tpch.execute(tpch_queries[number]).fetchall())
    report = merganser.last_query()
    assert report["runner"] == "ray"
    assert max(stage["tasks"] for stage in report["stages"]) == 4
    tpch.execute("SET merganser_runner = ''")
    expected = comparable(tpch.execute(tpch_queries[number]).fetchall())
    assert len(rows) == len(expected)
    assert all(
        same(left, right)
        for row, other in zip(rows, expected, strict=True)
        for left, right in zip(row, other, strict=True)
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(ray_cluster, path, tmp_path):
    file = sqllogic.parse(path)
    variant = {name: value for name, value in file.variants[0].items() if name not in ("runner", "slots")}
    folder = str(ray_cluster.folder)
    workers = {"exchange_directory": folder, "worker_directory": folder, "worker_memory_limit": "500MB"}
    variant |= {**workers, "runner": "ray"}
    sqllogic.Runner(merganser.connect, tmp_path, variant).run(file)
