"""Run one query once in this process and print what it took: the benchmarks start it afresh for every measurement.

The argument is JSON: {engine, tables: {name: Parquet file} or database, sql, statements, check}. `statements` set the
engine up and are not measured, nor is `check`, if there is one: a query, asked afterwards, whose rows are told instead.
Printed, as JSON: wall and cpu (seconds), peak_mb (largest resident set of the process), rows.
Only the engine asked for is imported, so that a virtual environment without DuckDB can run its own.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

Rows = list[tuple]
#: Asks the engine for the rows of a query.
Ask = Callable[[str], Rows]


def duckdb_query(job: dict) -> Ask:
    if job["engine"] == "merganser":
        import merganser as module
    else:
        import duckdb as module
    connection = module.connect(job["database"], read_only=True) if job["database"] else module.connect()
    for name, path in job["tables"].items():
        connection.execute(f"CREATE VIEW {name} AS FROM '{path}'")
    for statement in job["statements"]:
        connection.execute(statement)
    return lambda sql: connection.execute(sql).fetchall()


def polars_query(job: dict) -> Ask:
    import polars

    context = polars.SQLContext({name: polars.scan_parquet(path) for name, path in job["tables"].items()})
    return lambda sql: context.execute(sql).collect(engine="streaming").rows()


def datafusion_query(job: dict) -> Ask:
    import datafusion

    context = datafusion.SessionContext()
    for name, path in job["tables"].items():
        context.register_parquet(name, path)
    return lambda sql: [tuple(row.values()) for row in context.sql(sql).to_pylist()]


ENGINES = {"duckdb": duckdb_query, "merganser": duckdb_query, "polars": polars_query, "datafusion": datafusion_query}


def main() -> None:
    job = json.loads(sys.argv[1])
    ask = ENGINES[job["engine"]](job)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = ask(job["sql"])
    result = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rows": ask(job["check"]) if job.get("check") else rows,
    }
    print(json.dumps(result, default=str))


if __name__ == "__main__":
    main()
