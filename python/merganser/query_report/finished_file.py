"""A file that appears under its name only when it is complete."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_target(path: Path, example: str = "report.html") -> None:
    """Says before a long query runs that its report could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / example}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """Where to write; it becomes `path` when the block ends, and is gone where the block fails."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_finished(path: Path, text: str) -> None:
    with finished(path) as unfinished, unfinished.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
