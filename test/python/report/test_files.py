"""What merganser.report() writes and refuses: formats, files that are complete or not there, errors of the query."""

import json
import re
import subprocess
import sys

import duckdb
import merganser
import pytest

GROUPED = "SELECT g, count(*) AS n FROM item GROUP BY g"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.html", "<!DOCTYPE html>"),
        ("r.HTM", "<!DOCTYPE html>"),
        ("r.json", "{"),
        ("r.mmd", "flowchart LR\n"),
        ("r.mermaid", "flowchart LR\n"),
    ],
)
def test_the_ending_decides_what_is_written(staged, tmp_path, name, begins):
    path = merganser.report(staged, GROUPED, tmp_path / name)
    assert path == tmp_path / name
    assert path.read_text(encoding="utf-8").startswith(begins)


def test_a_format_by_name_and_a_path_as_text(staged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert merganser.report(staged, GROUPED).read_text().startswith("<!DOCTYPE html>")
    assert (tmp_path / "report.html").exists()
    path = merganser.report(staged, GROUPED, "notes.txt", format="mermaid", run=False)
    assert path.read_text().startswith("flowchart LR\n")


def test_mermaid_has_every_stage_and_exchange(staged, tmp_path):
    text = merganser.report(staged, GROUPED, tmp_path / "r.mmd").read_text()
    stages = merganser.last_query()["stages"]
    assert re.findall(r"^    stage(\d+)\[\"Stage \1<br>", text, re.MULTILINE) == [str(s["stage"]) for s in stages]
    arrows = re.findall(r"^    (\w+) -->\|\"([^\"]*)\"\| (\w+)$", text, re.MULTILINE)
    assert arrows[0] == ("files1", "9,000 rows", "stage1")
    assert (arrows[1][0], arrows[1][2]) == ("stage1", "stage2")
    assert arrows[1][1].startswith(f"{stages[0]['rows_out']} rows<br>")
    assert arrows[-1][2] == "result"


def test_mermaid_of_a_query_without_stages(connection, tmp_path):
    text = merganser.report(connection, "SELECT 'a \"quoted\" <b>' AS s", tmp_path / "r.mmd").read_text()
    node = text.removeprefix('flowchart LR\n    query["One DuckDB: ').removesuffix('"]\n')
    assert node != text and not set(node) & set('<>"')


def test_json_is_the_whole_document(staged, tmp_path):
    document = json.loads(merganser.report(staged, GROUPED, tmp_path / "r.json").read_text())
    names = "query title written runner decisions untold plans stages run run_before surroundings"
    assert " ".join(document) == names
    assert document["query"] == GROUPED
    assert document["run"]["plan"]["name"] == "STAGED_QUERY"
    assert document["plans"]["before"] == document["plans"]["after"]


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("CREATE TABLE x (i INTEGER); INSERT INTO item VALUES (1)", "not about INSERT"),
        ("", "the text has no statement"),
        ("INSERT INTO item VALUES (1)", "not about INSERT; pass the query it reads from"),
        ("CREATE TABLE x AS SELECT 1", "not about CREATE"),
        ("EXPLAIN SELECT 1", "not about EXPLAIN"),
        ("SELECT $limit", r"has parameters \(\$limit\); write their values into its text"),
        ("SELECT ?", r"has parameters \(\$1\)"),
    ],
)
def test_what_is_no_query_is_refused(connection, tmp_path, query, message):
    with pytest.raises(ValueError, match=message):
        merganser.report(connection, query, tmp_path / "r.html")
    assert not list(tmp_path.iterdir())
    assert connection.execute("SHOW TABLES").fetchall() == []


def test_paths_and_formats_are_checked_before_anything_runs(connection, tmp_path):
    connection.execute("CREATE SEQUENCE counter")
    query = "SELECT nextval('counter')"
    with pytest.raises(ValueError, match=r"r\.pdf' names no format .*one of html, json, mermaid"):
        merganser.report(connection, query, tmp_path / "r.pdf")
    with pytest.raises(ValueError, match="format must be one of html, json, mermaid, not 'pdf'"):
        merganser.report(connection, query, tmp_path / "r.html", format="pdf")
    with pytest.raises(FileNotFoundError, match="no does not exist; make it first"):
        merganser.report(connection, query, tmp_path / "no" / "r.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        merganser.report(connection, query, tmp_path / "folder.html")
    assert connection.execute(query).fetchall() == [(1,)]


def test_a_connection_without_the_extension(tmp_path):
    with (
        duckdb.connect() as plain,
        pytest.raises(ValueError, match=r"has no Merganser; open it with merganser.connect\(\)"),
    ):
        merganser.report(plain, "SELECT 1", tmp_path / "r.html")


@pytest.mark.parametrize("runner", ["", "local"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT nothing FROM item",
        "SELECT g, error('no ' || g) AS e FROM item GROUP BY g",
    ],
    ids=["when it is planned", "when it runs"],
)
def test_a_query_that_fails_raises_and_leaves_files_as_they_were(staged, tmp_path, query, runner):
    staged.execute(f"SET merganser_runner = '{runner}'")
    settings = "SELECT name, value, scope FROM duckdb_settings()"
    before = staged.execute(settings).fetchall()
    folder = tmp_path / "reports"
    folder.mkdir()
    with pytest.raises(duckdb.Error, match=r"nothing|no \d"):
        merganser.report(staged, query, folder / "r.html")
    assert not list(folder.iterdir())
    (folder / "r.html").write_text("the report of yesterday")
    with pytest.raises(duckdb.Error, match=r"nothing|no \d"):
        merganser.report(staged, query, folder / "r.html")
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("r.html", "the report of yesterday")]
    assert staged.execute(settings).fetchall() == before


def test_a_file_that_cannot_be_finished_is_not_left(staged, tmp_path, monkeypatch):
    """Text that has no UTF-8 stops the writing half-way."""
    monkeypatch.setattr("merganser.query_report.rendered", lambda document, form: "<!DOCTYPE html>\ud800")
    with pytest.raises(UnicodeEncodeError):
        merganser.report(staged, GROUPED, tmp_path / "reports.html")
    assert not [path for path in tmp_path.iterdir() if "reports" in path.name]


def test_a_report_replaces_the_one_before(staged, tmp_path):
    path = merganser.report(staged, GROUPED, tmp_path / "r.html", run=False)
    assert "only planned" in path.read_text()
    merganser.report(staged, GROUPED, path)
    assert "only planned" not in path.read_text()
    assert [found.name for found in tmp_path.iterdir() if "html" in found.name] == ["r.html"]


def test_a_notebook_shows_the_page(connection, tmp_path):
    shown = merganser.report(connection, "SELECT '\"<b>' AS s", tmp_path / "r.html")._repr_html_()
    assert re.fullmatch(r'<iframe srcdoc="[^"<>]*" title="Merganser report" style="[^"<>]*"></iframe>', shown)
    assert "Merganser report" in shown
    assert merganser.report(connection, "SELECT 1", tmp_path / "r.json")._repr_html_() is None


@pytest.mark.parametrize("mode", ["json", None])
def test_profiling_that_is_switched_on_sees_nothing_of_a_report(connection, tmp_path, mode):
    profile = tmp_path / "profile.json"
    connection.execute("SET enable_profiling = 'json'")
    connection.execute(f"SET profiling_output = '{profile}'")
    if mode is None:
        connection.execute("PRAGMA disable_profiling")
    connection.execute("SELECT 42 AS mine").fetchall()
    before = profile.read_text() if mode else None
    merganser.report(connection, "SELECT 43", tmp_path / "r.html")
    with pytest.raises(duckdb.Error, match="half-way"):
        merganser.report(connection, "SELECT error('half-way') FROM range(9)", tmp_path / "r.html")
    assert (profile.read_text() if profile.exists() else None) == before
    connection.execute("SELECT 44 AS mine").fetchall()
    assert profile.exists() == bool(mode)
    assert not mode or "44 AS mine" in profile.read_text()


def test_importing_merganser_stays_cheap():
    command = "import merganser, sys; print([m for m in ('jinja2', 'rich', 'typer', 'ray') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "[]\n"
