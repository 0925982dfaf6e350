"""Fixtures for every test: connections, TPC data and queries, plan goldens; and the profiles of the random lane."""

import difflib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import hypothesis
import merganser
import pytest
from make_tpcds import benchmark_extension, make_tpcds
from make_tpch import make_tpch

# `ci` tries the same examples every time; `long` (make test-slow) looks for new ones.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100, database=None)
hypothesis.settings.register_profile("long", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-goldens", action="store_true", help="write goldens instead of comparing with them")


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with the extension loaded."""
    with merganser.connect() as connection:
        yield connection


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also in a process started with SIGINT ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def tpch_parquet() -> Callable[[float], Path]:
    """tpch_parquet(0.01): the folder with TPC-H's tables of that scale factor, `<table>.parquet` each."""
    return make_tpch


@pytest.fixture(scope="session")
def tpcds_database() -> Callable[[float], Path]:
    """tpcds_database(0.01): a DuckDB database file with TPC-DS's tables of that scale factor. Open it read-only."""
    return make_tpcds


@pytest.fixture(scope="session")
def tpch_queries() -> dict[int, str]:
    """TPC-H's 22 queries by number, from DuckDB's tpch extension."""
    return queries_of("tpch")


@pytest.fixture(scope="session")
def tpcds_queries() -> dict[int, str]:
    """TPC-DS's 99 queries by number, from DuckDB's tpcds extension."""
    return queries_of("tpcds")


def queries_of(benchmark: str) -> dict[int, str]:
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as plain:
        plain.load_extension(str(benchmark_extension(benchmark)))
        return dict(plain.execute(f"SELECT query_nr, query FROM {benchmark}_queries() ORDER BY query_nr").fetchall())


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden("q10", text): the text must equal `goldens/q10.txt` beside the test; `make goldens` writes it anew."""
    folder = request.path.parent / "goldens"

    def check(name: str, text: str) -> None:
        path = folder / f"{name}.txt"
        text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
        if request.config.getoption("--regenerate-goldens"):
            folder.mkdir(exist_ok=True)
            path.write_text(text)
            return
        if not path.exists():
            pytest.fail(f"{path} does not exist; run `make goldens` and review what it writes", pytrace=False)
        written = path.read_text()
        if text != written:
            lines = difflib.unified_diff(written.splitlines(), text.splitlines(), str(path), "now", lineterm="")
            advice = "If the change is meant, run `make goldens` and review the difference."
            pytest.fail("\n".join(lines) + f"\n{advice}", pytrace=False)

    return check
