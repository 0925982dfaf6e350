"""Keys of TPC-H's and TPC-DS's tables, and the statements that declare them.

Primary keys are those of the specifications. A foreign key is (table, columns, referenced table); it points to the
referenced table's primary key.
"""

from collections.abc import Iterable

TPCH_PRIMARY_KEYS = {
    "customer": "c_custkey",
    "lineitem": "l_orderkey, l_linenumber",
    "nation": "n_nationkey",
    "orders": "o_orderkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "region": "r_regionkey",
    "supplier": "s_suppkey",
}
TPCH_FOREIGN_KEYS = (
    ("customer", "c_nationkey", "nation"),
    ("lineitem", "l_orderkey", "orders"),
    ("lineitem", "l_partkey, l_suppkey", "partsupp"),
    ("nation", "n_regionkey", "region"),
    ("orders", "o_custkey", "customer"),
    ("partsupp", "ps_partkey", "part"),
    ("partsupp", "ps_suppkey", "supplier"),
    ("supplier", "s_nationkey", "nation"),
)
TPCDS_PRIMARY_KEYS = {
    "call_center": "cc_call_center_sk",
    "catalog_page": "cp_catalog_page_sk",
    "catalog_returns": "cr_item_sk, cr_order_number",
    "catalog_sales": "cs_item_sk, cs_order_number",
    "customer": "c_customer_sk",
    "customer_address": "ca_address_sk",
    "customer_demographics": "cd_demo_sk",
    "date_dim": "d_date_sk",
    "household_demographics": "hd_demo_sk",
    "income_band": "ib_income_band_sk",
    "inventory": "inv_date_sk, inv_item_sk, inv_warehouse_sk",
    "item": "i_item_sk",
    "promotion": "p_promo_sk",
    "reason": "r_reason_sk",
    "ship_mode": "sm_ship_mode_sk",
    "store": "s_store_sk",
    "store_returns": "sr_item_sk, sr_ticket_number",
    "store_sales": "ss_item_sk, ss_ticket_number",
    "time_dim": "t_time_sk",
    "warehouse": "w_warehouse_sk",
    "web_page": "wp_web_page_sk",
    "web_returns": "wr_item_sk, wr_order_number",
    "web_sales": "ws_item_sk, ws_order_number",
    "web_site": "web_site_sk",
}
#: How TPC-DS names a column that refers to a dimension: by the end of its name.
TPCDS_REFERENCES = {
    "addr_sk": "customer_address",
    "call_center_sk": "call_center",
    "catalog_page_sk": "catalog_page",
    "cdemo_sk": "customer_demographics",
    "customer_sk": "customer",
    "date_sk": "date_dim",
    "hdemo_sk": "household_demographics",
    "income_band_sk": "income_band",
    "item_sk": "item",
    "promo_sk": "promotion",
    "reason_sk": "reason",
    "ship_mode_sk": "ship_mode",
    "store_sk": "store",
    "time_sk": "time_dim",
    "warehouse_sk": "warehouse",
    "web_page_sk": "web_page",
    "web_site_sk": "web_site",
}
TPCDS_RETURNS = (
    ("catalog_returns", "cr_item_sk, cr_order_number", "catalog_sales"),
    ("store_returns", "sr_item_sk, sr_ticket_number", "store_sales"),
    ("web_returns", "wr_item_sk, wr_order_number", "web_sales"),
)
#: An INTEGER in DuckDB's generator, where d_date_sk is a BIGINT; declared foreign keys have one type on both sides.
TPCDS_OTHER_TYPE = "c_last_review_date_sk"


def tpcds_foreign_keys(columns: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The foreign keys of TPC-DS, from the (table, column) pairs of its tables."""
    result = list(TPCDS_RETURNS)
    for table, column in columns:
        for ending, referenced in TPCDS_REFERENCES.items():
            if column.endswith(f"_{ending}") and referenced != table and column != TPCDS_OTHER_TYPE:
                result.append((table, column, referenced))
    return result


def primary_key_statements(kind: str, keys: dict[str, str]) -> list[str]:
    """One ALTER for each key; `kind` is TABLE or VIEW."""
    return [f"ALTER {kind} {table} ADD PRIMARY KEY ({columns}) NOT ENFORCED RELY" for table, columns in keys.items()]


def foreign_key_statements(kind: str, keys: Iterable[tuple[str, str, str]]) -> list[str]:
    """One ALTER for each foreign key; the referenced tables must have their primary keys."""
    return [
        f"ALTER {kind} {table} ADD FOREIGN KEY ({columns}) REFERENCES {referenced} NOT ENFORCED RELY"
        for table, columns, referenced in keys
    ]
