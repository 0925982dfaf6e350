"""Build a merganser.duckdb_extension for every client, not only Python, and prove it in a small C++ client.

DuckDB is built as a static library from the same source distribution as the headers, once, in the cache outside of
the tree; that takes a while (docs/building.md has the measured time). Merganser is built there by DuckDB's own CMake
functions.
"""

import argparse
import importlib.metadata
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import duckdb
from built_once import ROOT
from fetch_duckdb_source import cache_directory, duckdb_source

TOOLS = Path(sysconfig.get_path("scripts"))
RESULT = ROOT / "build" / "distribution" / "merganser.duckdb_extension"
CLIENT = "merganser_release_client"


def configure(build: Path, version: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with duckdb.connect() as connection:
        ((platform,),) = connection.execute("PRAGMA platform").fetchall()
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": TOOLS / "ninja",
        "BUILD_UNITTESTS": 0,
        "BUILD_SHELL": 0,
        "EXTENSION_STATIC_BUILD": 1,
        "STATICALLY_LINK_EXTENSIONS": "none",
        "DUCKDB_CAPABILITIES": "loadable_extensions",  # the client needs LOAD, and nothing else beside DuckDB's core
        "DUCKDB_EXPLICIT_VERSION": f"v{version}",
        "DUCKDB_EXTENSION_CONFIGS": ROOT / "extension_config.cmake",
        "MERGANSER_VERSION": project["version"],
        "MERGANSER_DUCKDB_PLATFORM": platform,
    }
    defines = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run([TOOLS / "cmake", "-S", duckdb_source(), "-B", build, "-G", "Ninja", *defines], check=True)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    version = importlib.metadata.version("duckdb")
    build = cache_directory() / f"duckdb-{version}-static"
    configure(build, version)
    subprocess.run([TOOLS / "ninja", "-C", build, "merganser_loadable_extension", CLIENT], check=True)

    RESULT.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(build / "extension" / "merganser" / RESULT.name, RESULT)
    client = next(path for path in build.rglob(CLIENT) if path.is_file())
    subprocess.run([client, RESULT], check=True, timeout=60)
    print(RESULT)


if __name__ == "__main__":
    main()
