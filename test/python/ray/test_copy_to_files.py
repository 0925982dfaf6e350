"""COPY to a folder from the workers of a cluster: all or nothing, whatever happens to tasks and workers."""

import json
import shutil
from pathlib import Path

import duckdb
import merganser
import pytest
from merganser.ray import query as query_module

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

ROWS = "SELECT i, g, 'text ' || i AS s FROM t"
WRITING = 2  # the stage that writes the files; the one before it reads them and exchanges rows by the partition
MANIFEST = "_manifest.merganser"


@pytest.fixture
def out(tmp_path):
    """What is written below it is there once, and no staging folder is."""
    parent = tmp_path / "out"
    parent.mkdir()
    yield parent / "written"
    assert not list(parent.rglob(".*")), "a staging folder is left"


def copy(rows: str, folder: Path, options: str) -> str:
    return f"COPY ({rows}) TO '{folder}' (FORMAT parquet, {options})"


def assert_written_once(folder: Path) -> None:
    with duckdb.connect() as plain:
        files = f"'{folder}/**/*.parquet'"
        rows = plain.execute(f"SELECT count(*), sum(i), sum(g), max(s) FROM read_parquet({files})").fetchall()
        assert rows == [(10000, 49995000, 9999, "text 9999")]
    told = json.loads((folder / MANIFEST).read_text())
    assert told["rows"] == 10000
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet")) == sorted(
        file["path"] for file in told["files"]
    )


@pytest.mark.parametrize("options", ["PER_THREAD_OUTPUT", "PARTITION_BY (g)", "FILE_SIZE_BYTES '20KB'"])
def test_all_nodes_write(session, out, within, options):
    statement = copy(ROWS, out, options)
    stages = session.execute("SELECT tasks, partitioning FROM merganser_stages($1)", [statement]).fetchall()
    assert stages[-1] == (4, "files")
    assert len(stages) == (2 if "PARTITION_BY" in options else 1)
    assert within(session.execute(statement).fetchall) == [(10000,)]
    assert_written_once(out)
    assert merganser.last_query()["stages"][-1]["tasks"] == 4


@pytest.mark.parametrize("fault", ["kill", "raise", "truncate", "remove"])
def test_a_task_that_runs_twice_writes_once(session, ray_cluster, out, within, fault):
    ray_cluster.fault(fault, WRITING, 2)
    statement = copy(ROWS, out, "PARTITION_BY (g)")
    if fault in ("truncate", "remove"):  # nobody reads the last exchange on a worker: the session finds it damaged
        with pytest.raises(duckdb.IOException):
            within(session.execute(statement).fetchall)
        assert not out.exists()
        return
    assert within(session.execute(statement).fetchall) == [(10000,)]
    assert ray_cluster.attempts(WRITING, 2) == 2
    assert_written_once(out)


def test_a_task_that_runs_on_two_nodes_writes_once(session, ray_cluster, out, within, monkeypatch):
    monkeypatch.setattr(query_module, "STRAGGLER_LEAST_SECONDS", 0.2)
    session.execute("SET merganser_speculation = true")
    ray_cluster.fault("wait", WRITING, 3)
    assert within(session.execute(copy(ROWS, out, "PARTITION_BY (g)")).fetchall) == [(10000,)]
    assert ray_cluster.attempts(WRITING, 3) == 2
    assert_written_once(out)


def test_a_task_that_always_fails(session, ray_cluster, out, within):
    within(session.execute(copy(ROWS, out, "PARTITION_BY (g)")).fetchall)
    session.execute("SET merganser_task_attempts = 2")
    ray_cluster.fault("raise", WRITING, 1, times=2)
    with pytest.raises(duckdb.Error, match="a fault the test asked for"):
        within(session.execute(copy(f"{ROWS} WHERE i < 5", out, "PARTITION_BY (g), OVERWRITE")).fetchall)
    assert_written_once(out)


def test_interrupt(session, ray_cluster, out, within, once_it_runs):
    ray_cluster.fault("wait", WRITING, 0)
    once_it_runs(session.interrupt)
    with pytest.raises(duckdb.InterruptException):
        within(session.execute(copy(ROWS, out, "PARTITION_BY (g)")).fetchall)
    assert not out.exists()


def test_a_folder_the_workers_do_not_see(session, out, within, monkeypatch):
    start = query_module.Query.start

    def start_without_folder(query) -> None:
        start(query)
        (out.parent / ".written.merganser").rename(out.parent / "elsewhere")

    monkeypatch.setattr(query_module.Query, "start", start_without_folder)
    session.execute("SET merganser_task_attempts = 2")
    with pytest.raises(duckdb.IOException, match="Every worker must see .*SET merganser_exchange_shared = false"):
        within(session.execute(copy(ROWS, out, "PARTITION_BY (g)")).fetchall)
    shutil.rmtree(out.parent / "elsewhere")


def test_without_shared_storage_the_session_writes(session, out, within):
    session.execute("SET merganser_exchange_shared = false")
    statement = copy(ROWS, out, "PARTITION_BY (g)")
    [(reason,)] = session.execute("SELECT reason FROM merganser_stages($1)", [statement]).fetchall()
    assert "the session writes the files: workers share no storage" in reason
    assert within(session.execute(statement).fetchall) == [(10000,)]
    assert not (out / MANIFEST).exists()
    assert len(list(out.glob("g=*/*.parquet"))) == 3
