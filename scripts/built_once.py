"""Files and folders that are generated once and then reused, by scripts and tests that may run at the same time."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "data"


def built_once(target: Path, generate: Callable[[Path], None]) -> Path:
    """Return `target`, generated first where it does not exist.

    `generate` gets a path that does not exist yet, beside the target, and makes a file or a folder there. The result
    appears under its final name only when it is complete; of two that generate at once, the first wins.
    """
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=target.parent) as scratch:
        unfinished = Path(scratch) / target.name
        generate(unfinished)
        try:
            os.rename(unfinished, target)
        except OSError:
            if not target.exists():
                raise
    return target
