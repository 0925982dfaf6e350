"""The connection of this process to a Ray cluster, and its workers: one on each node that has CPUs."""

import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

# Nothing leaves the machine, and a lost node is noticed soon; where the user set something, that stays.
for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_enable_metrics_collection": "0"}.items():
    os.environ.setdefault(name, value)

import ray  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

from merganser.ray.failures import QueryFailure  # noqa: E402
from merganser.ray.worker import Options, Worker, sha_of  # noqa: E402

START_SECONDS = 120
END_SECONDS = 10
LONGEST_FOLDER = 30
OLD_AFTER_SECONDS = 24 * 60 * 60
# A node whose worker did not start is tried again after a pause, each time after one twice as long.
FIRST_PAUSE_SECONDS = 1
LONGEST_PAUSE_SECONDS = 300
# Ray places an actor on the node it is told only when it asks for some CPU.
SHARE_OF_CPU = 0.01
# For calls that end soon; tasks have as many as the node has CPUs.
MAX_THREADS = 8


@dataclass(frozen=True)
class Limits:
    """What a worker may take; settings merganser_worker_*."""

    directory: str = ""
    memory_limit: str = ""
    threads: int = 0
    max_spill_bytes: int = 0


@dataclass
class Member:
    """A worker as the driver knows it."""

    node: str
    host: str
    slots: int
    actor: Any
    folder: str = ""


class NotStarted(Exception):
    """A worker that may start another time."""


@dataclass
class Pause:
    """After `failures` starts of a worker that failed, one after the other, until when no other is tried."""

    failures: int = 0
    until: float = 0

    def grow(self) -> None:
        self.until = time.monotonic() + min(FIRST_PAUSE_SECONDS * 2**self.failures, LONGEST_PAUSE_SECONDS)
        self.failures += 1


class Cluster:
    """`worker_class` is Worker or a class that extends it."""

    def __init__(self, address: str | None, slots: int | None, extension: Path, worker_class: type = Worker) -> None:
        self.address = address or os.environ.get("RAY_ADDRESS") or "local"
        self.extension_path = extension
        self.worker_class = worker_class
        self.lock = threading.Lock()
        self.members: dict[Limits, dict[str, Member]] = {}
        #: Of nodes whose worker did not start.
        self.pauses: dict[tuple[Limits, str], Pause] = {}
        self.own_folder: str | None = None
        self.started_ray = not ray.is_initialized()
        if self.started_ray:
            self.start_ray(self.address, slots)
        ray.cloudpickle.register_pickle_by_value(sys.modules[__package__])
        data = extension.read_bytes()
        self.extension_sha = sha_of(data)
        self.extension = ray.put(data)
        self.addresses = {self.address, ray.get_runtime_context().gcs_address}
        self.platform = duckdb.execute("PRAGMA platform").fetchone()[0]

    def start_ray(self, address: str, slots: int | None) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address != "local":
            ray.init(address=address, **quiet)
            return
        self.own_folder = tempfile.mkdtemp(prefix="mgs-", dir=short_folder())
        ray.init(
            address="local",
            num_cpus=slots or os.cpu_count(),
            include_dashboard=False,
            _temp_dir=self.own_folder,
            **quiet,
        )

    def close(self) -> None:
        """Ends all workers, and Ray if this process started it."""
        with self.lock:
            members = [member for of_limits in self.members.values() for member in of_limits.values()]
            self.members.clear()
        ends = [member.actor.end.remote() for member in members]
        if ends:
            ray.wait(ends, num_returns=len(ends), timeout=END_SECONDS)
        for member in members:
            ray.kill(member.actor)
        if self.started_ray:
            ray.shutdown()
        if self.own_folder:
            shutil.rmtree(self.own_folder, ignore_errors=True)

    # ---------------------------------------------------------------- workers

    def workers(self, limits: Limits) -> list[Member]:
        """A worker on every node that is alive and has CPUs; starts those that are missing.

        A node whose worker does not start is left out for a while, as long as there are others.
        """
        with self.lock:
            members = self.members.setdefault(limits, {})
            nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
            for node in [node for node in members if node not in nodes]:
                del members[node]
            missing = [
                node for name, node in nodes.items() if name not in members and node["Resources"].get("CPU", 0) > 0
            ]
            due = [node for node in missing if not members or self.is_due(limits, node["NodeID"])]
            failures = self.start_workers(due, limits, members)
            if not members:
                why = failures[0] if failures else f"no node of the Ray cluster {self.address} has CPUs"
                raise QueryFailure("IO", why)
            return list(members.values())

    def is_due(self, limits: Limits, node: str) -> bool:
        pause = self.pauses.get((limits, node))
        return pause is None or time.monotonic() >= pause.until

    def start_workers(self, nodes: list[dict[str, Any]], limits: Limits, members: dict[str, Member]) -> list[str]:
        """Adds those that start; returns why others did not."""
        failures = []
        for member in [self.start_worker(node, limits) for node in nodes]:
            try:
                member.folder = self.checked(member)
            except NotStarted as error:
                failures.append(str(error))
                self.pauses.setdefault((limits, member.node), Pause()).grow()
            else:
                self.pauses.pop((limits, member.node), None)
                members[member.node] = member
        return failures

    def forget(self, member: Member) -> None:
        """Its worker has died and does not come back: another one is started when there is a need."""
        with self.lock:
            for limits, members in self.members.items():
                if members.get(member.node) is member:
                    del members[member.node]
                    self.pauses.setdefault((limits, member.node), Pause()).grow()

    def start_worker(self, node: dict[str, Any], limits: Limits) -> Member:
        cpus = max(int(node["Resources"]["CPU"]), 1)
        options = Options(
            node=node["NodeID"],
            cpus=cpus,
            directory=limits.directory,
            memory_limit=limits.memory_limit or f"{int(node['Resources']['memory'])}B",
            threads=limits.threads,
            max_spill_bytes=limits.max_spill_bytes,
            max_age_seconds=OLD_AFTER_SECONDS,
            duckdb=duckdb.__version__,
            platform=self.platform,
            extension_path=str(self.extension_path),
            extension_sha=self.extension_sha,
        )
        groups = {"tasks": cpus, "control": MAX_THREADS, "files": MAX_THREADS}
        actor = (
            ray.remote(concurrency_groups=groups)(self.worker_class)
            .options(
                num_cpus=SHARE_OF_CPU,
                max_restarts=-1,
                max_task_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
            )
            .remote(options)
        )
        return Member(node["NodeID"], node["NodeManagerHostname"], cpus, actor)

    def checked(self, member: Member) -> str:
        try:
            return ray.get(self.check(member), timeout=START_SECONDS)
        except ray.exceptions.GetTimeoutError:
            ray.kill(member.actor)
            raise NotStarted(f"the worker on {member.host} did not start in {START_SECONDS} s") from None
        except ray.exceptions.RayTaskError as error:
            ray.kill(member.actor)
            raise QueryFailure("Invalid Input", f"{error.cause}") from None
        except ray.exceptions.RayActorError as error:
            raise NotStarted(f"the worker on {member.host} did not start: {error}") from None

    def check(self, member: Member) -> Any:
        return member.actor.check.remote([self.extension])

    def living_nodes(self) -> set[str]:
        return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


def short_folder() -> str | None:
    """Where Ray may have sockets, whose names are at most 107 bytes long; none for the usual temporary folder."""
    return None if len(tempfile.gettempdir()) <= LONGEST_FOLDER else "/tmp"
