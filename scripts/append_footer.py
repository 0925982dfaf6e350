"""Copy a shared object and append the metadata footer DuckDB demands of a loadable extension.

Layout (DuckDB's scripts/append_metadata.cmake): a WebAssembly custom-section header, eight 32-byte NUL-padded fields in
reverse order, and a 256-byte signature, here all zero: the extension is unsigned.
"""

import argparse
import os
from pathlib import Path

SECTION_HEADER = bytes([0, 147, 4, 16]) + b"duckdb_signature" + bytes([128, 4])
FIELD_BYTES, SIGNATURE_BYTES = 32, 256


def footer(platform: str, duckdb_version: str, extension_version: str) -> bytes:
    fields = ["4", platform, duckdb_version, extension_version, "CPP", "", "", ""]
    padded = [field.encode().ljust(FIELD_BYTES, b"\0") for field in fields]
    if any(len(field) > FIELD_BYTES for field in padded):
        raise SystemExit(f"a footer field is longer than {FIELD_BYTES} bytes: {fields}")
    return SECTION_HEADER + b"".join(reversed(padded)) + bytes(SIGNATURE_BYTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared_object", type=Path)
    parser.add_argument("extension", type=Path)
    parser.add_argument("--duckdb-version", required=True)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--extension-version", required=True)
    arguments = parser.parse_args()

    unfinished = arguments.extension.with_suffix(".unfinished")
    metadata = footer(arguments.platform, arguments.duckdb_version, arguments.extension_version)
    unfinished.write_bytes(arguments.shared_object.read_bytes() + metadata)
    os.replace(unfinished, arguments.extension)


if __name__ == "__main__":
    main()
