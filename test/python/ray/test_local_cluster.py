"""`merganser.connect(runner="ray", address="local")`: a cluster of this process, which ends with it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray_cluster import private_folder

pytestmark = pytest.mark.ray

PROGRAM = """
import merganser
connection = merganser.connect(runner="ray", address="local", slots=2)
import ray
print(ray._private.worker._global_node.get_session_dir_path())
connection.execute("SET merganser_distribute_min_bytes = 0")
connection.execute(f"COPY (SELECT i FROM range(1000) r(i)) TO 'rows.parquet'")
print(connection.execute("SELECT i % 2 AS g, count(*) FROM 'rows.parquet' GROUP BY g ORDER BY g").fetchall())
print(merganser.last_query()["runner"])
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with private_folder() as path:
        yield path


def test_it_starts_and_leaves_nothing(folder):
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("RAY_TMPDIR", None)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    ray_folder, rows, runner = ended.stdout.splitlines()
    assert (rows, runner) == ("[(0, 500), (1, 500)]", "ray")
    assert not Path(ray_folder).exists()
    assert [path.name for path in folder.iterdir()] == ["rows.parquet"]
