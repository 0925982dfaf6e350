"""Threads of the driver and of workers, whose start the system may refuse: an error that says what to do."""

import threading
from collections.abc import Callable
from typing import Any


def start_thread(name: str, target: Callable, *arguments: Any) -> threading.Thread:
    """It ends with the process at the latest. Raises OSError where it cannot be started."""
    thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise OSError(
            f'cannot start the thread "{name}": {error}. Raise the limit of processes (ulimit -u), or run fewer '
            "queries at a time"
        ) from None
    return thread
