"""Make a shared object forget which module of DuckDB it was linked with, and wait for its entry point to be called.

src/duckdb_binding.hpp tells why, and finds the module when DuckDB loads the extension. Changed here, in a copy:

* The module is no longer a library that is needed.
* Symbols that come from it are weak, so that the dynamic linker leaves them empty, and marked by their size. These are
  the undefined ones that the module has and that carry no version, as those of the C and C++ libraries do.
* The initializers are not run when the file is opened. Their size is kept under a tag of our own.
* Symbols that are unique in the process are weak, so that two images in one process share nothing.
"""

import argparse
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# elf.h
DYNAMIC_SECTION, DYNAMIC_SYMBOLS, SYMBOL_VERSIONS = 6, 11, 0x6FFFFFFF
NEEDED, INITIALIZERS_SIZE = 1, 27
GLOBAL, WEAK, UNIQUE = 1, 2, 10
WITHOUT_VERSION = 1

# The same in src/duckdb_binding.cpp. Tags between 0x6000000d and 0x6ffff000 are for everyone's own use.
INITIALIZERS_SIZE_TAG = 0x6D657202
FROM_DUCKDB = 0x6D657267


@dataclass(frozen=True)
class Section:
    kind: int
    offset: int
    size: int
    strings: int


class SharedObject:
    """A 64-bit little-endian ELF file in memory."""

    def __init__(self, content: bytes) -> None:
        if content[:6] != b"\x7fELF\x02\x01":
            raise SystemExit("not a 64-bit little-endian ELF file")
        self.content = bytearray(content)
        (table,) = struct.unpack_from("<Q", content, 0x28)
        size, count = struct.unpack_from("<HH", content, 0x3A)
        self.sections = [self.section(table + number * size) for number in range(count)]

    def section(self, offset: int) -> Section:
        _, kind, _, _, at, size, strings, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", self.content, offset)
        return Section(kind, at, size, strings)

    def only(self, kind: int) -> Section:
        (section,) = (section for section in self.sections if section.kind == kind)
        return section

    def entries(self, kind: int, bytes_each: int) -> range:
        section = self.only(kind)
        return range(section.offset, section.offset + section.size, bytes_each)

    def text(self, kind: int, index: int) -> str:
        start = self.sections[self.only(kind).strings].offset + index
        return self.content[start : self.content.index(0, start)].decode()

    def forget(self, module: str) -> None:
        """The entry that says the module is needed now says how large the initializers are; the linker sees none."""
        entries = {at: struct.unpack_from("<QQ", self.content, at) for at in self.entries(DYNAMIC_SECTION, 16)}
        needed = [
            at for at, (tag, value) in entries.items() if tag == NEEDED and self.text(DYNAMIC_SECTION, value) == module
        ]
        sizes = [(at, size) for at, (tag, size) in entries.items() if tag == INITIALIZERS_SIZE]
        if len(needed) != 1 or len(sizes) != 1:
            raise SystemExit(f"it does not need {module}, or has no initializers")
        ((at, size),) = sizes
        struct.pack_into("<QQ", self.content, at, INITIALIZERS_SIZE, 0)
        struct.pack_into("<QQ", self.content, needed[0], INITIALIZERS_SIZE_TAG, size)

    def symbols(self) -> Iterator[tuple[int, int, bool]]:
        """Where the entry of each dynamic symbol is, its binding, and whether it is defined here."""
        for at in self.entries(DYNAMIC_SYMBOLS, 24):
            info, section = struct.unpack_from("<4xBxH", self.content, at)
            yield at, info >> 4, section != 0

    def name(self, at: int) -> str:
        return self.text(DYNAMIC_SYMBOLS, struct.unpack_from("<I", self.content, at)[0])

    def defined(self) -> set[str]:
        return {self.name(at) for at, _, defined in self.symbols() if defined}

    def marked(self) -> set[str]:
        """What comes from the module, in a shared object that was loosened."""
        return {
            self.name(at)
            for at, _, defined in self.symbols()
            if not defined and struct.unpack_from("<Q", self.content, at + 16) == (FROM_DUCKDB,)
        }

    def loosen(self, from_module: set[str]) -> None:
        for (at, binding, defined), version_at in zip(self.symbols(), self.entries(SYMBOL_VERSIONS, 2), strict=True):
            (version,) = struct.unpack_from("<H", self.content, version_at)
            wanted = not defined and version == WITHOUT_VERSION and self.name(at) in from_module
            if binding == UNIQUE or (binding == GLOBAL and wanted):
                self.content[at + 4] = WEAK << 4 | self.content[at + 4] & 15
            if wanted:
                struct.pack_into("<Q", self.content, at + 16, FROM_DUCKDB)


def unbind(content: bytes, module: Path) -> bytes:
    unbound = SharedObject(content)
    unbound.forget(module.name)
    unbound.loosen(SharedObject(module.read_bytes()).defined())
    return bytes(unbound.content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared_object", type=Path)
    parser.add_argument("unbound", type=Path)
    parser.add_argument("--module", type=Path, required=True, help="the module it was linked with")
    arguments = parser.parse_args()
    arguments.unbound.write_bytes(unbind(arguments.shared_object.read_bytes(), arguments.module))


if __name__ == "__main__":
    main()
