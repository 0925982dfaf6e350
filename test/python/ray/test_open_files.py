"""A node on which no more files can be opened: its tasks fail with the limit, and no file is taken for a lost one."""

import subprocess
import sys

import pytest
from ray_cluster import HANGS_SECONDS

pytestmark = pytest.mark.ray

# A worker without Ray, in a process that has as many files open as it may.
FULL = """
import os, resource, sys, threading
from pathlib import Path
import duckdb, merganser
from merganser.ray.worker import ExchangeFile, Task, Worker

class Here(Worker):
    def __init__(self, folder):
        self.host, self.path, self.lock, self.fetching = "here", Path(folder), threading.Lock(), {}
        self.cancelled = set()

worker = Here(sys.argv[1])
path = f"{sys.argv[1]}/file"
connection = merganser.connect()
connection.execute(f"COPY (FROM range(10)) TO '{path}' (FORMAT merganser_exchange)")
worker.query_folder("q").joinpath("fetched").mkdir(parents=True)
task = Task(query="q", stage=1, task=0, attempt=0, sql=[], inputs={}, target="", partitions=1, settings={},
            extensions=[], secrets=(), databases=[], lists={}, max_exchange_bytes=0, fetch=True, marker=None)
read, fetch = (lambda: Worker.read(worker, path, 0, 1)), (lambda: worker.fetch(task, ExchangeFile(path, 1, 1)))
scan = lambda: connection.execute(f"FROM merganser_exchange(['{path}'])")
other = lambda: connection.execute(f"FROM read_csv('{path}')")
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
taken = []
while len(taken) < 200:
    try:
        taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        break
for call in (scan, other, read, fetch):
    try:
        call()
        outcome = "nothing happened"
    except Exception as error:
        outcome = worker.failure(error, {path: path})
    for file in taken[:10]:  # what is told needs some
        os.close(file)
    print(outcome.lost, " ".join(outcome.error.split()))
    taken[:10] = [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]
"""


def test_no_room_for_a_file_is_an_error_with_the_limit(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True, timeout=HANGS_SECONDS
    ).stdout.splitlines()
    assert len(told) == 4
    for line in told:
        lost, error = line[:2], line[3:]
        assert lost == "[]", line
        assert error.startswith("IO Error: ") and "Too many open files" in error
        assert "may have 100 files open at a time (ulimit -n): raise that limit" in error
        assert error.count("ulimit -n") == 1
