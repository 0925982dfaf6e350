"""Open a DuckDB connection with the Merganser extension loaded."""

import os
from pathlib import Path
from typing import Any

import duckdb

BUILT_FOR = "2.0.1"


def extension_path() -> Path:
    """Path of the loadable extension this package carries.

    The environment variable MERGANSER_EXTENSION names another build of it.
    Raises FileNotFoundError in a checkout that has not been built.
    """
    path = Path(os.environ.get("MERGANSER_EXTENSION") or Path(__file__).with_name("merganser.duckdb_extension"))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; in a checkout, run `make build` first")
    return path


def connect(database: str | Path = ":memory:", **duckdb_args: Any) -> duckdb.DuckDBPyConnection:
    """Open `database` as `duckdb.connect` does, with the extension loaded.

    `duckdb_args` are duckdb.connect's own (`read_only`, `config`, ...). The result is a real DuckDB connection.
    Raises RuntimeError when the installed DuckDB is not the one the extension is built for.
    """
    if duckdb.__version__ != BUILT_FOR:
        raise RuntimeError(
            f"merganser fits DuckDB {BUILT_FOR}, but DuckDB {duckdb.__version__} is installed; "
            f"run: pip install duckdb=={BUILT_FOR}"
        )
    config = {"allow_unsigned_extensions": "true", **duckdb_args.pop("config", {})}
    connection = duckdb.connect(database, config=config, **duckdb_args)
    try:
        connection.load_extension(str(extension_path()))
    except Exception:
        connection.close()
        raise
    return connection
