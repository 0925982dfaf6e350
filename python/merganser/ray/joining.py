"""How this process gets a Ray cluster: the one it has, one at an address, or one of its own on this machine."""

import os
import socket
import tempfile
from typing import Any
from urllib.parse import urlsplit

import ray
from ray._private import ray_constants, services

from merganser.ray.threads import start_thread

CONNECT_SECONDS = 10
LONGEST_FOLDER = 30
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
FORMS = "give host:port of its head, as '10.0.0.1:6379', 'auto' for the one on this machine, or 'local' for a new one"


def require_current(address: str | None) -> None:
    """Raises ValueError where Ray is initialised with another cluster than the one at `address`."""
    current = ray._private.worker.global_worker.gcs_client.address
    if address is not None and not is_address_of(address, current):
        raise ValueError(
            f"Ray is initialised in this process with the cluster at {current!r}, and the address is {address!r}; "
            "leave the address out to use that cluster, or call ray.shutdown() first"
        )


def is_address_of(address: str, cluster: str) -> bool:
    try:
        return address == cluster or services.canonicalize_bootstrap_address(address) == cluster
    except (ConnectionError, ValueError):  # there is none, or it is no address
        return False


def join(address: str) -> None:
    """Joins the cluster at an address. Raises ConnectionError or ValueError in seconds where none is there."""
    found = reachable(address)
    try:
        ray.init(address=found, **QUIET)
    except Exception as error:
        first, *_ = str(error).splitlines() or [type(error).__name__]
        raise ConnectionError(f"cannot join the Ray cluster at {address!r}: {first}") from error


def reachable(address: str) -> str:
    """host:port of the cluster. Ray itself would try for minutes."""
    if "://" in address:
        raise ValueError(f"{address!r} is no address of a Ray cluster for merganser: {FORMS}")
    try:
        found = services.canonicalize_bootstrap_address(address)
        parts = urlsplit(f"//{found}")
        host, port = parts.hostname, parts.port
    except ConnectionError:
        raise ConnectionError(f"no Ray cluster runs on this machine for address {address!r}: {FORMS}") from None
    except ValueError:
        raise ValueError(f"{address!r} is no address of a Ray cluster: {FORMS}") from None
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(f"no Ray cluster answers at {address!r} ({error}): {FORMS}") from None
    why_not = ask_head(found)
    if why_not:
        raise ConnectionError(f"no Ray cluster of this process answers at {address!r} ({why_not}): {FORMS}")
    return found


def ask_head(address: str) -> str:
    """Why what listens there is no head this process may use; empty where it is one."""
    answer: list[str] = []

    def ask() -> None:
        try:
            ray._raylet.GcsClient(address=address)
        except Exception as error:  # noqa: BLE001 - told to the user
            answer.append(str(error))
        else:
            answer.append("")

    start_thread("merganser-joining", ask).join(CONNECT_SECONDS)
    return answer[0] if answer else f"it says nothing for {CONNECT_SECONDS} s"


def start(slots: int | None) -> str:
    """Starts a cluster that only this machine reaches; returns the folder it has for itself."""
    folder = tempfile.mkdtemp(prefix="mgs-", dir=short_folder())
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False  # as on systems where Ray listens on the loopback address only
    try:
        ray.init(
            address="local",
            num_cpus=slots or os.cpu_count(),
            include_dashboard=False,
            _temp_dir=folder,
            **QUIET,
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
    return folder


def short_folder() -> str | None:
    """Where Ray may have sockets, whose names are at most 107 bytes long; none for the usual temporary folder."""
    return None if len(tempfile.gettempdir()) <= LONGEST_FOLDER else "/tmp"
