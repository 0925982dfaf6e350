"""A file that appears under its name only when it is complete."""

import os
import secrets
from pathlib import Path


def check_target(path: Path) -> None:
    """Says before a long query runs that its report could not be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / 'report.html'}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; make it first")


def write_finished(path: Path, text: str) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with unfinished.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
