"""Tell what of Merganser breaks with another version of DuckDB: a newer one that appeared, or an older one.

usage: compare_duckdb.py <version> [--only PART_OF_A_FILE_NAME]

Three answers, each from what DuckDB publishes for that version. Exits with 3 where there is something.

functions  which functions that the extension calls the module in DuckDB's wheel does not have. None missing does not
           mean that it fits: classes may lie otherwise in memory, and only compiling sees that.
errors     what the compiler says about our sources with that version's headers, file by file: minutes of CPU
           time. Nothing is linked or run.
headers    how many of the headers that our sources read differ, as what compiles may still mean something else.

Needs `make build`; the sources of that version are kept in the cache, see fetch_duckdb_source.py.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from built_once import ROOT
from fetch_duckdb_source import cache_directory, download, duckdb_source
from unbind_from_module import SharedObject

BUILD = ROOT / "build" / "release"
PRECOMPILED = ROOT / "src" / "precompiled.hpp"
DIFFERENT = 3


def missing_functions(version: str, folder: Path) -> list[str]:
    options = ["--quiet", "--no-deps", "--only-binary", "duckdb", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, f"duckdb=={version}"], check=True)
    (wheel,) = folder.glob("duckdb-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (module,) = (name for name in archive.namelist() if re.fullmatch(r"_duckdb\.[^/]*\.so", name))
        offered = SharedObject(archive.read(module)).defined()
    wanted = SharedObject((BUILD / "merganser_unbound.so").read_bytes()).marked()
    missing = "\n".join(sorted(wanted - offered))
    shown = subprocess.run(["c++filt"], input=missing, capture_output=True, text=True, check=True).stdout
    return shown.splitlines()


class Compiler:
    """Compiles our sources with the headers of another DuckDB, for what the compiler says."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self.sources = sources
        self.precompiled = folder / PRECOMPILED.name
        self.commands = {
            Path(entry["file"]): entry["command"]
            for entry in json.loads((BUILD / "compile_commands.json").read_text())
            if Path(entry["file"]).is_relative_to(ROOT / "src") and entry["file"].endswith(".cpp")
        }
        self.precompile()

    def flags(self, file: Path) -> list[str]:
        words = shlex.split(self.commands[file].replace(str(duckdb_source()), str(self.sources)))
        for option in ("-include", "-o", "-c"):
            del words[words.index(option) : words.index(option) + 2]
        return [*words, "-w", "-fno-diagnostics-show-caret", "-fmax-errors=20"]

    def precompile(self) -> None:
        flags = self.flags(next(iter(self.commands)))
        made = ["-x", "c++-header", PRECOMPILED, "-o", f"{self.precompiled}.gch"]
        subprocess.run([*flags, *made], check=True)

    def errors(self, file: Path) -> list[str]:
        command = [*self.flags(file), "-fsyntax-only", "-include", self.precompiled, file]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.findall(r"^(\S+:\d+):\d+: (?:fatal )?error: (.*)$", finished.stderr, re.MULTILINE)
        if finished.returncode and not found:
            raise SystemExit(finished.stderr)
        return [f"{os.path.relpath(place, ROOT)}: {text}" for place, text in found]


def different_headers(other: Path) -> list[str]:
    """Of the headers that the build has read, in `ninja`'s words: those that are not there, or not the same."""
    tools = Path(sys.executable).parent
    read = subprocess.run([tools / "ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True)
    ours = str(duckdb_source())
    headers = {line.strip() for line in read.stdout.splitlines() if line.strip().startswith(ours)}
    relative = sorted(os.path.relpath(header, ours) for header in headers)
    return [
        header
        for header in relative
        if not (other / header).exists() or (other / header).read_bytes() != Path(ours, header).read_bytes()
    ]


def tell(what: str, lines: list[str]) -> None:
    print(f"{what}: {len(lines) or 'nothing'}", *lines, sep="\n  ", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--only", default="", help="compile only the files whose path contains this")
    arguments = parser.parse_args()
    sources = cache_directory() / f"duckdb-{arguments.version}"
    if not sources.exists():
        download(arguments.version, sources)
    sources = sources / "external" / "duckdb"

    with tempfile.TemporaryDirectory() as folder:
        missing = missing_functions(arguments.version, Path(folder))
        tell("functions that are missing", missing)
        headers = different_headers(sources)
        tell("headers that differ", headers)
        compiler = Compiler(sources, Path(folder))
        files = sorted(file for file in compiler.commands if arguments.only in str(file))
        broken = 0
        with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
            for file, errors in zip(files, pool.map(compiler.errors, files), strict=True):
                if errors:
                    broken += 1
                    tell(f"errors in {file.relative_to(ROOT)}", errors)
    print(f"files of {len(files)} that do not compile: {broken}")
    if missing or headers or broken:
        raise SystemExit(DIFFERENT)


if __name__ == "__main__":
    main()
