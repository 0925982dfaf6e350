"""Files that the session listed once: workers read those, in the version that was listed, wherever they run."""

import os

import duckdb
import pytest
from merganser.ray import query as query_module

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """`here`, where the session is, and `elsewhere`, where Ray was started, say; each has a file of the same name."""
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
        duckdb.execute(f"COPY (SELECT '{name}' AS w FROM range(8)) TO '{tmp_path}/{name}/x.parquet'")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.mark.parametrize("path", ["x.parquet", "../here/x*.parquet", "~/x.parquet"])
def test_paths_are_those_of_the_session(session, within, folders, path):
    """Workers are processes of their own, in folders of their own."""
    session.execute(f"SET home_directory = '{folders}/here'")
    query = f"SELECT w, count(*) FROM '{path}' GROUP BY w ORDER BY w LIMIT 3"
    assert "1 files in slices" in str(session.execute("FROM merganser_stages($1)", [query]).fetchall())
    assert within(session.execute(query).fetchall) == [("here", 8)]


def when_planned(monkeypatch, change) -> None:
    """`change()` is called when a query has been planned, before any of its tasks is sent."""
    start = query_module.Query.start

    def start_after_a_change(query) -> None:
        start(query)
        change()

    monkeypatch.setattr(query_module.Query, "start", start_after_a_change)


@pytest.mark.parametrize("change", ["replaced", "removed"])
def test_a_file_that_changes_fails_the_query(session, ray_cluster, within, tmp_path, monkeypatch, change):
    """At once where it is another one: every node sees that. One that is gone may be there on other nodes."""
    path = tmp_path / "t_2.parquet"

    def act() -> None:
        if change == "removed":
            path.unlink()
        else:
            duckdb.execute(f"COPY (SELECT 1 AS i, 1 AS g) TO '{path}.new' (FORMAT parquet)")
            os.replace(f"{path}.new", path)

    when_planned(monkeypatch, act)
    with pytest.raises(duckdb.IOException, match=r"t_2\.parquet.*when the query was planned"):
        within(session.execute("SELECT g, count(*) FROM t GROUP BY g").fetchall)
    attempts = [ray_cluster.attempts(1, task) for task in range(4)]
    assert max(attempts) == (1 if change == "replaced" else 4)


def test_a_database_that_changes_in_a_task_fails_the_query(session, within, tmp_path, ray_cluster):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(path) as other:
        other.execute("CREATE TABLE t AS SELECT i, i % 5 AS g FROM range(400000) r(i)")
    session.execute(f"ATTACH '{path}' AS other (READ_ONLY)")
    ray_cluster.fault("change", stage=1, task=1)
    with pytest.raises(duckdb.IOException, match="sees another version of the attached database"):
        within(session.execute("SELECT sum(i) FROM other.t").fetchall)
