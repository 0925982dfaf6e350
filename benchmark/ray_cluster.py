"""A small Ray cluster on this machine, for the demo, the benchmarks and the tests: a head without CPUs, and nodes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NODES = 3
MEMORY = 80 << 20
#: What takes longer hangs: far more than anything takes on a busy machine.
HANGS_SECONDS = 600
# Read by Ray when it is imported. A node that is gone refuses connections, which is noticed within two seconds; one
# that is only slow, as on a busy machine, is not taken for lost, nor is a worker that starts slowly. Nothing is
# reported to anybody; what other programs of the machine use of its memory ends no process of the cluster.
os.environ.update(
    RAY_USAGE_STATS_ENABLED="0",
    RAY_enable_metrics_collection="0",
    RAY_memory_monitor_refresh_ms="0",
    RAY_raylet_start_wait_time_s=str(HANGS_SECONDS),
    RAY_worker_register_timeout_seconds=str(HANGS_SECONDS),
    RAY_health_check_period_ms="500",
    RAY_health_check_timeout_ms=str(HANGS_SECONDS * 1000),
    RAY_health_check_failure_threshold="3",
    RAY_health_check_initial_delay_ms="1000",
)


class SmallCluster:
    """`folder` is private to it and short, as names of sockets must be."""

    def __init__(self, folder: Path, nodes: int = NODES) -> None:
        os.environ["RAY_TMPDIR"] = str(folder)
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY}
        self.folder = folder
        self.ray = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(nodes):
            self.add_node()
        self.await_nodes()
        self.address = self.ray.address
        ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")

    def add_node(self) -> None:
        self.ray.add_node(num_cpus=1, object_store_memory=MEMORY, wait=False)

    def await_nodes(self) -> None:
        self.ray.wait_for_nodes(HANGS_SECONDS)

    def close(self) -> None:
        import ray

        ray.shutdown()
        self.ray.shutdown()


@contextmanager
def private_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mr-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def small_cluster(nodes: int = NODES) -> Iterator[SmallCluster]:
    with private_folder() as folder:
        cluster = SmallCluster(folder, nodes)
        try:
            yield cluster
        finally:
            import merganser.ray

            merganser.ray.shutdown()
            cluster.close()
