"""Run the fast lane with the extension built for the address and undefined-behaviour sanitizers.

usage: run_sanitized.py <build folder>

Python and DuckDB's module are not instrumented, so the sanitizers' libraries are loaded ahead of them, and containers
that cross the border cannot be checked for overflow. Leaks count where our code is on the allocation's stack: the
others are not ours to mend, and a suppression by module would hide ours too, because Python is below every stack.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from built_once import ROOT

LIBRARIES = ("libasan.so", "libubsan.so", "libstdc++.so")
OURS = re.compile(r"merganser(_test)?\.(so|duckdb_extension)|merganser::")


def environment(build: Path, log: Path) -> dict[str, str]:
    libraries = [
        subprocess.run(["g++", f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout.strip()
        for name in LIBRARIES
    ]
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": f"detect_container_overflow=0:log_path={log}:malloc_context_size=50",
        "LSAN_OPTIONS": "exitcode=0",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
        "MERGANSER_EXTENSION": str(build / "merganser.duckdb_extension"),
    }


def findings(report: str) -> list[str]:
    """The parts of a sanitizer's log that concern us: every error, and every leak with our code on its stack."""
    paragraphs = report.split("\n\n")
    leaks = [part for part in paragraphs if re.match(r"(Direct|Indirect) leak", part.lstrip()) and OURS.search(part)]
    errors = [report] if "ERROR: AddressSanitizer" in report or "runtime error:" in report else []
    return errors or leaks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    build = parser.parse_args().build.resolve()
    commands = [
        [sys.executable, "test/cpp/run.py", str(build / "merganser_test.so")],
        [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider"],
    ]
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(build, Path(folder) / "report")
        codes = [subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode for command in commands]
        found = [text for path in sorted(Path(folder).iterdir()) for text in findings(path.read_text())]
    print("\n\n".join(found), file=sys.stderr)
    print(f"sanitizers: {len(found)} findings")
    return 1 if found or any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
