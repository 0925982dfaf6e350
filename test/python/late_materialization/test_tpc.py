"""TPC-H's and TPC-DS's own queries return the same rows with the rule off, on, and on with all keys declared."""

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import merganser
import pytest

TPCH_KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}
TPCH_FOREIGN_KEYS = [
    ("nation", "n_regionkey", "region", "r_regionkey"),
    ("supplier", "s_nationkey", "nation", "n_nationkey"),
    ("customer", "c_nationkey", "nation", "n_nationkey"),
    ("partsupp", "ps_partkey", "part", "p_partkey"),
    ("partsupp", "ps_suppkey", "supplier", "s_suppkey"),
    ("orders", "o_custkey", "customer", "c_custkey"),
    ("lineitem", "l_orderkey", "orders", "o_orderkey"),
    ("lineitem", "l_partkey, l_suppkey", "partsupp", "ps_partkey, ps_suppkey"),
]
TPCDS_KEYS = {
    "store_sales": "ss_item_sk, ss_ticket_number",
    "store_returns": "sr_item_sk, sr_ticket_number",
    "catalog_sales": "cs_item_sk, cs_order_number",
    "catalog_returns": "cr_item_sk, cr_order_number",
    "web_sales": "ws_item_sk, ws_order_number",
    "web_returns": "wr_item_sk, wr_order_number",
    "inventory": "inv_date_sk, inv_item_sk, inv_warehouse_sk",
    "store": "s_store_sk",
    "call_center": "cc_call_center_sk",
    "catalog_page": "cp_catalog_page_sk",
    "web_site": "web_site_sk",
    "web_page": "wp_web_page_sk",
    "warehouse": "w_warehouse_sk",
    "customer": "c_customer_sk",
    "customer_address": "ca_address_sk",
    "customer_demographics": "cd_demo_sk",
    "date_dim": "d_date_sk",
    "household_demographics": "hd_demo_sk",
    "item": "i_item_sk",
    "income_band": "ib_income_band_sk",
    "promotion": "p_promo_sk",
    "reason": "r_reason_sk",
    "ship_mode": "sm_ship_mode_sk",
    "time_dim": "t_time_sk",
}
TPCDS_FOREIGN_KEYS = [
    ("store_sales", "ss_customer_sk", "customer", "c_customer_sk"),
    ("store_sales", "ss_item_sk", "item", "i_item_sk"),
    ("store_sales", "ss_store_sk", "store", "s_store_sk"),
    ("store_sales", "ss_sold_date_sk", "date_dim", "d_date_sk"),
    ("catalog_sales", "cs_bill_customer_sk", "customer", "c_customer_sk"),
    ("catalog_sales", "cs_item_sk", "item", "i_item_sk"),
    ("catalog_sales", "cs_sold_date_sk", "date_dim", "d_date_sk"),
    ("web_sales", "ws_bill_customer_sk", "customer", "c_customer_sk"),
    ("web_sales", "ws_item_sk", "item", "i_item_sk"),
    ("web_sales", "ws_sold_date_sk", "date_dim", "d_date_sk"),
    ("customer", "c_current_addr_sk", "customer_address", "ca_address_sk"),
    ("customer", "c_current_cdemo_sk", "customer_demographics", "cd_demo_sk"),
]


def declare(connection: duckdb.DuckDBPyConnection, kind: str, keys: dict[str, str], foreign_keys: list) -> None:
    for table, columns in keys.items():
        connection.execute(f"ALTER {kind} {table} ADD PRIMARY KEY ({columns}) NOT ENFORCED RELY")
    for table, columns, referenced, referenced_columns in foreign_keys:
        connection.execute(
            f"ALTER {kind} {table} ADD FOREIGN KEY ({columns})"
            f" REFERENCES {referenced} ({referenced_columns}) NOT ENFORCED RELY"
        )


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with merganser.connect() as connection:
        yield connection


def load(connection: duckdb.DuckDBPyConnection, kind: str, folder: Path) -> None:
    for table in TPCH_KEYS:
        connection.execute(f"CREATE {kind} {table} AS FROM read_parquet('{folder / table}.parquet')")


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


def check(connection: duckdb.DuckDBPyConnection, queries: dict[int, str], declarations) -> tuple[set[int], set[int]]:
    """Compares all queries; returns the numbers of those rewritten with the cost model and without."""
    expected = {number: rows_of(connection, query, rule=False) for number, query in queries.items()}
    rewritten: dict[bool, set[int]] = {True: set(), False: set()}
    for declared in (False, True):
        if declared:
            declarations()
        for cost in (True, False):
            connection.execute(f"SET merganser_late_materialization_cost = {cost}")
            for number, query in queries.items():
                assert same(rows_of(connection, query, rule=True), expected[number]), (number, declared, cost)
                if declared and applied(connection, query):
                    rewritten[cost].add(number)
    return rewritten[True], rewritten[False]


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_tpch(connection, tpch_parquet, tpch_queries, kind):
    load(connection, kind, tpch_parquet(0.01))
    paying, sound = check(connection, tpch_queries, lambda: declare(connection, kind, TPCH_KEYS, TPCH_FOREIGN_KEYS))
    assert {3, 10, 18} <= sound
    assert paying <= sound


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_tpch_at_scale_1(connection, tpch_parquet, tpch_queries, kind):
    load(connection, kind, tpch_parquet(1))
    paying, sound = check(connection, tpch_queries, lambda: declare(connection, kind, TPCH_KEYS, TPCH_FOREIGN_KEYS))
    assert 10 in paying
    assert {3, 10, 18} <= sound


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_tpcds(connection, tpcds_database, tpcds_queries, kind):
    connection.execute(f"ATTACH '{tpcds_database(0.01)}' AS source (READ_ONLY)")
    folder = tpcds_database(0.01).parent
    for table in TPCDS_KEYS:
        if kind == "TABLE":
            connection.execute(f"CREATE TABLE {table} AS FROM source.{table}")
        else:
            connection.execute(f"COPY source.{table} TO '{folder / table}.tpcds.parquet'")
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder / table}.tpcds.parquet')")
    check(connection, tpcds_queries, lambda: declare(connection, kind, TPCDS_KEYS, TPCDS_FOREIGN_KEYS))


def test_plans_of_wide_reports(connection, tpch_parquet, golden):
    load(connection, "VIEW", tpch_parquet(0.01))
    declare(connection, "VIEW", TPCH_KEYS, TPCH_FOREIGN_KEYS)
    connection.execute("SET merganser_late_materialization_cost = false")
    for name, query in WIDE_REPORTS.items():
        rows = connection.execute(
            "SELECT section, item, text FROM merganser_explain(?) WHERE section IN ('decision', 'fact')",
            [query],
        ).fetchall()
        golden(name, "\n".join(f"{section:<9} {item:<21} {text}" for section, item, text in rows))


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
