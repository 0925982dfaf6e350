"""Ray's functions for the driver's process, without their habit of starting Ray where it does not run.

In a process without Ray, `ray.get` and the like call ray.init(), which starts a cluster or joins the one RAY_ADDRESS
names. The user may end Ray at any moment, also between a look at ray.is_initialized() and a call. These then raise.
"""

import time
from typing import Any

import ray

ENDING_SECONDS = 60
POLL_SECONDS = 0.01

get = ray.get.__wrapped__
wait = ray.wait.__wrapped__
put = ray.put.__wrapped__
kill = ray.kill.__wrapped__


def call(method: Any, *arguments: Any) -> Any:
    """`method.remote(*arguments)`, for a method of an actor."""
    return type(method)._remote.__wrapped__(method, args=list(arguments))


def create(actor: type, argument: Any, **options: Any) -> Any:
    """`ray.remote(**options)(actor).remote(argument)`. Does not wait until the actor has started."""
    remote = ray.remote(**options)(actor)
    return type(remote)._remote.__wrapped__(remote, args=[argument], kwargs={}, **remote._default_options)


def session() -> tuple | None:
    """Tells the Ray this process is connected to from every other one; None without Ray."""
    worker = ray._private.worker.global_worker
    node = worker.node
    if not ray.is_initialized() or node is None:
        return None
    return node.cluster_id, worker.current_job_id


def await_the_end() -> None:
    """Returns once Ray, which another thread is ending, has ended.

    In between, Ray ends the whole process where a reference to an object of it is dropped.
    """
    worker = ray._private.worker.global_worker
    end = time.monotonic() + ENDING_SECONDS
    while hasattr(worker, "core_worker") and not ray.is_initialized() and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
