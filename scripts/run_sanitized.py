"""Run tests with the extension built for sanitizers.

usage: run_sanitized.py <build folder> address|thread

address: the whole fast lane, for the address and undefined-behaviour sanitizers. thread: the tests in which several
threads of ours, or of DuckDB in our operators, meet: the C++ tests and those of the rooms in THREADED.

Python and DuckDB's module are not instrumented, so the sanitizers' libraries are loaded ahead of them, and containers
that cross the border cannot be checked for overflow. Leaks count where our code is on the allocation's stack: the
others are not ours to mend, and a suppression by module would hide ours too, because Python is below every stack. A
race counts where our code is on one of its stacks. What DuckDB orders by atomics inside its module is not seen, so a
finding about what its scheduler handed from one thread to another has to be read before it is believed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from built_once import ROOT

OURS = re.compile(r"merganser(_test)?\.(so|duckdb_extension)|merganser::")
#: Rooms whose tests run several threads of ours, or several of DuckDB's in an operator of ours.
THREADED = ["exchange", "grouping", "stages", "table_functions"]


def findings_of_address(report: str) -> list[str]:
    """The parts of a sanitizer's log that concern us: every error, and every leak with our code on its stack."""
    paragraphs = report.split("\n\n")
    leaks = [part for part in paragraphs if re.match(r"(Direct|Indirect) leak", part.lstrip()) and OURS.search(part)]
    errors = [report] if "ERROR: AddressSanitizer" in report or "runtime error:" in report else []
    return errors or leaks


def findings_of_thread(report: str) -> list[str]:
    warnings = re.split(r"(?m)^=+$", report)
    return [text.strip() for text in warnings if "WARNING: ThreadSanitizer" in text and OURS.search(text)]


@dataclass
class Lane:
    libraries: tuple[str, ...]
    options: dict[str, str]
    findings: Callable[[str], list[str]]
    tests: list[str]
    #: Before each command.
    wrapper: tuple[str, ...] = ()


LANES = {
    "address": Lane(
        ("libasan.so", "libubsan.so"),
        {
            "ASAN_OPTIONS": "detect_container_overflow=0:log_path={log}:malloc_context_size=50",
            "LSAN_OPTIONS": "exitcode=0",
            "UBSAN_OPTIONS": "print_stacktrace=1:log_path={log}",
        },
        findings_of_address,
        [],
    ),
    "thread": Lane(
        ("libtsan.so",),
        {"TSAN_OPTIONS": "log_path={log}:exitcode=0:report_signal_unsafe=0:history_size=4"},
        findings_of_thread,
        [f"test/python/{room}" for room in THREADED] + [f"test/sql/{room}" for room in THREADED],
        # its shadow memory does not go with addresses at random
        ("setarch", "--addr-no-randomize"),
    ),
}


def environment(lane: Lane, build: Path, log: Path) -> dict[str, str]:
    libraries = [
        subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in (*lane.libraries, "libstdc++.so")
    ]
    return (
        os.environ
        | {name: text.format(log=log) for name, text in lane.options.items()}
        | {"LD_PRELOAD": " ".join(libraries), "MERGANSER_EXTENSION": str(build / "merganser.duckdb_extension")}
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("lane", choices=LANES)
    parser.add_argument("tests", nargs="*", help="instead of the lane's own: folders, files or options of pytest")
    arguments = parser.parse_args()
    build, lane = arguments.build.resolve(), LANES[arguments.lane]
    commands = [
        [*lane.wrapper, sys.executable, "test/cpp/run.py", str(build / "merganser_test.so")],
        [*lane.wrapper, sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider"]
        + (arguments.tests or lane.tests),
    ]
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(lane, build, Path(folder) / "report")
        codes = [subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode for command in commands]
        found = [text for path in sorted(Path(folder).iterdir()) for text in lane.findings(path.read_text())]
    print("\n\n".join(found), file=sys.stderr)
    print(f"{arguments.lane} sanitizer: {len(found)} findings")
    return 1 if found or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
