"""What the extension calls for a query with `SET merganser_runner = 'ray'`: a thread of its own for each."""

import _thread
import atexit
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import ray

from merganser import native
from merganser.ray.cluster import Cluster
from merganser.ray.failures import QueryFailure, with_open_file_limit
from merganser.ray.head import HeadWatch
from merganser.ray.plan import Decision, read_decision, read_plan
from merganser.ray.query import Cancelled, Query
from merganser.ray.threads import start_thread
from merganser.ray.worker import Worker

NAME = "ray"
END_SECONDS = 30
WATCH_SECONDS = 0.05
IN_DUCKDB = "SET merganser_runner = '' runs queries in DuckDB alone"
LEFT = f'merganser.ray.shutdown() was called: call merganser.connect(runner="ray", ...) again, or {IN_DUCKDB}'
NO_RAY = (
    'Ray does not run in this process any more: call ray.init(...), or merganser.connect(runner="ray", address=...) '
    f"again, or {IN_DUCKDB}"
)
RAY_ENDED = "Ray was shut down while the query ran"
FORKED = (
    "this process was forked from one that uses Ray, whose connection does not come along: start processes with "
    f"multiprocessing.get_context('spawn'), or {IN_DUCKDB}"
)


class Runner:
    """The queries of this process, on the cluster it is connected to."""

    def __init__(self, cluster: Cluster, extension: Path) -> None:
        self.cluster = cluster
        self.extension = extension
        self.process = os.getpid()
        self.ending = False
        self.joining = threading.Lock()
        self.threads: set[threading.Thread] = set()
        self.lock = threading.Lock()
        #: The numbers of queries that run.
        self.running: set[int] = set()
        self.watcher: threading.Thread | None = None
        self.head = self.watch_head(cluster)
        native.register_runner(extension, NAME, self.submit)

    def submit(self, document: bytes, number: int) -> None:
        """Called by the extension. What is raised here would be lost, so it becomes the query's error."""
        try:
            if self.is_forked():
                raise QueryFailure("IO", FORKED)
            start_thread(f"merganser-query-{number}", self.run, document, number)
        except KeyboardInterrupt:
            self.end(number, QueryFailure("Interrupt", "Interrupted!"))
            _thread.interrupt_main()
        except BaseException as error:  # noqa: BLE001
            self.end(number, error)

    def is_forked(self) -> bool:
        """The threads and sockets of Ray, and its workers, are those of the parent."""
        return os.getpid() != self.process

    def run(self, document: bytes, number: int) -> None:
        query = None
        outcome: dict[str, Any] = {}
        self.threads.add(threading.current_thread())
        try:
            self.watch(number)
            cluster = self.connected()
            query = Query(cluster, read_plan(json.loads(document)), Session(self, number))
            outcome["files"] = query.run()
        except BaseException as error:  # noqa: BLE001 - the session is told
            ended = query is not None and not query.cluster.is_connected() and not isinstance(error, Cancelled)
            outcome["error"] = error_of(QueryFailure("IO", RAY_ENDED) if ended else error)
        finally:
            if query is not None:
                outcome["report"] = query.report()
            with self.lock:
                self.running.discard(number)
            self.threads.discard(threading.current_thread())
            native.query_ended(self.extension, number, outcome)

    def connected(self) -> Cluster:
        """The cluster of this process: another one where the user has ended Ray and initialised it again."""
        with self.joining:  # the others need the same
            if self.ending:
                raise QueryFailure("IO", LEFT)
            if not self.cluster.is_connected():
                if not ray.is_initialized():
                    raise QueryFailure("IO", head_gone(self.cluster) if self.cluster.head_is_gone else NO_RAY)
                left = self.cluster
                self.cluster = Cluster(None, None, self.extension, left.worker_class)
                self.head.end()
                self.head = self.watch_head(self.cluster)
                left.close()
            if self.cluster.head_is_gone:
                raise QueryFailure("IO", head_gone(self.cluster))
            return self.cluster

    def watch_head(self, cluster: Cluster) -> HeadWatch:
        return HeadWatch(cluster.gcs_address, lambda: self.take_leave(cluster))

    def take_leave(self, cluster: Cluster) -> None:
        """The head has gone, and calls of Ray do not come back: the sessions are told, and Ray, which would end this
        process, is left if merganser has joined it."""
        cluster.head_is_gone = True
        with self.lock:
            numbers = list(self.running)
        for number in numbers:
            self.end(number, QueryFailure("IO", head_gone(cluster)))
        if cluster.started_ray and cluster.is_connected():
            ray.shutdown()

    def watch(self, number: int) -> None:
        """From now on an interrupt, or the end of max_execution_time, is seen, whatever the driver waits for."""
        with self.lock:
            self.running.add(number)
            if self.watcher is None:
                self.watcher = start_thread("merganser-interrupts", self.watch_all)

    def watch_all(self) -> None:
        while True:
            with self.lock:
                if not self.running:
                    self.watcher = None
                    return
                numbers = list(self.running)
            for number in numbers:
                native.query_is_cancelled(self.extension, number)  # tells the session, if so
            time.sleep(WATCH_SECONDS)

    def is_cancelled(self, number: int) -> bool:
        return self.ending or native.query_is_cancelled(self.extension, number)

    def end(self, number: int, error: BaseException) -> None:
        native.query_ended(self.extension, number, {"error": error_of(error)})

    def close(self) -> None:
        self.ending = True
        self.head.end()
        for thread in list(self.threads):
            if not self.cluster.head_is_gone:  # its calls of Ray do not come back
                thread.join(END_SECONDS)
        self.cluster.close()


class Session:
    """What the driver of a query asks the extension."""

    def __init__(self, runner: Runner, number: int) -> None:
        self.runner = runner
        self.number = number

    def is_cancelled(self) -> bool:
        return self.runner.is_cancelled(self.number)

    def secrets(self) -> list[dict[str, str]]:
        return native.query_secrets(self.runner.extension, self.number)

    def stage_ended(self, stage: int, partition_bytes: list[int]) -> None:
        native.stage_ended(self.runner.extension, self.number, stage, partition_bytes)

    def decide(self, stage: int) -> Decision:
        document = native.stage_tasks(self.runner.extension, self.number, stage)
        if document is None:
            raise Cancelled
        if "error" in document:
            raise QueryFailure("Invalid Input", document["error"])
        return read_decision(document)


def head_gone(cluster: Cluster) -> str:
    return (
        f"the head of the Ray cluster at {cluster.gcs_address} does not answer any more: when it does, call "
        f'merganser.connect(runner="ray", address=...) again, or {IN_DUCKDB}'
    )


def error_of(error: BaseException) -> dict[str, str]:
    if isinstance(error, QueryFailure):
        return {"type": error.kind, "message": error.message}
    if isinstance(error, Cancelled):
        return {"type": "Interrupt", "message": "Interrupted!"}
    text = with_open_file_limit(error, os.uname().nodename)
    return {"type": "IO", "message": f"the Ray runner failed: {type(error).__name__}: {text}"}


_lock = threading.Lock()
_runner: Runner | None = None


def use(
    connection: duckdb.DuckDBPyConnection,
    extension: Path,
    address: str | None = None,
    slots: int | None = None,
    worker_class: type = Worker,
) -> None:
    """Runs the queries of the connection's database on the cluster at `address`, which this process joins once."""
    global _runner
    with _lock:
        if _runner is not None and _runner.is_forked():
            raise ConnectionError(FORKED)
        if _runner is not None and not _runner.cluster.is_connected() and not ray.is_initialized():
            _runner.close()  # the user has ended Ray
            _runner = None
        if _runner is None:
            _runner = runner_of(Cluster(address, slots, extension, worker_class), extension)
        else:
            try:
                cluster = _runner.connected()
            except QueryFailure as error:
                raise ConnectionError(error.message) from None
            cluster.require(address)
    connection.execute(f"SET GLOBAL merganser_runner = '{NAME}'")


def runner_of(cluster: Cluster, extension: Path) -> Runner:
    try:
        return Runner(cluster, extension)
    except BaseException:
        cluster.close()
        raise


def shutdown() -> None:
    """Ends running queries, the workers, and Ray if merganser started it. Also done when the process ends."""
    global _runner
    with _lock:
        if _runner is not None and not _runner.is_forked():
            _runner.close()
            _runner = None


atexit.register(shutdown)
