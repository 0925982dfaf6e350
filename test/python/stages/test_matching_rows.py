"""Joins whose small side must not go to all tasks: of the large side only rows that match are exchanged."""

import merganser
import pytest
from staged import assert_same_rows, cut_everything

KINDS = {
    "left": "SELECT x.i, b.i FROM x LEFT JOIN b ON x.k = b.k",
    "right": "SELECT x.i, b.i FROM b RIGHT JOIN x ON x.k = b.k",
    "semi": "SELECT i, k FROM x WHERE k IN (SELECT k FROM b)",
    "anti": "SELECT i, k FROM x ANTI JOIN b USING (k)",
    "null-safe": "SELECT x.i, b.i FROM x LEFT JOIN b ON x.k IS NOT DISTINCT FROM b.k",
    "computed keys": "SELECT x.i, b.i FROM x LEFT JOIN b ON x.k + 1 = b.k - 1",
    "two keys": "SELECT x.i, b.i FROM x LEFT JOIN b ON x.k = b.k AND x.i = b.i",
    "other conditions": "SELECT x.i, b.i FROM x LEFT JOIN b ON x.k = b.k AND x.i < b.i",
    "texts": "SELECT x.i, b.i FROM x LEFT JOIN b ON upper(x.s) = upper(b.s)",
    "aggregate": "SELECT x.k, count(b.i) FROM x LEFT JOIN b ON x.k = b.k GROUP BY x.k",
}
#: Every row of the large side counts, or DuckDB expects no row of the small side to be missing.
WHOLE = {
    "full": "SELECT x.i, b.i FROM x FULL JOIN b ON x.k = b.k",
    "whole": "SELECT few.k, b.i FROM few LEFT JOIN b ON few.k = b.k",
}
REASON = "without the rows that match nothing"


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matching")
    rows = "SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE i % 9973 * {} END AS k, i, 'Key ' || k AS s FROM range({}) r(i)"
    with merganser.connect() as connection:
        for name, numbers in {"b": (2, 50000), "few": (1, 3000)}.items():
            connection.execute(f"COPY ({rows.format(*numbers)}) TO '{folder}/{name}.parquet' (ROW_GROUP_SIZE 2048)")
            connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")
        connection.execute("CREATE VIEW x AS FROM few WHERE i % 10 < 2")
        cut_everything(connection)
        connection.execute("SET merganser_broadcast_max_bytes = 20000")
        yield connection


def stages_of(connection, query: str) -> list[dict]:
    """Their reports, with the reasons; the rows are those of DuckDB alone."""
    reasons = connection.execute("SELECT reason FROM merganser_stages($1) ORDER BY stage", [query]).fetchall()
    expected = connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = 'local'")
    rows = connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = ''")
    assert_same_rows(rows, expected, ordered=False)
    assert rows
    stages = merganser.last_query()["stages"]
    return [{**stage, "reason": reason} for stage, (reason,) in zip(stages, reasons, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
def test_kind(connection, kind):
    matching = [stage for stage in stages_of(connection, KINDS[kind]) if REASON in stage["reason"]]
    assert matching
    for stage in matching:
        assert stage["tasks"] == 4
        assert stage["rows_in"] > 50000
        assert stage["rows_out"] < 10000


@pytest.mark.parametrize("kind", WHOLE)
def test_all_rows_are_exchanged(connection, kind):
    assert all(REASON not in stage["reason"] for stage in stages_of(connection, WHOLE[kind]))


def test_never_where_nothing_may_go_to_all_tasks(connection):
    connection.execute("SET merganser_broadcast_max_bytes = 0")
    assert all(REASON not in stage["reason"] for stage in stages_of(connection, KINDS["left"]))
    connection.execute("SET merganser_broadcast_max_bytes = 20000")
