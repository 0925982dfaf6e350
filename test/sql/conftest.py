"""Lets pytest collect `*.test` files: one test per file and variant. The dialect is described in sqllogic.py."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import merganser
import pytest
import sqllogic
from make_tpcds import benchmark_extension

EXTENSIONS = {name: partial(benchmark_extension, name) for name in ("tpch", "tpcds")}


class SqlFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        try:
            parsed = sqllogic.parse(self.path)
        except sqllogic.FileError as error:
            raise self.CollectError(str(error)) from None
        for variant in parsed.variants:
            suffix = f"[{sqllogic.variant_name(variant)}]" if variant else ""
            yield SqlItem.from_parent(self, name=self.path.stem + suffix, parsed=parsed, variant=variant)


class SqlItem(pytest.Item):
    def __init__(self, *, parsed: sqllogic.File, variant: sqllogic.Variables, **kwargs):
        super().__init__(**kwargs)
        self.parsed = parsed
        self.variant = variant

    def runtest(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            sqllogic.Runner(merganser.connect, Path(folder), self.variant, EXTENSIONS).run(self.parsed)

    def repr_failure(self, excinfo, style=None):
        if excinfo.errisinstance((sqllogic.Mismatch, sqllogic.FileError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self.path.name}: {self.name}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SqlFile | None:
    return SqlFile.from_parent(parent, path=file_path) if file_path.suffix == ".test" else None
