"""Errors of tasks: DuckDB's name of each, and which are worth another attempt."""

import errno
import os
import re
import resource

# What another attempt, perhaps elsewhere, may not meet again. Every other error follows from the query and its rows.
PASSING = frozenset({"IO", "HTTP", "Out of Memory", "INTERNAL", "FATAL", "Connection", "Interrupt"})
# After these a database takes no more queries.
ENDS_THE_DATABASE = frozenset({"INTERNAL", "FATAL"})
# An input/output error too, but another attempt meets the same file (src/file_version.hpp).
SAYS_CHANGED = "is not what it was when the query was planned"


def is_worth_another(kind: str, message: str) -> bool:
    return kind in PASSING and SAYS_CHANGED not in message


class QueryFailure(Exception):
    """The end of a query, with DuckDB's name of the error: "Conversion", "IO", ..."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def split_message(text: str) -> tuple[str, str]:
    """The kind and the rest of what DuckDB's Python exceptions say: "Conversion Error: Could not ..."."""
    match = re.match(r"([A-Z][A-Za-z -]*) Error: ", text)
    return (match[1], text[match.end() :]) if match else ("IO", text)


def is_without_files(error: Exception) -> bool:
    """Whether a file could not be opened because a process, or its machine, has as many open as it may.

    Nothing is lost then. DuckDB's and Ray's exceptions have the reason in their text only.
    """
    return os.strerror(errno.EMFILE) in str(error)


def with_open_file_limit(error: Exception, host: str) -> str:
    """The text of an error of this process; where it is about open files, with their limit and what to do."""
    text = str(error)
    if not is_without_files(error) or "ulimit -n" in text:
        return text
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        f"{text}. A process on {host} may have {most} files open at a time (ulimit -n): raise that limit there, or SET "
        "merganser_worker_threads or merganser_slots to fewer"
    )


def cause_of(error: Exception) -> Exception:
    """What a task of Ray raised, without Ray's account of where."""
    return getattr(error, "cause", None) or error
