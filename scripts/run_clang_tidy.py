"""Run clang-tidy over the C++ sources, many files at a time.

usage: run_clang_tidy.py <build folder> FOLDER ...

To parse DuckDB's headers takes seconds, to check a file of ours a fraction of one. So the files of a folder are checked
as one, which includes them all. Two of them may each have something local of the same name, which is an error in the
second: the files with errors are taken out, and both parts are checked again. Limit: a check that looks only at the
file named on clang-tidy's command line sees nothing this way.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from built_once import ROOT

MOST_FILES = 20
ERROR = re.compile(r"^(/\S+?):\d+:\d+: error: .*\[clang-diagnostic-error\]$", re.MULTILINE)
OPTIONS = ["-quiet", "-checks=-bugprone-suspicious-include"]  # the one file includes the others
# those of the compiler that builds: its precompiled header, its warnings
OPTIONS += ["-extra-arg=-Wno-ignored-gch", "-extra-arg=-Wno-everything"]


def groups_of(build: Path, folders: list[Path]) -> list[tuple[list[str], list[Path]]]:
    """Files that lie in one folder and are compiled in the same way, and how."""
    groups = defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        if any(file.is_relative_to(folder) for folder in folders):
            command = shlex.split(entry["command"])
            del command[command.index("-o") :]
            groups[(file.parent, *command)].append(file)
    result = []
    for (_, *command), files in groups.items():
        parts = -(-len(files) // MOST_FILES)
        result += [(command, sorted(files)[part::parts]) for part in range(parts)]
    return sorted(result, key=lambda group: -len(group[1]))


def check(build: Path, command: list[str], files: list[Path]) -> str:
    """What clang-tidy reports, empty where it has nothing to say."""
    with tempfile.TemporaryDirectory() as folder:
        together = Path(folder) / "together.cpp"
        together.write_text("".join(f'#include "{file}"\n' for file in files))
        entry = {"directory": str(build), "file": str(together), "arguments": [*command, "-c", str(together)]}
        (Path(folder) / "compile_commands.json").write_text(json.dumps([entry]))
        tidy = [Path(sys.executable).parent / "clang-tidy", *OPTIONS, f"-config-file={ROOT / '.clang-tidy'}"]
        done = subprocess.run([*tidy, "-p", folder, together], capture_output=True, text=True, check=False)
    broken = {Path(path) for path in ERROR.findall(done.stdout)}
    later = [file for file in files if file in broken]
    if later and len(files) > 1:
        earlier = [file for file in files if file not in broken] or later[:1]
        return check(build, command, earlier) + check(build, command, [file for file in files if file not in earlier])
    return done.stdout or (done.stderr if done.returncode else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    groups = groups_of(build, [folder.resolve() for folder in arguments.folders])
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        reports = list(threads.map(lambda group: check(build, *group), groups))
    print("\n".join(filter(None, reports)), end="")
    print(f"clang-tidy: {sum(len(files) for _, files in groups)} files, {sum(map(bool, reports))} groups with findings")
    return 1 if any(reports) else 0


if __name__ == "__main__":
    sys.exit(main())
