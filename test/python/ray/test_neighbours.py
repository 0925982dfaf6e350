"""Sessions and workers that share a node and a cluster do not touch each other's files, and leave none."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import merganser
import pytest
import ray
from merganser.ray import private_folder, runner
from merganser.ray.private_folder import PrivateFolder, machine, private_path
from ray_cluster import HANGS_SECONDS

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]

QUERY = "SELECT g, count(*) AS n, sum(i) AS s FROM t GROUP BY g ORDER BY g LIMIT 10"
EXPECTED = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]

# A session of its own: in each round other workers, that start, spill, and end. Its last line tells that all was right.
OTHER = """
import sys, ray, merganser
address, folder, files, rounds = sys.argv[1:]
for number in range(int(rounds)):
    with merganser.connect(runner="ray", address=address) as connection:
        for name, value in {
            "distribute_min_bytes": 0, "tasks": 2, "worker_memory_limit": "'48MB'", "worker_threads": 1,
            "exchange_directory": f"'{folder}'", "worker_directory": f"'{folder}'",
        }.items():
            connection.execute(f"SET GLOBAL merganser_{name} = {value}")
        connection.execute("SET enable_progress_bar = false")
        print("begun", flush=True)
        rows = connection.execute(sys.stdin.readline().replace("WIDE", f"read_parquet('{files}')")).fetchall()
        print(rows, merganser.last_query()["runner"], flush=True)
    merganser.ray.shutdown()
"""


@pytest.fixture
def wide(tmp_path):
    """Files of 200,000 rows of about a kilobyte, in order of `i`: twice what a task of two may hold in `48MB`."""
    with merganser.connect() as plain:
        for part in range(4):
            rows = f"SELECT i, repeat(md5(i::VARCHAR), 30) AS s FROM range({part * 50000}, {(part + 1) * 50000}) r(i)"
            plain.execute(f"COPY ({rows}) TO '{tmp_path}/wide_{part}.parquet' (ROW_GROUP_SIZE 2048)")
    return f"{tmp_path}/wide_*.parquet"


SPILLS = "SELECT count(*), sum(length(s)), sum(length(s[:i % 7])) FROM (SELECT DISTINCT s, i FROM WIDE)"


def start_other(ray_cluster, *arguments) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", OTHER, ray_cluster.address, str(ray_cluster.folder), *arguments]
    return subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_two_sessions_that_spill_on_the_same_nodes(session, ray_cluster, within, wide, rounds):
    with merganser.connect() as plain:
        expected = plain.execute(SPILLS.replace("WIDE", f"read_parquet('{wide}')")).fetchall()
    session.execute("SET merganser_worker_memory_limit = '48MB'")
    session.execute("SET merganser_tasks = 2")
    session.execute("SET merganser_worker_threads = 1")
    assert_spills(session, within, wide)
    other = start_other(ray_cluster, wide, str(rounds))
    try:
        for _ in range(rounds):
            assert other.stdout.readline() == "begun\n"
            other.stdin.write(SPILLS + "\n")
            other.stdin.flush()
            mine = within(session.execute(SPILLS.replace("WIDE", f"read_parquet('{wide}')")).fetchall)
            assert mine == expected
            assert other.stdout.readline() == f"{expected} ray\n"
        assert other.wait(HANGS_SECONDS) == 0
    finally:
        other.kill()
        other.communicate()


def assert_spills(session, within, wide: str) -> None:
    """What is there while it runs is seen now and then only; but without room for it, the query fails."""
    session.execute("SET merganser_worker_max_spill_bytes = 1")
    session.execute("SET merganser_task_attempts = 1")
    with pytest.raises(duckdb.OutOfMemoryException):
        within(session.execute(SPILLS.replace("WIDE", f"read_parquet('{wide}')")).fetchall)
    session.execute("RESET merganser_worker_max_spill_bytes")
    session.execute("RESET merganser_task_attempts")


def test_what_a_killed_session_leaves_goes_with_the_next_worker(session, ray_cluster, within, eventually, wide):
    """Not a day later: its lock is free."""
    other = start_other(ray_cluster, wide, "1")
    assert other.stdout.readline() == "begun\n"
    before = set(ray_cluster.exchange_root().iterdir()) if ray_cluster.exchange_root().exists() else set()
    other.stdin.write("SELECT count(*) FROM WIDE a, WIDE b WHERE a.i + b.i = -1\n")
    other.stdin.flush()
    eventually(lambda: len(folders_besides(ray_cluster, before)) == 4, "no folder")  # three, and its own
    other.send_signal(signal.SIGKILL)
    other.communicate()
    eventually(lambda: all(is_free(folder) for folder in folders_besides(ray_cluster, before)), "they live")
    session.execute("SET merganser_worker_threads = 31")  # other workers, which start
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    mine = {Path(m.folder) for group in runner._runner.cluster.members.values() for m in group.values()}
    assert folders_besides(ray_cluster, before) - mine == set()


def folders_besides(ray_cluster, before: set[Path]) -> set[Path]:
    return set(ray_cluster.exchange_root().iterdir()) - before


def is_free(folder: Path) -> bool:
    try:
        descriptor = private_folder.try_lock(folder)
    except FileNotFoundError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def test_a_worker_that_starts_again_has_its_folder_and_cleans_it(session, ray_cluster, within, eventually):
    session.execute("SET merganser_worker_threads = 32")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    (limits,) = [limits for limits in runner._runner.cluster.members if limits.threads == 32]
    member = next(iter(runner._runner.cluster.members[limits].values()))
    before = ray.get(member.actor.process.remote())
    left = Path(member.folder) / "spill" / "left"
    left.parent.mkdir(exist_ok=True)
    left.write_text("rows")
    os.kill(before, signal.SIGKILL)

    def has_started_again() -> bool:
        assert within(session.execute(QUERY).fetchall) == EXPECTED
        return not left.exists() and not is_free(Path(member.folder))

    eventually(has_started_again, "its folder is as the killed one left it")


def test_a_folder_that_was_removed_is_made_anew(session, within):
    """As programs do that clean temporary folders."""
    session.execute("SET merganser_worker_threads = 33")
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    groups = runner._runner.cluster.members
    (members,) = [group.values() for limits, group in groups.items() if limits.threads == 33]
    for member in members:
        shutil.rmtree(member.folder)
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert sum(stage["retries"] for stage in merganser.last_query()["stages"]) == 0
    assert all(not is_free(Path(member.folder)) for member in members)


# ---------------------------------------------------------------- private folders


def test_a_private_folder_has_one_owner(tmp_path, monkeypatch):
    monkeypatch.setattr(private_folder, "HELD_SECONDS", 0.2)
    first = PrivateFolder(tmp_path, "one")
    assert first.path == private_path(tmp_path, "one") == tmp_path / f"merganser-{os.geteuid()}" / f"{machine()}-one"
    assert [path.stat().st_mode & 0o777 for path in (first.path, first.root)] == [0o700, 0o700]
    with pytest.raises(OSError, match="in use by another process"):
        PrivateFolder(tmp_path, "one")
    other = PrivateFolder(tmp_path, "other")
    assert first.is_there() and other.is_there()
    (first.path / "exchange").mkdir()
    first.release()
    taken = PrivateFolder(tmp_path, "one")
    assert (taken.path / "exchange").exists()  # what lies in it may still be used
    taken.remove()
    assert other.is_there() and not taken.path.exists()
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_folders_whose_lock_is_free_are_removed(tmp_path):
    root = tmp_path / f"merganser-{os.geteuid()}"
    root.mkdir(0o700)
    long_ago = time.time() - 2 * private_folder.OLD_AFTER_SECONDS
    for name in (f"{machine()}-dead", "elsewhere-new", "elsewhere-old"):
        (root / name / "spill").mkdir(parents=True)
    for path in (root / "elsewhere-old" / "spill", root / "elsewhere-old"):
        os.utime(path, (long_ago, long_ago))
    held = PrivateFolder(tmp_path, "held")
    (root / f"{machine()}-link").symlink_to(tmp_path)
    PrivateFolder(tmp_path, "next").remove()
    assert {path.name for path in root.iterdir()} == {f"{machine()}-held", f"{machine()}-link", "elsewhere-new"}
    held.release()


@pytest.mark.parametrize("kind", ["link", "file", "other owner"])
def test_a_folder_of_others_is_refused(tmp_path, kind, monkeypatch):
    root = tmp_path / f"merganser-{os.geteuid()}"
    (tmp_path / "elsewhere").mkdir()
    if kind == "link":
        root.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        root.write_text("")
    else:
        root.mkdir(0o777)
        if os.geteuid() == 0:
            os.chown(root, 65534, 65534)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: os.stat(root).st_uid + 1)
            root.rename(private_path(tmp_path, "one").parent)
    words = "belongs to another owner" if kind == "other owner" else "is a link or no folder"
    with pytest.raises(OSError, match=f"{words}.*SET merganser_worker_directory to a folder of your own"):
        PrivateFolder(tmp_path, "one")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_others_may_enter_is_closed(tmp_path):
    root = tmp_path / f"merganser-{os.geteuid()}"
    root.mkdir()
    root.chmod(0o755)
    PrivateFolder(tmp_path, "one").release()
    assert root.stat().st_mode & 0o777 == 0o700


def test_another_users_folder_is_one_sentence(session, within, tmp_path):
    """Every node has it, as all share this machine's disk: the query fails, and says why."""
    (tmp_path / f"merganser-{os.geteuid()}").symlink_to(tmp_path)
    session.execute(f"SET merganser_worker_directory = '{tmp_path}'")
    session.execute("RESET merganser_exchange_directory")
    session.execute("SET merganser_worker_threads = 34")
    with pytest.raises(Exception, match="cannot run tasks: the folder .* is a link or no folder; remove it, or SET"):
        within(session.execute(QUERY).fetchall)


@pytest.mark.parametrize("shared", ["true", "false"])
def test_names_of_folders(session, within, tmp_path, shared):
    folder = tmp_path / "ünï 'quoted' [1]*"
    folder.mkdir()
    path = str(folder).replace("'", "''")
    session.execute(f"SET merganser_worker_directory = '{path}'; SET merganser_exchange_directory = '{path}'")
    session.execute(f"SET merganser_exchange_shared = {shared}")
    (folder / "faults").mkdir()  # where the workers of these tests look for theirs
    (folder / "faults" / "log").touch()
    assert within(session.execute(QUERY).fetchall) == EXPECTED
    assert merganser.last_query()["runner"] == "ray"
    groups = runner._runner.cluster.members
    (members,) = [list(group.values()) for limits, group in groups.items() if limits.directory == str(folder)]
    assert len(members) == 3 and all(Path(member.folder).parent.parent == folder for member in members)
    for member in members:  # others would keep folders of the test
        ray.get(member.actor.end.remote())
        runner._runner.cluster.forget(limits_with(folder), member)


def limits_with(directory: Path):
    (limits,) = [limits for limits in runner._runner.cluster.members if limits.directory == str(directory)]
    return limits
