"""Pack an extension that is built already into a wheel, and tag it with the oldest Linux it runs on.

usage: build_wheel.py <merganser.duckdb_extension> <folder>

The extension uses nothing of Python, so the wheel is for every Python 3. auditwheel reads which versions of the C and
C++ libraries it needs, and names the platform by that: `manylinux_2_34` means glibc 2.34 and newer. What is built in
the image manylinux_2_28 (.github/workflows/release.yml) gets that tag.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from built_once import ROOT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extension", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    extension, wheels = arguments.extension.resolve(strict=True), arguments.folder.resolve()

    tools = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:

        def run(*command: str | Path) -> None:
            subprocess.run(command, check=True, env={**os.environ, "PATH": tools}, timeout=600)

        prebuilt = ["--config-settings", f"cmake.define.MERGANSER_PREBUILT={extension}"]
        options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
        run(sys.executable, "-m", "pip", "wheel", *options, *prebuilt, ROOT)
        (wheel,) = Path(folder).glob("*.whl")
        for older in wheels.glob("merganser-*.whl"):
            older.unlink()
        run("auditwheel", "repair", "--wheel-dir", wheels, wheel)
    (tagged,) = wheels.glob("merganser-*.whl")
    print(tagged)


if __name__ == "__main__":
    main()
