"""`merganser.connect(runner="ray", address="local")`: a cluster of this process, which ends with it."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ray_cluster import HANGS_SECONDS, private_folder

pytestmark = pytest.mark.ray

PROGRAM = """
import merganser, os
from pathlib import Path

def listening():
    # The addresses, as Linux writes them, on which this process and those it started listen.
    parents, sockets, found = {}, {}, set()
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A":
                sockets[f"socket:[{parts[9]}]"] = parts[1].partition(":")[0]
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and (process / "stat").exists():
            parents[process.name] = (process / "stat").read_text().rpartition(")")[2].split()[1]
    own = {str(os.getpid())}
    while more := {name for name, parent in parents.items() if parent in own} - own:
        own |= more
    for name in own:
        for file in Path("/proc", name, "fd").iterdir():
            if file.is_symlink():
                found.add(sockets.get(os.readlink(file)))
    return sorted(found - {None})

connection = merganser.connect(runner="ray", address="local", slots=2)
import ray
from merganser.ray import cluster
cluster.END_SECONDS = 600  # workers have the time to remove what they have, however slow the machine
print(ray._private.worker._global_node.get_session_dir_path())
connection.execute("SET merganser_distribute_min_bytes = 0")
connection.execute(f"COPY (SELECT i FROM range(1000) r(i)) TO 'rows.parquet'")
print(connection.execute("SELECT i % 2 AS g, count(*) FROM 'rows.parquet' GROUP BY g ORDER BY g").fetchall())
print(merganser.last_query()["runner"])
print(listening())
"""

LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.fixture
def folder() -> Iterator[Path]:
    with private_folder() as path:
        yield path


def test_it_starts_and_leaves_nothing(folder):
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("RAY_TMPDIR", None)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANGS_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    ray_folder, rows, runner, listening = ended.stdout.splitlines()
    assert (rows, runner) == ("[(0, 500), (1, 500)]", "ray")
    assert ast.literal_eval(listening) and set(ast.literal_eval(listening)) <= LOOPBACK
    assert not Path(ray_folder).exists()
    assert [path.name for path in folder.iterdir()] == ["rows.parquet"]
