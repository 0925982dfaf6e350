"""The C functions of the loaded extension: register a runner, decide its tasks, end its queries, read the last report.

They work once DuckDB has loaded the extension in this process; opening its file again gives the same image.
"""

import ctypes
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

Submit = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_uint64)

# The extension keeps the addresses of these for as long as the process lives.
_registered: list[Callable] = []


def loaded(path: Path) -> ctypes.CDLL | None:
    """The image of the extension at `path`; None where DuckDB has not loaded it, or was refused."""
    try:
        image = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
    except OSError:  # nobody has opened it
        return None
    image.merganser_is_bound.argtypes = []
    image.merganser_is_bound.restype = ctypes.c_bool
    return image if image.merganser_is_bound() else None


@cache
def library(path: Path) -> ctypes.CDLL:
    """The functions of the extension at `path`, which DuckDB has loaded."""
    functions = loaded(path)
    if functions is None:
        raise RuntimeError(f"no DuckDB of this process has loaded {path}; merganser.connect() does")
    functions.merganser_register_runner.argtypes = [ctypes.c_char_p, Submit]
    functions.merganser_register_runner.restype = None
    functions.merganser_query_is_cancelled.argtypes = [ctypes.c_uint64]
    functions.merganser_query_is_cancelled.restype = ctypes.c_bool
    functions.merganser_query_secrets.argtypes = [ctypes.c_uint64]
    functions.merganser_query_secrets.restype = ctypes.c_char_p
    functions.merganser_stage_tasks.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    functions.merganser_stage_tasks.restype = ctypes.c_char_p
    numbers = ctypes.POINTER(ctypes.c_uint64)
    functions.merganser_stage_ended.argtypes = [ctypes.c_uint64, ctypes.c_uint64, numbers, ctypes.c_uint64]
    functions.merganser_stage_ended.restype = None
    functions.merganser_query_ended.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
    functions.merganser_query_ended.restype = None
    functions.merganser_last_query.argtypes = []
    functions.merganser_last_query.restype = ctypes.c_char_p
    return functions


def register_runner(path: Path, name: str, submit: Callable[[bytes, int], None]) -> None:
    """`SET merganser_runner = '<name>'` calls `submit(plan document, number)` for each query. It must not raise."""
    callback = Submit(submit)
    _registered.append(callback)
    library(path).merganser_register_runner(name.encode(), callback)


def query_is_cancelled(path: Path, query: int) -> bool:
    return library(path).merganser_query_is_cancelled(query)


def query_secrets(path: Path, query: int) -> list[dict[str, str]]:
    """What the tasks of a query need to read their files: name, type and, for merganser_take_secret, the secret."""
    return json.loads(library(path).merganser_query_secrets(query))


def stage_tasks(path: Path, query: int, stage: int) -> dict | None:
    """How a stage runs, as src/runners/foreign_runner.hpp describes it; None where the query has ended."""
    text = library(path).merganser_stage_tasks(query, stage)
    return json.loads(text) if text else None


def stage_ended(path: Path, query: int, stage: int, partition_bytes: list[int]) -> None:
    numbers = (ctypes.c_uint64 * len(partition_bytes))(*partition_bytes)
    library(path).merganser_stage_ended(query, stage, numbers, len(partition_bytes))


def query_ended(path: Path, query: int, outcome: dict) -> None:
    library(path).merganser_query_ended(query, json.dumps(outcome).encode())


def last_query(path: Path) -> dict | None:
    text = library(path).merganser_last_query() if loaded(path) else None
    return json.loads(text) if text else None
