"""Fetch the DuckDB source distribution that matches the installed wheel, and print its `external/duckdb` folder.

The headers must come from exactly the version that will load the extension. The archive is downloaded once with pip
into a cache outside the source tree (`MERGANSER_CACHE`, default `~/.cache/merganser`) and unpacked next to itself; a
later call finds it there and needs no network.
"""

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def cache_directory() -> Path:
    root = os.environ.get("MERGANSER_CACHE") or Path.home() / ".cache" / "merganser"
    path = Path(root)
    path.mkdir(parents=True, exist_ok=True)
    return path


def download(version: str, target: Path) -> None:
    """Download and unpack into a temporary folder first, so that an interrupted run leaves nothing half done."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", f"duckdb=={version}", "--no-binary", "duckdb"]
            + ["--no-deps", "--no-build-isolation", "--dest", scratch],
            check=True,
            stdout=sys.stderr,
        )
        archive = next(Path(scratch).glob("duckdb-*.tar.gz"))
        with tarfile.open(archive) as tar:
            if sys.version_info >= (3, 12):
                tar.extractall(scratch, filter="data")
            else:
                tar.extractall(scratch)
        os.replace(Path(scratch) / f"duckdb-{version}", target)


def duckdb_source() -> Path:
    """The folder with DuckDB's sources, downloaded first where it is not in the cache."""
    version = importlib.metadata.version("duckdb")
    target = cache_directory() / f"duckdb-{version}"
    if not target.exists():
        download(version, target)
    return target / "external" / "duckdb"


if __name__ == "__main__":
    print(duckdb_source())
