"""TPC-H for the demo and the benchmarks: data, views with declared keys, and queries read from DuckDB's sources."""

import re
import subprocess
import sys
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from built_once import DATA, built_once  # noqa: E402
from make_tpch import make_tpch  # noqa: E402
from tpc_declarations import (  # noqa: E402
    TPCH_FOREIGN_KEYS,
    TPCH_PRIMARY_KEYS,
    foreign_key_statements,
    primary_key_statements,
)

TABLES = tuple(TPCH_PRIMARY_KEYS)


def parquet_folder(scale: float) -> Path:
    """The folder with `<table>.parquet` of this scale factor; generated only the first time."""
    return make_tpch(scale)


def native_database(scale: float) -> Path:
    """A DuckDB database file with the same tables, without keys; made only the first time."""
    folder = parquet_folder(scale)

    def generate(database: Path) -> None:
        with duckdb.connect(database) as connection:
            for table in TABLES:
                connection.execute(f"CREATE TABLE {table} AS FROM '{folder}/{table}.parquet'")

    return built_once(DATA / "tpch" / f"sf{scale:g}.duckdb", generate)


def create_views(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for table in TABLES:
        connection.execute(f"CREATE VIEW {table} AS FROM '{folder}/{table}.parquet'")


def key_statements(kind: str, *, foreign_keys: bool = False) -> list[str]:
    """The statements that declare TPC-H's keys on its tables; `kind` is TABLE or VIEW."""
    statements = primary_key_statements(kind, TPCH_PRIMARY_KEYS)
    return statements + (foreign_key_statements(kind, TPCH_FOREIGN_KEYS) if foreign_keys else [])


def declare_keys(connection: duckdb.DuckDBPyConnection, kind: str) -> None:
    for statement in key_statements(kind):
        connection.execute(statement)


def duckdb_source() -> Path:
    """Folder of DuckDB's sources that match the installed wheel; downloaded only the first time."""
    command = [sys.executable, ROOT / "scripts" / "fetch_duckdb_source.py"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def query(number: int) -> str:
    """Text of TPC-H's query of this number, with the specification's validation parameters."""
    return (duckdb_source() / "extension" / "tpch" / "dbgen" / "queries" / f"q{number:02}.sql").read_text()


def without_filters(text: str, *columns: str) -> str:
    """The query without the lines of its WHERE clause that name one of the columns."""
    head, where, tail = re.split(r"(\nWHERE\b|\nGROUP BY\b)", text)[0::2]
    conditions = [line for line in where.splitlines() if line.strip() and not any(c in line for c in columns)]
    conditions[0] = re.sub(r"^\s*AND ", "    ", conditions[0])
    return f"{head}\nWHERE\n" + "\n".join(conditions) + f"\nGROUP BY{tail}"
