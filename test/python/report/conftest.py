"""Reading a report's page with the standard library, and a small database to report on."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import merganser
import pytest

VOID = {"meta", "link", "br", "img", "input", "hr"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    content: "list[Element | str]" = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it shows, with single blanks between words."""
        return " ".join(self.raw_text.split())

    @property
    def raw_text(self) -> str:
        return "".join(part if isinstance(part, str) else part.raw_text for part in self.content)

    def all(self, tag: str = "", of: str = "") -> "list[Element]":
        """Elements below it, by tag and class, in the order of the page."""
        found = []
        for part in self.content:
            if isinstance(part, Element):
                if tag in ("", part.tag) and (not of or of in part.attributes.get("class", "").split()):
                    found.append(part)
                found += part.all(tag, of)
        return found

    def with_id(self, name: str) -> "Element":
        (found,) = [element for element in self.all() if element.attributes.get("id") == name]
        return found


class Reader(HTMLParser):
    """Raises where elements are not closed in the order they were opened, and on what HTML would have to guess."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Element("document")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attributes})
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open[-1].content.append(Element(tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def read_page(path: Path) -> Element:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == [reader.root], "elements are left open"
    return reader.root


@pytest.fixture
def read() -> Callable[[Path], Element]:
    """read(path): a page as elements."""
    return read_page


@pytest.fixture
def page_of(tmp_path) -> Callable[..., Element]:
    """page_of(connection, query): the page that merganser.report() writes."""

    def page(connection: duckdb.DuckDBPyConnection, query: str, **options) -> Element:
        return read_page(merganser.report(connection, query, tmp_path / "page.html", **options))

    return page


@pytest.fixture
def shop(connection) -> duckdb.DuckDBPyConnection:
    """Customers with wide columns, and their sales; the key is declared."""
    connection.execute(
        "CREATE TABLE customer AS "
        "SELECT i AS id, 'name ' || i AS name, repeat('-', 80) AS comment FROM range(20000) t(i)"
    )
    connection.execute("CREATE TABLE sale AS SELECT i % 20000 AS customer_id, i % 997 AS price FROM range(200000) t(i)")
    connection.execute("ALTER TABLE customer ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    return connection


@pytest.fixture
def staged(shop, tmp_path) -> duckdb.DuckDBPyConnection:
    """The same with a view `item` over three files; queries run in stages of four tasks."""
    for part in range(3):
        rows = f"SELECT i, i % 7 AS g, 'text ' || i AS t FROM range({part * 3000}, {(part + 1) * 3000}) r(i)"
        shop.execute(f"COPY ({rows}) TO '{tmp_path}/item_{part}.parquet' (ROW_GROUP_SIZE 2048)")
    shop.execute(f"CREATE VIEW item AS FROM read_parquet('{tmp_path}/item_*.parquet')")
    for setting in ("runner = 'local'", "distribute_min_bytes = 0", "tasks = 4", "slots = 2"):
        shop.execute(f"SET merganser_{setting}")
    return shop
