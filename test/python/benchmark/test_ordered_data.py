"""The benchmark of ordered windows runs, and ends with its figures as JSON."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "benchmark" / "ordered_data.py"


def test_every_case_has_equal_rows_and_figures():
    arguments = ["--rows", "20000", "--devices", "400", "--regions", "3", "--rounds", "1"]
    run = subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, check=True)
    figures = json.loads(run.stdout.splitlines()[-1])
    assert len(figures["cpu_ns_per_row"]) == 14 + 18
    assert all(set(case) == {"ours", "duckdb"} for case in figures["cpu_ns_per_row"].values())
