"""A worker that fails where a test says so, exactly as often as it says.

A fault is a file `<action>-<stage>-<task>-<number>` in the folder of faults; the worker that removes it does what it
says, so each happens once, whichever process meets it first.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import ray
from merganser.ray.worker import LostFiles, Marker, Outcome, Task, Worker

BEFORE = ("kill", "raise", "refuse", "wait")
AFTER = ("truncate", "damage", "remove")


class FaultyWorker(Worker):
    def __init__(self, options) -> None:
        super().__init__(options)
        for fault in faults_folder(self).glob("start-*"):
            with contextlib.suppress(FileNotFoundError):  # another worker was first
                fault.unlink()
                raise RuntimeError("a start the test asked to fail")
        self.without = self.takes_once("without")
        self.blind = self.takes_once("blind")
        self.read_only = self.takes_once("readonly")

    @ray.method(concurrency_group="control")
    def check(self, extension, marker):
        while (faults_folder(self) / f"hang-{self.options.node}").exists():
            time.sleep(0.01)
        return super().check(extension, marker)

    def require_fit(self) -> None:
        """Where a test asks for it, on a node where duckdb is not installed, or another version of it."""
        if self.without:
            sys.path.insert(0, str(faults_folder(self).parent / "other_duckdb"))
            for name in [name for name in sys.modules if name.partition(".")[0] == "duckdb"]:
                del sys.modules[name]
        super().require_fit()

    def why_not_shared(self, marker) -> str:
        """Where a test asks for it, as on a node that has not mounted the folder, or for reading only."""
        if self.blind and marker:
            marker = Marker(str(faults_folder(self) / "nowhere" / "driver"), marker.text)
        if self.read_only and marker:
            marker = Marker("/proc/version", Path("/proc/version").read_text())
        return super().why_not_shared(marker)

    def inputs(self, task: Task, local_paths: dict) -> dict:
        if self.takes("unmount", task):
            self.blind = True
        if self.blind:
            raise LostFiles([file.path for files in task.inputs.values() for file in files])
        return super().inputs(task, local_paths)

    def takes_once(self, fault: str) -> bool:
        for path in faults_folder(self).glob(f"{fault}-*"):
            with contextlib.suppress(FileNotFoundError):  # another worker was first
                path.unlink()
                return True
        return False

    @ray.method(concurrency_group="tasks")
    def run(self, task: Task) -> Outcome:
        with open(faults_folder(self) / "log", "a") as log:
            log.write(f"{task.query} {task.stage} {task.task} {task.attempt}\n")
        for action in BEFORE:
            if self.takes(action, task):
                getattr(self, action)(task)
        outcome = super().run(task)
        for action in AFTER:
            if self.takes(action, task):
                getattr(self, action)(task)
        return outcome

    def configuration(self) -> dict:
        return {**super().configuration(), "allow_unredacted_secrets": "true"}

    def prepare(self, cursor, task: Task) -> None:
        """Where a test asks for it, changes an attached database, or tells what secrets the task has."""
        super().prepare(cursor, task)
        if self.takes("pause", task):
            self.wait(task)
        if self.takes("change", task):
            os.utime(task.databases[0].path, (0, 0))
        told = faults_folder(self).parent / "secrets"
        if told.exists():
            secrets = cursor.execute(
                "SELECT name, storage, secret_string FROM duckdb_secrets(redact := false)"
            ).fetchall()
            with open(told, "a") as file:
                file.write(f"{task.stage} {task.task} {sorted(secrets)}\n")

    @ray.method(concurrency_group="control")
    def process(self) -> int:
        return os.getpid()

    @ray.method(concurrency_group="control")
    def busy(self) -> int:
        return len(self.running)

    def takes(self, action: str, task: Task) -> bool:
        for fault in faults_folder(self).glob(f"{action}-{task.stage}-{task.task}-*"):
            try:
                fault.unlink()
            except FileNotFoundError:  # another worker was first
                continue
            return True
        return False

    def kill(self, task: Task) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def raise_(self, task: Task) -> None:
        raise RuntimeError("a fault the test asked for")

    def refuse(self, task: Task) -> None:
        """The thread that watches the task."""
        start = threading.Thread.start

        def refuse_once(thread: threading.Thread) -> None:
            if thread.name != "merganser-watch":
                return start(thread)
            threading.Thread.start = start
            raise RuntimeError("can't start new thread")

        self.wait_until_idle()
        threading.Thread.start = refuse_once

    def wait_until_idle(self) -> None:
        while self.watcher is not None:
            time.sleep(0.01)

    def wait(self, task: Task) -> None:
        """Until the driver cancels this attempt."""
        while task.key not in self.cancelled:
            time.sleep(0.01)

    def truncate(self, task: Task) -> None:
        os.truncate(task.target, os.path.getsize(task.target) // 2)

    def damage(self, task: Task) -> None:
        """Changes one byte of the first block; the size stays."""
        with open(task.target, "r+b") as file:
            file.seek(40)
            byte = file.read(1)
            file.seek(40)
            file.write(bytes([byte[0] ^ 0xFF]))

    def remove(self, task: Task) -> None:
        os.unlink(task.target)


setattr(FaultyWorker, "raise", FaultyWorker.raise_)


def faults_folder(worker: Worker) -> Path:
    return Path(worker.options.directory) / "faults"
