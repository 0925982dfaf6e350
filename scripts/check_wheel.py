"""Build the wheel from this checkout as `pip install .` does, and use it in an empty virtual environment."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from built_once import ROOT

USE = """
import merganser
assert "site-packages" in merganser.__file__, merganser.__file__
settings = "SELECT count(*) > 0 FROM duckdb_settings() WHERE name LIKE 'merganser_%'"
print(merganser.connect().execute(settings).fetchall())
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MERGANSER_EXT"))
        }

        def run(*command: str | Path) -> str:
            return subprocess.run(
                command, check=True, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True, timeout=1200
            ).stdout

        environment = Path(folder) / "environment"
        run(sys.executable, "-m", "venv", environment)
        run(environment / "bin" / "pip", "install", "--quiet", ROOT)
        assert run(environment / "bin" / "python", "-c", USE) == "[(True,)]\n"
        assert "42" in run(environment / "bin" / "merganser", "sql", "SELECT 42 AS answer")
        run(environment / "bin" / "merganser", "report", "SELECT 42 AS answer")
        assert "</html>" in (Path(folder) / "report.html").read_text()
    print("the wheel installs into an empty environment, and connects")


if __name__ == "__main__":
    main()
