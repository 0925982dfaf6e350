"""Open a DuckDB connection with the Merganser extension loaded."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb

from merganser import native

BUILT_FOR = "2.0.1"
#: What the runner `ray` is tested with.
RAY = "2.60.0"
RUNNERS = ("", "local", "ray")


def extension_path() -> Path:
    """Path of the loadable extension this package carries.

    The environment variable MERGANSER_EXTENSION names another build of it.
    Raises FileNotFoundError in a checkout that has not been built.
    """
    path = Path(os.environ.get("MERGANSER_EXTENSION") or Path(__file__).with_name("merganser.duckdb_extension"))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; in a checkout, run `make build` first")
    return path


def connect(
    database: str | Path = ":memory:",
    *,
    runner: str | None = None,
    address: str | None = None,
    slots: int | None = None,
    **duckdb_args: Any,
) -> duckdb.DuckDBPyConnection:
    """Open `database` as `duckdb.connect` does, with the extension loaded.

    `runner` runs queries in stages: "local" on threads of this process, "ray" on a Ray cluster, "" not at all; the
    default is the environment variable MERGANSER_RUNNER. It holds for the database: cursors and other connections to it
    have it too. `address` is that of a Ray cluster, or "local" for one on this machine, for nobody else, that ends with
    the process; the default is the Ray this process has initialised, then RAY_ADDRESS, else "local". `slots` is the
    number of tasks that run at the same time.

    `duckdb_args` are duckdb.connect's own (`read_only`, `config`, ...). The result is a real DuckDB connection.
    Raises RuntimeError when the installed DuckDB is not the one the extension is built for, or Ray is not installed;
    ConnectionError where no Ray cluster answers at `address`, ValueError where Ray is initialised with another one.
    """
    if duckdb.__version__ != BUILT_FOR:
        raise RuntimeError(
            f"merganser fits DuckDB {BUILT_FOR}, but DuckDB {duckdb.__version__} is installed; "
            f"run: pip install duckdb=={BUILT_FOR}"
        )
    runner = checked_runner(os.environ.get("MERGANSER_RUNNER", "") if runner is None else runner, address, slots)
    config = {"allow_unsigned_extensions": "true", **duckdb_args.pop("config", {})}
    connection = duckdb.connect(database, config=config, **duckdb_args)
    try:
        connection.load_extension(str(extension_path()))
        set_runner(connection, runner, address, slots)
    except Exception:
        connection.close()
        raise
    return connection


def last_query() -> dict[str, Any] | None:
    """What the query in stages that ended last in this process took, stage by stage; None before the first.

    Keys: runner, wall_seconds, stages, and on Ray left_out, why nodes were not used; each stage has stage,
    partitioning, reads, tasks, task_seconds, wall_seconds, rows_in, rows_out, bytes_in, bytes_out, estimated_rows,
    retries, skew, spilled_bytes, slowest_worker, decisions, and timeline: worker, started (seconds since the query's
    start) and seconds of each task.
    """
    return native.last_query(extension_path())


def checked_runner(runner: str, address: str | None, slots: int | None) -> str:
    if runner not in RUNNERS:
        raise ValueError(f'runner must be "local", "ray" or "", not {runner!r}')
    if address is not None and runner != "ray":
        raise ValueError(f'address is for runner="ray", and the runner is {runner!r}')
    if slots is not None and not (isinstance(slots, int) and slots >= 1):
        raise ValueError(f"slots must be a whole number of at least 1, not {slots!r}")
    if runner == "ray" and find_spec("ray") is None:
        raise RuntimeError(f'runner="ray" needs Ray; run: pip install ray=={RAY} numpy')
    return runner


def set_runner(connection: duckdb.DuckDBPyConnection, runner: str, address: str | None, slots: int | None) -> None:
    if slots is not None:
        connection.execute(f"SET GLOBAL merganser_slots = {slots}")
    if runner == "ray":
        from merganser import ray

        ray.use(connection, extension_path(), address, slots)
    elif runner:
        connection.execute(f"SET GLOBAL merganser_runner = '{runner}'")
