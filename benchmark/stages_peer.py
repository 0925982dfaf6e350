"""Run queries in another engine, with the Python of a virtual environment of its own; benchmark/stages.py starts it.

    python stages_peer.py NAME '{"customer": ["customer.parquet"], ...}'

Reads queries as lines of JSON, {"sql": ...}, and answers each with one: {"wall": seconds, "rows": [...]} or
{"error": ...}. The first line it writes is {"version": ...}, when the engine is ready, or {"error": ...}. Engines:

    vane       Vane, on a Ray cluster it starts on this machine
    daft       Daft, in its process
    daft-ray   Daft, on a Ray cluster it starts on this machine
    sail       Sail, in its process
    sail-cluster   Sail with two workers, each a part of its process
"""

import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal

Rows = list[tuple]
Tables = dict[str, list[str]]
os.environ.update(RAY_USAGE_STATS_ENABLED="0", DO_NOT_TRACK="true", DAFT_ANALYTICS_ENABLED="0", DAFT_PROGRESS_BAR="0")


def vane_engine(tables: Tables) -> Callable[[str], Rows]:
    import vane

    vane.set_runner_ray()
    connection = vane.connect()
    for name, files in tables.items():
        connection.execute(f"CREATE VIEW {name} AS FROM read_parquet({files})")
    return lambda sql: connection.sql(sql).fetchall()


def daft_engine(tables: Tables) -> Callable[[str], Rows]:
    import daft

    frames = {name: daft.read_parquet(files) for name, files in tables.items()}
    return lambda sql: [tuple(row.values()) for row in daft.sql(sql, **frames).to_arrow().to_pylist()]


def daft_on_ray(tables: Tables) -> Callable[[str], Rows]:
    import daft
    import ray

    ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    daft.set_runner_ray()
    return daft_engine(tables)


def sail_engine(tables: Tables) -> Callable[[str], Rows]:
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer()
    server.start()
    session = SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()
    for name, files in tables.items():
        session.read.parquet(*files).createOrReplaceTempView(name)

    def run(sql: str) -> Rows:
        if not server.running:  # it stops when nothing refers to it
            raise RuntimeError("the server has stopped")
        return [tuple(row) for row in session.sql(sql).collect()]

    return run


def sail_with_workers(tables: Tables) -> Callable[[str], Rows]:
    os.environ.update(SAIL_MODE="local-cluster", SAIL_CLUSTER__WORKER_INITIAL_COUNT="2")
    return sail_engine(tables)


ENGINES = {
    "vane": ("vane-ai", vane_engine),
    "daft": ("daft", daft_engine),
    "daft-ray": ("daft", daft_on_ray),
    "sail": ("pysail", sail_engine),
    "sail-cluster": ("pysail", sail_with_workers),
}


def main() -> None:
    name, tables = sys.argv[1], json.loads(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the engine prints is no answer

    def answer(document: dict) -> None:
        answers.write(json.dumps(document, default=plain_value) + "\n")

    package, start = ENGINES[name]
    try:
        run = start(tables)
        answer({"version": f"{package} {importlib.metadata.version(package)}"})
    except BaseException as error:  # noqa: BLE001 - whatever it is, the benchmark tells it
        answer({"error": in_words(error)})
        raise
    for line in sys.stdin:
        began = time.perf_counter()
        try:
            rows = run(json.loads(line)["sql"])
            answer({"wall": time.perf_counter() - began, "rows": rows})
        except BaseException as error:  # noqa: BLE001
            answer({"error": in_words(error)})


def plain_value(value):
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def in_words(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:200] if text else ''}"


if __name__ == "__main__":
    main()
