"""The report of one query: what was planned and why, what ran and what it took, as one file.

planned.py          decisions, plans without and with our rules, stages: all from the extension
measured.py         what the run took
surroundings.py     versions, machine, settings
document.py         all of it as one value; as JSON
carried_columns.py  where deferred columns are carried, before and after
operator_names.py   what operators are about; names in place of `#0`
hot_spots.py        where the time went, and what is worth a look
plan_tree.py        a plan as chains and branches, as the page draws it
comparison.py       two runs side by side
stage_graph.py      stages and the exchanges between them, laid out from left to right
stage_tree.py       stages as a tree in one column, for telephones and for many of them
timeline.py         which task ran when, and on which worker
mermaid.py          the same graph as Mermaid text
page.py             the HTML page, from page.html.jinja and page.css
quantities.py       numbers as people read them
finished_file.py    a file that appears only when it is complete
"""

import html
from pathlib import Path

import duckdb

from merganser.query_report.finished_file import check_target, write_finished

FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}


def report(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    path: str | Path = "report.html",
    *,
    run: bool = True,
    measure_before: bool = False,
    format: str | None = None,
    title: str | None = None,
) -> "WrittenReport":
    """Write what Merganser does to `query`, why, and what running it took, to `path`; return the path.

    Of several statements in `query`, those before the last are run first, and the report is about the last.

    `format` is "html", "json" or "mermaid"; without it the ending of `path` decides: .html, .json, .mmd. The page is
    one file that needs no network and no scripts. `run=False` only plans the query and leaves the figures of the run
    out. The query runs once, with the connection's settings, by EXPLAIN ANALYZE, so its rows are not returned;
    `measure_before=True` runs it in one DuckDB without our rules before that. `title` names the query; without it its
    first comment does, or its text. In a notebook the path that is returned shows the page.

    Raises ValueError where the last of `query` is not a query without parameters, the format is not known, or the
    connection has no Merganser; FileNotFoundError where the folder does not exist; and what the query itself raises.
    Then no file is written, and one that was there stays as it was.
    """
    path = Path(path)
    form = checked_format(path, format)
    check_target(path)
    from merganser.query_report.document import describe

    document = describe(connection, query, run=run, measure_before=measure_before, title=title)
    write_finished(path, rendered(document, form))
    return WrittenReport(path)


def compare_reports(first: str | Path, second: str | Path, path: str | Path = "comparison.html") -> "WrittenReport":
    """Write a page that compares two runs, from their reports as JSON: `first` and `second` name the files.

    Raises ValueError where one is no report of a run, FileNotFoundError where one does not exist.
    """
    path = Path(path)
    if FORMATS.get(path.suffix.lower()) != "html":
        raise ValueError(f"a comparison is a page; name a file that ends in .html, not {str(path)!r}")
    check_target(path, "comparison.html")
    from merganser.query_report.comparison import compare, read_report
    from merganser.query_report.page import as_comparison

    write_finished(path, as_comparison(compare(read_report(Path(first)), read_report(Path(second)))))
    return WrittenReport(path)


class WrittenReport(type(Path())):
    """The path of a report; a notebook shows the page in place of the name."""

    def _repr_html_(self) -> str | None:
        if FORMATS.get(self.suffix.lower()) != "html":
            return None
        page = html.escape(self.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{page}" title="Merganser report" style="width:100%;height:40rem;border:0"></iframe>'


def checked_format(path: Path, format: str | None) -> str:
    known = sorted(set(FORMATS.values()))
    if format is not None and format not in known:
        raise ValueError(f"format must be one of {', '.join(known)}, not {format!r}")
    if format is None and path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"the ending of {str(path)!r} names no format ({', '.join(FORMATS)}); pass format=, one of "
            f"{', '.join(known)}"
        )
    return format or FORMATS[path.suffix.lower()]


def rendered(document, form: str) -> str:
    if form == "html":
        from merganser.query_report.page import as_page

        return as_page(document)
    if form == "mermaid":
        from merganser.query_report.mermaid import as_mermaid

        return as_mermaid(document)
    return document.as_json()
