"""A worker that fails where a test says so, exactly as often as it says.

A fault is a file `<action>-<stage>-<task>-<number>` in the folder of faults; the worker that removes it does what it
says, so each happens once, whichever process meets it first.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

import ray
from merganser.ray.worker import Outcome, Task, Worker

BEFORE = ("kill", "raise", "wait")
AFTER = ("truncate", "damage", "remove")


class FaultyWorker(Worker):
    def __init__(self, options) -> None:
        super().__init__(options)
        for fault in faults_folder(self).glob("start-*"):
            with contextlib.suppress(FileNotFoundError):  # another worker was first
                fault.unlink()
                raise RuntimeError("a start the test asked to fail")

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
