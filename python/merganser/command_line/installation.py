"""What is installed, which DuckDB is loaded and from where, what Merganser may use, and what to mend.

Each finding is a fact a question about an installation begins with. One with a remedy stops Merganser, or will.
"""

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import duckdb
from rich.console import Console
from rich.text import Text

import merganser
from merganser.connection import BUILT_FOR, RAY, connect, extension_path
from merganser.query_report.quantities import size

#: Less free space than this for what spills or is exchanged is worth a word.
SCARCE_BYTES = 1 << 30
SECONDS_TO_REACH = 2.0


@dataclass(frozen=True)
class Finding:
    what: str
    found: str
    #: What to do about it; empty where it is as it should be.
    remedy: str = ""


def examine() -> list[Finding]:
    findings = [
        Finding("merganser", f"{merganser.__version__} in {Path(merganser.__file__).parent}"),
        Finding("Python", f"{platform.python_version()}, {sys.executable}"),
        duckdb_version(duckdb.__version__),
    ]
    findings += loading()
    findings += duckdb_modules()
    findings += ray_findings()
    return findings


def duckdb_version(version: str) -> Finding:
    remedy = "" if version == BUILT_FOR else f"pip install duckdb=={BUILT_FOR}"
    return Finding("DuckDB", version, remedy)


def loading() -> Iterator[Finding]:
    """The extension is loaded as a connection loads it, and asked what it may use."""
    try:
        path = extension_path()
    except FileNotFoundError as error:
        yield Finding("extension", "not found", str(error))
        return
    yield Finding("extension", f"{path}, {size(path.stat().st_size)}")
    try:
        with connect(runner="") as connection:
            settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    except (duckdb.Error, RuntimeError, OSError) as error:
        yield Finding("loading it", "fails", str(error))
        return
    yield Finding("loading it", "works")
    yield Finding("threads", f"{settings['threads']} of {len(os.sched_getaffinity(0))} cores")
    yield Finding("memory", f"DuckDB may use {settings['memory_limit']}; {memory()}")
    yield space("temporary files", Path(settings["temp_directory"] or tempfile.gettempdir()), "temp_directory")
    exchange = Path(settings["merganser_exchange_directory"] or tempfile.gettempdir())
    yield space("exchange files", exchange, "merganser_exchange_directory")


def memory() -> str:
    total, available = (os.sysconf(name) * os.sysconf("SC_PAGE_SIZE") for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    return f"of the machine's {size(total)}, {size(available)} are unused"


def space(what: str, folder: Path, setting: str) -> Finding:
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    found = f"{folder.absolute()}, {size(free)} free"
    if not os.access(existing, os.W_OK):
        return Finding(what, found, f"nothing can be written there; SET {setting} names another folder")
    return Finding(what, found, f"free some, or SET {setting} to another disk" if free < SCARCE_BYTES else "")


def duckdb_modules() -> Iterator[Finding]:
    """The extension works with the one DuckDB that Python loaded; with a second one in the process nothing is sure."""
    module = sys.modules["_duckdb"].__file__ or "built in"
    loaded = mapped_modules(Path("/proc/self/maps"))
    others = sorted(loaded - {os.path.realpath(module)})
    yield Finding(
        "DuckDB's module",
        module,
        f"a second DuckDB is loaded, {', '.join(others)}: use one environment for both" if others else "",
    )


def mapped_modules(maps: Path) -> set[str]:
    """Files of DuckDB that are mapped into this process; none where the system does not tell."""
    if not maps.exists():
        return set()
    paths = (line.split(maxsplit=5)[5:] for line in maps.read_text(errors="surrogateescape").splitlines())
    return {path for (path,) in filter(None, paths) if Path(path).name.startswith(("_duckdb.", "libduckdb."))}


def ray_findings() -> Iterator[Finding]:
    runner = os.environ.get("MERGANSER_RUNNER", "")
    yield Finding("runner", runner or "none set (MERGANSER_RUNNER): queries run in one DuckDB")
    try:
        version = metadata.version("ray")
    except metadata.PackageNotFoundError:
        install = f"pip install ray=={RAY} numpy"
        remedy = install if runner == "ray" else ""
        yield Finding("Ray", "not installed; only the runner `ray` needs it", remedy)
        return
    yield Finding("Ray", version, "" if version == RAY else f"Merganser is tested with {RAY}: pip install ray=={RAY}")
    address = os.environ.get("RAY_ADDRESS", "")
    if address in ("", "local", "auto"):
        yield Finding("cluster", "none named (RAY_ADDRESS): the runner `ray` starts one on this machine")
    else:
        yield cluster(address)


def cluster(address: str) -> Finding:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_REACH).close()
    except (OSError, ValueError) as error:
        return Finding("cluster", f"{address} does not answer: {error}", "start it, or correct RAY_ADDRESS")
    return Finding("cluster", f"{address} answers")


def write_findings(findings: list[Finding]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        style = "bold red" if finding.remedy else "green"
        mark = Text("mend" if finding.remedy else "ok".ljust(4), style=style)
        console.print(mark, Text(f" {finding.what.ljust(width)}  {finding.found}"))
        if finding.remedy:
            console.print(Text(f"{' ' * (width + 8)}-> {finding.remedy}"))
