"""Put an extension into a folder that DuckDB installs extensions from, as it does from its own repositories.

usage: make_repository.py <merganser.duckdb_extension> <folder>

The layout is DuckDB's: <folder>/<version of DuckDB>/<platform>/<name>.duckdb_extension.gz. Version and platform are
read from the file's footer, so extensions for several of them go into one folder, which may be a web server's.
"""

import argparse
import gzip
import os
from pathlib import Path

from append_footer import FIELD_BYTES, SIGNATURE_BYTES


def version_and_platform(extension: bytes) -> tuple[str, str]:
    """The fields of scripts/append_footer.py stand in reverse order before the signature: the last is the layout's."""
    fields = extension[-SIGNATURE_BYTES - 8 * FIELD_BYTES : -SIGNATURE_BYTES]
    layout, platform, version = (
        fields[start : start + FIELD_BYTES].rstrip(b"\0").decode(errors="replace")
        for start in (7 * FIELD_BYTES, 6 * FIELD_BYTES, 5 * FIELD_BYTES)
    )
    if layout != "4":
        raise SystemExit("the file does not end with the footer of a DuckDB extension")
    return version, platform


def make_repository(extension: Path, folder: Path) -> Path:
    content = extension.read_bytes()
    place = folder.joinpath(*version_and_platform(content)) / f"{extension.name}.gz"
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(".unfinished")
    unfinished.write_bytes(gzip.compress(content, mtime=0))
    os.replace(unfinished, place)
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extension", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    print(make_repository(arguments.extension, arguments.folder))


if __name__ == "__main__":
    main()
