"""TPC-H's and TPC-DS's own queries return the same rows with the rule off, on, and on with all keys declared."""

import math
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest
from tpc_declarations import (
    TPCDS_PRIMARY_KEYS,
    TPCH_FOREIGN_KEYS,
    TPCH_PRIMARY_KEYS,
    foreign_key_statements,
    primary_key_statements,
    tpcds_foreign_keys,
)


@pytest.fixture(params=["TABLE", "VIEW"])
def kind(request: pytest.FixtureRequest) -> str:
    """What the tables of a benchmark are: native tables or views over Parquet files."""
    return request.param


def load(connection: duckdb.DuckDBPyConnection, kind: str, folder: Path, tables: Iterable[str]) -> None:
    for table in tables:
        connection.execute(f"CREATE {kind} {table} AS FROM read_parquet('{folder / table}.parquet')")


def tpch_declarations(kind: str) -> list[str]:
    return primary_key_statements(kind, TPCH_PRIMARY_KEYS) + foreign_key_statements(kind, TPCH_FOREIGN_KEYS)


def rows_of(connection: duckdb.DuckDBPyConnection, query: str, rule: bool) -> list[tuple]:
    connection.execute(f"SET merganser_late_materialization = {rule}")
    return connection.execute(query).fetchall()


def applied(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    reasons = connection.execute("SELECT text FROM merganser_explain(?) WHERE section = 'decision'", [query]).fetchall()
    return any(text.startswith("applied") for (text,) in reasons)


def same(left: list[tuple], right: list[tuple]) -> bool:
    """Sums of DOUBLE may differ in their last digits from run to run."""
    if len(left) != len(right):
        return False
    return all(
        a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-9))
        for x, y in zip(left, right, strict=True)
        for a, b in zip(x, y, strict=True)
    )


def check(
    connection: duckdb.DuckDBPyConnection, queries: dict[int, str], declarations: list[str]
) -> tuple[set[int], set[int]]:
    """Compares all queries; returns the numbers of those rewritten with the cost model and without."""
    expected = {number: rows_of(connection, query, rule=False) for number, query in queries.items()}
    rewritten: dict[bool, set[int]] = {True: set(), False: set()}
    for declared in (False, True):
        for statement in declarations if declared else []:
            connection.execute(statement)
        for cost in (True, False):
            connection.execute(f"SET merganser_late_materialization_cost = {cost}")
            for number, query in queries.items():
                assert same(rows_of(connection, query, rule=True), expected[number]), (number, declared, cost)
                if declared and applied(connection, query):
                    rewritten[cost].add(number)
    return rewritten[True], rewritten[False]


def test_tpch(connection, tpch_parquet, tpch_queries, kind):
    load(connection, kind, tpch_parquet(0.01), TPCH_PRIMARY_KEYS)
    paying, sound = check(connection, tpch_queries, tpch_declarations(kind))
    assert {3, 10, 18} <= sound
    assert paying <= sound


@pytest.mark.slow
def test_tpch_at_scale_1(connection, tpch_parquet, tpch_queries, kind):
    load(connection, kind, tpch_parquet(1), TPCH_PRIMARY_KEYS)
    paying, sound = check(connection, tpch_queries, tpch_declarations(kind))
    assert 10 in paying
    assert {3, 10, 18} <= sound


@pytest.mark.slow
def test_tpcds(connection, tpcds_database, tpcds_queries, kind, tmp_path):
    connection.execute(f"ATTACH '{tpcds_database(0.01)}' AS source (READ_ONLY)")
    for table in TPCDS_PRIMARY_KEYS:
        connection.execute(f"COPY source.{table} TO '{tmp_path / table}.parquet'")
    load(connection, kind, tmp_path, TPCDS_PRIMARY_KEYS)
    columns = connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'memory' ORDER BY ALL"
    ).fetchall()
    foreign_keys = tpcds_foreign_keys(columns)
    assert len(foreign_keys) > 100
    primary_keys = primary_key_statements(kind, TPCDS_PRIMARY_KEYS)
    _, sound = check(connection, tpcds_queries, primary_keys + foreign_key_statements(kind, foreign_keys))
    assert sound


def test_plans_of_wide_reports(connection, tpch_parquet, golden):
    load(connection, "VIEW", tpch_parquet(0.01), TPCH_PRIMARY_KEYS)
    for statement in tpch_declarations("VIEW"):
        connection.execute(statement)
    connection.execute("SET merganser_late_materialization_cost = false")
    for name, query in WIDE_REPORTS.items():
        rows = connection.execute(
            "SELECT section, item, text FROM merganser_explain(?) WHERE section <> 'timing'", [query]
        ).fetchall()
        facts = [f"{section:<9} {item:<21} {text}" for section, item, text in rows if section != "plan"]
        plans = [f"\nplan {item}\n{text.rstrip()}" for section, item, text in rows if section == "plan"]
        golden(name, "\n".join(facts + plans))


WIDE_REPORTS = {
    "q10": """
        SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
               c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey AND l_returnflag = 'R'
        GROUP BY ALL ORDER BY revenue DESC LIMIT 20""",
    "q3": """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority, o_comment
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
        GROUP BY ALL ORDER BY revenue DESC, o_orderdate LIMIT 10""",
    "q18": """
        SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity, o_comment
        FROM customer, orders, lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 300)
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY ALL ORDER BY o_totalprice DESC, o_orderdate LIMIT 100""",
}
