"""Whether the head of the cluster is there.

A minute after the head has gone, Ray ends every process that is connected to it, whatever that process does, and until
then its calls wait. So a thread of its own connects to the head's port now and then; when nobody has answered for a
while, it tells, early enough to leave Ray before.
"""

import errno
import socket
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from merganser.ray.threads import start_thread

CHECK_SECONDS = 2.0
CONNECT_SECONDS = 5.0
#: A network that is away for a moment has this long, and a head that is started anew, as Ray can where its tables are
#: kept elsewhere. Half of Ray's minute is left to leave it.
GONE_SECONDS = 30.0
#: This process or machine cannot connect, whoever listens.
NOT_THE_HEAD = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL}


class HeadWatch:
    """Calls `on_gone` at most once, from its own thread."""

    def __init__(self, address: str, on_gone: Callable[[], None]) -> None:
        parts = urlsplit(f"//{address}")
        self.host, self.port = parts.hostname, parts.port
        self.on_gone = on_gone
        self.ended = threading.Event()
        start_thread("merganser-head", self.watch)

    def end(self) -> None:
        self.ended.set()

    def watch(self) -> None:
        answered = time.monotonic()
        while not self.ended.wait(CHECK_SECONDS):
            if self.answers():
                answered = time.monotonic()
            elif time.monotonic() - answered > GONE_SECONDS:
                self.on_gone()
                return

    def answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), CONNECT_SECONDS).close()
        except OSError as error:
            return error.errno in NOT_THE_HEAD
        return True
