"""Install a wheel as users do, and use it: in an empty environment of each Python here, and below `pip --target`.

usage: check_wheel.py [<wheel>]

Without a wheel it is built from the sources first, in isolation, as `pip install .` does; that takes minutes. Nothing
but the environment's programs is on the path, so a compiler cannot be used.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from built_once import ROOT

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

USE = """
import merganser
assert "site-packages" in merganser.__file__, merganser.__file__
settings = "SELECT count(*) > 0 FROM duckdb_settings() WHERE name LIKE 'merganser_%'"
print(merganser.connect().execute(settings).fetchall())
"""


def interpreters() -> list[str]:
    """This Python, and the others on the path that start."""
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [f"python{version}" for version in PYTHONS if version != this]
    return [sys.executable, *(name for name in others if shutil.which(name) and starts(name))]


def starts(interpreter: str) -> bool:
    return subprocess.run([interpreter, "-c", "import venv"], check=False, capture_output=True).returncode == 0


def ten_lines() -> str:
    """The first example of README."""
    example = re.search(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return example[1]


class Check:
    """Commands in an empty folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MERGANSER", "RAY"))
        }

    def run(self, *command: str | Path, **variables: str) -> str:
        finished = subprocess.run(
            command,
            check=False,
            cwd=self.folder,
            env=self.variables | variables,
            capture_output=True,
            text=True,
            timeout=1200,
        )
        if finished.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    def environment(self, interpreter: str, wheel: str | Path) -> None:
        environment = self.folder / "environment"
        programs = environment / "bin"
        self.run(interpreter, "-m", "venv", "--clear", environment)
        self.run(programs / "pip", "install", "--quiet", wheel)
        self.variables["PATH"], path = str(programs), self.variables["PATH"]
        assert self.run(programs / "python", "-c", USE) == "[(True,)]\n"
        assert "applied: grouped by the key alone" in self.run(programs / "python", "-c", ten_lines())
        assert "42" in self.run(programs / "merganser", "sql", "SELECT 42 AS answer")
        self.run(programs / "merganser", "doctor")
        self.run(programs / "merganser", "report", "SELECT 42 AS answer")
        assert "</html>" in (self.folder / "report.html").read_text()
        self.variables["PATH"] = path
        print(f"{wheel} works in an empty environment of {self.run(programs / 'python', '--version').strip()}")

    def target(self, wheel: str | Path) -> None:
        """The packages lie in one folder, which is nobody's environment."""
        folder = self.folder / "site-packages"
        self.run(sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, wheel)
        assert self.run(sys.executable, "-S", "-c", USE, PYTHONPATH=str(folder)) == "[(True,)]\n"
        print(f"{wheel} works below pip --target")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, nargs="?")
    wheel = parser.parse_args().wheel
    with tempfile.TemporaryDirectory() as folder:
        check = Check(Path(folder))
        if wheel is None:
            check.run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
            (wheel,) = Path(folder).glob("*.whl")
        for interpreter in interpreters():
            check.environment(interpreter, wheel.resolve())
        check.target(wheel.resolve())


if __name__ == "__main__":
    main()
