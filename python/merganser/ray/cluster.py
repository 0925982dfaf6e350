"""The connection of this process to a Ray cluster, and its workers: one on each node that has CPUs.

Nothing here waits for a worker: queries ask the workers they get whether they can run their tasks, and use those that
answer. So no lock is held while somebody waits.
"""

import os
import shutil
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

# Nothing leaves the machine, and a lost node is noticed soon; where the user set something, that stays.
for name, value in {"RAY_USAGE_STATS_ENABLED": "0", "RAY_enable_metrics_collection": "0"}.items():
    os.environ.setdefault(name, value)

import ray  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

from merganser.ray import calls, joining  # noqa: E402
from merganser.ray.failures import QueryFailure  # noqa: E402
from merganser.ray.worker import Marker, Options, Worker, sha_of  # noqa: E402

END_SECONDS = 10
# Of workers that may never have started.
END_OF_OTHERS_SECONDS = 5
# A node whose worker did not start is tried again after a pause, each time after one twice as long.
FIRST_PAUSE_SECONDS = 1
LONGEST_PAUSE_SECONDS = 300
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
    created: float = field(default_factory=time.monotonic)
    #: Known once it has answered.
    folder: str = ""

    @property
    def has_answered(self) -> bool:
        return bool(self.folder)

    @property
    def age(self) -> float:
        return time.monotonic() - self.created


@dataclass
class Pause:
    """After `failures` starts of a worker that failed, one after the other, until when no other is tried."""

    failures: int = 0
    until: float = 0

    def grow(self) -> None:
        self.until = time.monotonic() + min(FIRST_PAUSE_SECONDS * 2**self.failures, LONGEST_PAUSE_SECONDS)
        self.failures += 1


class Cluster:
    """`worker_class` is Worker or a class that extends it.

    Raises ValueError or ConnectionError where there is no cluster at `address`, or Ray is initialised with another one.
    """

    def __init__(self, address: str | None, slots: int | None, extension: Path, worker_class: type = Worker) -> None:
        self.extension_path = extension
        self.worker_class = worker_class
        self.lock = threading.Lock()
        self.members: dict[Limits, dict[str, Member]] = {}
        #: Of nodes whose worker did not start.
        self.pauses: dict[tuple[Limits, str], Pause] = {}
        #: What the user has been told of nodes that are not used.
        self.told: set[str] = set()
        self.own_folder: str | None = None
        self.head_is_gone = False
        self.started_ray = not ray.is_initialized()
        if self.started_ray:
            self.enter(address or os.environ.get("RAY_ADDRESS") or "local", slots)
        else:
            joining.require_current(address)
        self.session = calls.session()
        self.gcs_address = ray._private.worker.global_worker.gcs_client.address
        self.address = address or self.gcs_address
        ray.cloudpickle.register_pickle_by_value(sys.modules[__package__])
        data = extension.read_bytes()
        self.extension_sha = sha_of(data)
        self.extension = calls.put(data)
        self.platform = duckdb.execute("PRAGMA platform").fetchone()[0]

    def enter(self, address: str, slots: int | None) -> None:
        if address == "local":
            self.own_folder = joining.start(slots)
        else:
            joining.join(address)

    def is_connected(self) -> bool:
        """False once the user has called ray.shutdown(), whatever else this process has joined since."""
        return self.session is not None and calls.session() == self.session

    def require(self, address: str | None) -> None:
        if address is not None and address != self.address and not joining.is_address_of(address, self.gcs_address):
            raise ValueError(
                f"this process already uses the Ray cluster {self.address!r}; before it uses {address!r}, "
                "call merganser.ray.shutdown()"
            )

    def close(self) -> None:
        """Ends all workers, and Ray if this process started it. Where Ray has ended, only its folder is left."""
        with self.lock:
            members = [member for of_limits in self.members.values() for member in of_limits.values()]
            self.members.clear()
        if self.is_connected() and not self.head_is_gone:
            self.end_workers([member for member in members if member.has_answered], END_SECONDS)
            self.end_workers([member for member in members if not member.has_answered], END_OF_OTHERS_SECONDS)
            if self.started_ray:
                ray.shutdown()
        if self.own_folder:
            shutil.rmtree(self.own_folder, ignore_errors=True)

    def end_workers(self, members: list[Member], seconds: float) -> None:
        """They remove their folders; what is left goes with the next worker there."""
        ends = [calls.call(member.actor.end) for member in members]
        if ends:
            calls.wait(ends, num_returns=len(ends), timeout=seconds)
        for member in members:
            calls.kill(member.actor)

    # ---------------------------------------------------------------- workers

    def workers(self, limits: Limits, but_not_on: set[str]) -> list[Member]:
        """A worker on every node that is alive and has CPUs; starts those that are missing, and does not wait for them.

        None is started on the nodes named, and for a while none where one did not start, as long as others answer.
        """
        nodes = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        with self.lock:
            members = self.members.setdefault(limits, {})
            for node in [node for node in members if node not in nodes]:
                del members[node]
            others = any(member.has_answered for member in members.values())
            for name, node in nodes.items():
                has_cpus = node["Resources"].get("CPU", 0) > 0
                if name in members or name in but_not_on or not has_cpus or (others and not self.is_due(limits, name)):
                    continue
                members[name] = self.start_worker(node, limits)
            if not members and not but_not_on:
                raise QueryFailure("IO", f"no node of the Ray cluster {self.address} has CPUs")
            return list(members.values())

    def is_due(self, limits: Limits, node: str) -> bool:
        pause = self.pauses.get((limits, node))
        return pause is None or time.monotonic() >= pause.until

    def start_worker(self, node: dict[str, Any], limits: Limits) -> Member:
        """Ray starts it when it can; it reserves no CPU there."""
        cpus = max(int(node["Resources"]["CPU"]), 1)
        options = Options(
            node=node["NodeID"],
            name=uuid.uuid4().hex,
            cpus=cpus,
            directory=limits.directory,
            memory_limit=limits.memory_limit or f"{int(node['Resources']['memory'])}B",
            threads=limits.threads,
            max_spill_bytes=limits.max_spill_bytes,
            duckdb=duckdb.__version__,
            platform=self.platform,
            extension_path=str(self.extension_path),
            extension_sha=self.extension_sha,
        )
        actor = calls.create(
            self.worker_class,
            options,
            concurrency_groups={"tasks": cpus, "control": MAX_THREADS, "files": MAX_THREADS},
            max_restarts=-1,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
        )
        return Member(node["NodeID"], node["NodeManagerHostname"], cpus, actor)

    def ask(self, member: Member, marker: Marker | None) -> Any:
        """For its Answer: whether it can run tasks of a query, in the folder that the marker tells."""
        return calls.call(member.actor.check, [self.extension], marker)

    def answered(self, limits: Limits, member: Member, folder: str) -> None:
        with self.lock:
            member.folder = folder
            self.pauses.pop((limits, member.node), None)

    def forget(self, limits: Limits, member: Member) -> None:
        """Its worker does not start, has died, or fits nothing: another one is started after a pause."""
        with self.lock:
            members = self.members.get(limits, {})
            if members.get(member.node) is not member:
                return
            del members[member.node]
            self.pauses.setdefault((limits, member.node), Pause()).grow()
        calls.kill(member.actor)

    def living_nodes(self) -> set[str]:
        return {node["NodeID"] for node in ray.nodes() if node["Alive"]}
