"""Measure what declarations cost the planning of queries that have nothing to do with them.

    python benchmark/declared_planning.py [--declared 1000] [--runs 40]

One query of SESSION over files and TPC-H's Q10 over views of small files are planned (EXPLAIN) in databases with none
and with `--declared` other objects declared: views with a layout over files of their own, views with keys, tables with
keys. The two databases take turns, and medians of CPU time are compared; the views of the queries are declared in both.
The last line is JSON: milliseconds of planning without and with, and their ratio.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import merganser
import tpch

LIMIT = 1.10
SESSION = "SELECT * FROM SESSION(DATA => sensor PARTITION BY device ORDER BY time, GAP => 5)"
Q10 = """
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
       c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
  AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC LIMIT 20"""


def open_database(folder: Path, declared: int):
    connection = merganser.connect()
    connection.execute("SET threads = 1; SET merganser_late_materialization_cost = false")
    connection.execute(f"CREATE VIEW sensor AS FROM '{folder}/sensor.parquet'")
    connection.execute("ALTER VIEW sensor SET PARTITIONED BY (device); ALTER VIEW sensor SET SORTED BY (device, time)")
    for table in ("customer", "orders", "lineitem", "nation"):
        connection.execute(f"CREATE VIEW {table} AS FROM '{folder}/{table}.parquet'")
    for statement in tpch.key_statements("VIEW"):
        if statement.split()[2] in ("customer", "orders", "lineitem", "nation"):
            connection.execute(statement)
    for i in range(declared):
        connection.execute(f"CREATE VIEW layout_{i} AS FROM read_parquet('{folder}/other.parquet', filename = 'f{i}')")
        connection.execute(f"CALL merganser_declare_layout('layout_{i}', partitioned_by := ['device'])")
        connection.execute(f"CREATE VIEW key_{i} AS FROM read_parquet('{folder}/other.parquet', filename = 'f{i}')")
        connection.execute(f"CALL merganser_declare_key('key_{i}', ['device'])")
        connection.execute(f"CREATE TABLE table_{i} (a INTEGER)")
        connection.execute(f"CALL merganser_declare_key('table_{i}', ['a'])")
    return connection


def write_files(folder: Path) -> None:
    with merganser.connect() as connection:
        for name in ("sensor", "other"):
            connection.execute(f"COPY (SELECT 1 AS device, i AS time FROM range(10) r(i)) TO '{folder}/{name}.parquet'")
        connection.execute(f"ATTACH '{tpch.native_database(0.01)}' AS tpch (READ_ONLY)")
        for table in ("customer", "orders", "lineitem", "nation"):
            connection.execute(f"COPY (FROM tpch.{table} LIMIT 1000) TO '{folder}/{table}.parquet'")


def planning(connection, query: str) -> float:
    begin = time.process_time()
    connection.execute("EXPLAIN " + query).fetchall()
    return (time.process_time() - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--declared", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=40)
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        none, many = open_database(folder, 0), open_database(folder, arguments.declared)
        for title, query in (("SESSION", SESSION), ("Q10", Q10)):
            first = planning(many, query)
            planning(none, query)
            samples = [(planning(none, query), planning(many, query)) for _ in range(arguments.runs)]
            without, declared = (statistics.median(column) for column in zip(*samples, strict=True))
            results[title] = {
                "none_ms": round(without, 3),
                "declared_ms": round(declared, 3),
                "ratio": round(declared / without, 3),
                "first_ms": round(first, 1),
            }
            print(
                f"{title}: planned in {without:.2f} ms with none declared, {declared:.2f} ms with {arguments.declared} "
                f"of each kind: {declared / without:.2f} (limit {LIMIT}); {first:.1f} ms the first time"
            )
    print(json.dumps({"declared": arguments.declared, "limit": LIMIT, "planning": results}))


if __name__ == "__main__":
    main()
