"""The documentation's claims that a program can check: links, names, and examples that run.

A block marked ```sql is run, in the order of the page, in one connection per page; ```sql error must fail. What a
page's examples need and readers do not stands before them in a comment that starts with `<!-- sql`. The examples run in
an empty folder.
"""

import re
import runpy
from pathlib import Path

import duckdb
import merganser
import pytest

ROOT = Path(__file__).parents[3]
PAGES = [
    path for folder, pattern in ((ROOT, "*.md"), (ROOT / "docs", "**/*.md")) for path in sorted(folder.glob(pattern))
]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]
INTERNAL_FUNCTIONS = {"merganser_take_secret"}
WRITTEN = {"reference": ("write_reference.py", "reference"), "pictures": ("draw_windows.py", "pictures")}

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```(?P<kind>sql(?: error)?)\n(?P<block>.*?)^```|<!-- sql\n(?P<comment>.*?)-->", re.M | re.S)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_resolve(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}, which does not exist"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}, which has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_sql_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with merganser.connect() as connection:
        for example in EXAMPLE.finditer(page.read_text()):
            line = page.read_text()[: example.start()].count("\n") + 1
            sql = example["block"] or example["comment"]
            try:
                connection.execute(sql)
                error = None
            except duckdb.Error as caught:
                error = caught
            wanted = example["kind"] == "sql error"
            assert (error is not None) == wanted, f"{page.name}:{line}: {error or 'should fail, but does not'}\n{sql}"


def names_of_ours(query: str) -> set[str]:
    with duckdb.connect() as plain, merganser.connect() as ours:
        names = {name for (name,) in ours.execute(query).fetchall()}
        return names - {name for (name,) in plain.execute(query).fetchall()}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM duckdb_settings()",
        "SELECT DISTINCT function_name FROM duckdb_functions()",
    ],
    ids=["settings", "functions"],
)
def test_every_name_is_documented(query):
    text = "\n".join(page.read_text() for page in PAGES).lower()
    names = names_of_ours(query) - INTERNAL_FUNCTIONS
    missing = {name for name in names if not re.search(rf"\b{re.escape(name.lower())}\b", text)}
    assert not missing, f"no page mentions {sorted(missing)}"


def test_remedies_on_the_page_are_those_of_the_rule(connection):
    """The table of docs/late_materialization.md has every code once, and says to do what merganser_explain says."""
    page = (ROOT / "docs" / "late_materialization.md").read_text()
    table = page.partition("## When it declines")[2].partition("The codes are stable")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", table, re.MULTILINE)
    known = connection.execute(
        "SELECT code, remedy FROM merganser_decline_reasons() WHERE rule = 'late_materialization'"
    ).fetchall()
    assert len(known) > 15
    assert sorted((code, remedy.replace("`", "")) for code, remedy in rows) == sorted(known)


@pytest.mark.parametrize("folder", WRITTEN)
def test_written_pages_and_pictures_are_what_their_scripts_write(folder):
    script, function = WRITTEN[folder]
    written = runpy.run_path(str(ROOT / "scripts" / script))[function]()
    kept = {path.name: path.read_text() for path in (ROOT / "docs" / folder).iterdir()}
    assert kept.keys() == written.keys()
    assert [name for name in written if written[name] != kept[name]] == [], f"run scripts/{script}"


def test_rooms_use_only_rooms_above_them():
    """The order of docs/house.md is that of the includes."""
    table = (ROOT / "docs" / "house.md").read_text().partition("| room in")[2].partition("\n\n")[0]
    rooms = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(rooms) == {folder.name for folder in (ROOT / "src").iterdir() if folder.is_dir()}
    upward = [
        f"{path.relative_to(ROOT)} includes {used}"
        for room in rooms
        for path in (ROOT / "src" / room).glob("**/*.[ch]pp")
        for used in re.findall(r'#include "(\w+/\w+\.hpp)"', path.read_text())
        if used.split("/")[0] in rooms[rooms.index(room) + 1 :]
    ]
    assert upward == []


def test_lines_of_code_and_comments_fit():
    """clang-format leaves comments alone, as they hold tables and diagrams; nothing else keeps them to 120 columns."""
    sources = [path for folder in ("src", "test") for path in (ROOT / folder).glob("**/*.[ch]pp")]
    assert sources
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line.expandtabs(4)) > 120
    ]
    assert long == []
