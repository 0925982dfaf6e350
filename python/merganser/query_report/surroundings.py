"""Where a query was planned and run: versions, machine, and settings that are not the default."""

import os
import platform
import re
import sys
from dataclasses import dataclass, field

import duckdb

from merganser.connection import connect

#: Names of settings whose values are not shown.
PRIVATE = re.compile(r"secret|password|token|key_id|access_key|user_?name|^user$|connection_string", re.IGNORECASE)
NOT_SHOWN = "(set; not shown)"


@dataclass(frozen=True)
class Surroundings:
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    #: Name, value, and "connection" or "database": what SET changed.
    settings: list[tuple[str, str, str]] = field(default_factory=list)
    #: Environment variables that Merganser reads.
    variables: dict[str, str] = field(default_factory=dict)


def surroundings_of(connection: duckdb.DuckDBPyConnection, version: str) -> Surroundings:
    versions = {"Merganser": version, "DuckDB": duckdb.__version__, "Python": platform.python_version()}
    if "ray" in sys.modules:
        versions["Ray"] = sys.modules["ray"].__version__
    return Surroundings(
        versions=versions,
        machine=machine(),
        settings=changed_settings(connection),
        variables={
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith("MERGANSER_") or name == "RAY_ADDRESS"
        },
    )


def machine() -> dict[str, str]:
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 1e9:.1f} GB",
    }


def changed_settings(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    """What differs from a connection that was only just opened."""
    query = "SELECT name, value, scope FROM duckdb_settings() ORDER BY name"
    with connect(runner="") as fresh:
        defaults = {name: value for name, value, _ in fresh.execute(query).fetchall()}
    spills_to = f"{database_file(connection)}.tmp"
    return [
        (name, NOT_SHOWN if PRIVATE.search(name) else str(value), "connection" if scope == "LOCAL" else "database")
        for name, value, scope in connection.execute(query).fetchall()
        if value != defaults.get(name) and not (name == "temp_directory" and value == spills_to)
    ]


def database_file(connection: duckdb.DuckDBPyConnection) -> str | None:
    query = "SELECT path FROM duckdb_databases() WHERE database_name = current_database()"
    return connection.execute(query).fetchall()[0][0]
