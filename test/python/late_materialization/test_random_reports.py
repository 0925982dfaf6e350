"""Random schemas, data and report queries: with the rule and without it the rows are the same.

Ties cannot disagree: every query ends its ORDER BY with a key of the result, and sums are of integers.
"""

from collections import Counter

import duckdb
import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st

# Type -> values in SQL of which equality holds only where written equal, except for the inexact ones.
KEY_TYPES = {
    "INTEGER": ["0", "1", "2", "3", "4"],
    "BIGINT": ["0", "1", "2", "3", "4"],
    "VARCHAR": ["'0'", "'1'", "'a'", "'A'", "''"],
    "DATE": ["DATE '2024-01-01'", "DATE '2024-02-29'", "DATE '1900-01-01'"],
    "DECIMAL(9,2)": ["0.10", "0.11", "-5.00"],
    "DOUBLE": ["'0.0'::DOUBLE", "'-0.0'::DOUBLE", "'nan'::DOUBLE", "1.5"],
    "VARCHAR COLLATE NOCASE": ["'a'", "'A'", "'b'"],
    "INTEGER[]": ["[1]", "[1, NULL]", "[]"],
    "STRUCT(x INTEGER)": ["{'x': 1}", "{'x': NULL}"],
}
PAYLOAD_TYPES = {
    "VARCHAR": ["NULL", "'x'", "'wide text'", "'Wide Text'"],
    "DOUBLE": ["NULL", "'0.0'::DOUBLE", "'-0.0'::DOUBLE", "2.5"],
    "INTEGER": ["NULL", "7", "8"],
    "INTERVAL": ["NULL", "INTERVAL 1 MONTH", "INTERVAL 30 DAYS"],
    "VARCHAR[]": ["NULL", "['p']", "[]"],
}
ENFORCEABLE = ("INTEGER", "BIGINT", "VARCHAR", "DATE", "DECIMAL(9,2)")

applied = Counter()


@st.composite
def dimensions(draw, name: str, parent: str | None):
    """A dimension: its columns' types, its rows, how its key is known, and perhaps a column leading to `parent`."""
    types = draw(st.lists(st.sampled_from(list(KEY_TYPES)), min_size=1, max_size=2))
    if draw(st.sampled_from([True] * 3 + [False])):
        types = ["INTEGER"] * len(types)
    how = draw(st.sampled_from(["primary", "declared", "unique"] * 4 + ["nullable unique", "none"]))
    if any(type_ not in ENFORCEABLE for type_ in types) and how != "none":
        how = "declared"
    payload = draw(st.lists(st.sampled_from(list(PAYLOAD_TYPES)), min_size=1, max_size=3))
    keys = draw(
        st.lists(st.tuples(*(st.sampled_from(KEY_TYPES[type_]) for type_ in types)), max_size=8, unique=how != "none")
    )
    if how == "nullable unique":
        keys += [("NULL",) * len(types)] * 2
    if how == "declared":
        keys = distinct_under_equality(types, keys)
    rows = [[*key, *(draw(st.sampled_from(PAYLOAD_TYPES[type_])) for type_ in payload)] for key in keys]
    columns = [(f"{name}_k{i}", type_) for i, type_ in enumerate(types)]
    columns += [(f"{name}_p{i}", type_) for i, type_ in enumerate(payload)]
    if parent:
        columns.append((f"{name}_up", "INTEGER"))
        for row in rows:
            row.append(draw(st.sampled_from(["NULL", "0", "1", "2"])))
    return {
        "name": name,
        "key": [f"{name}_k{i}" for i in range(len(types))],
        "columns": columns,
        "rows": rows,
        "how": how,
    }


def distinct_under_equality(types: list[str], keys: list[tuple]) -> list[tuple]:
    """A declared key has to be true: no two rows equal as DuckDB compares them."""
    kept: dict[tuple, tuple] = {}
    for key in keys:
        canonical = tuple(
            value.lower() if "NOCASE" in type_ else value.replace("-0.0", "0.0")
            for type_, value in zip(types, key, strict=True)
        )
        kept.setdefault(canonical, key)
    return list(kept.values())


@st.composite
def databases(draw):
    a = draw(dimensions("a", parent="b"))
    b = draw(dimensions("b", parent=None))
    b["key"], b["columns"][0] = ["b_k0"], ("b_k0", "INTEGER")
    b["columns"] = [column for column in b["columns"] if column[0] != "b_k1"]
    payload = len([column for column in b["columns"] if "_p" in column[0]])
    count = draw(st.integers(0, 3))
    rows = [[str(i), *row[-payload:]] for i, row in enumerate(b["rows"][:count])]
    b["rows"], b["how"] = rows, draw(st.sampled_from(["primary", "declared", "unique"]))
    facts = draw(
        st.lists(
            st.tuples(
                *(st.sampled_from([*KEY_TYPES[type_], "NULL"]) for column, type_ in a["columns"] if "_k" in column),
                st.sampled_from(["NULL", "1", "2", "50"]),
            ),
            max_size=30,
        )
    )
    return a, b, facts


def create(connection: duckdb.DuckDBPyConnection, a: dict, b: dict, facts: list[tuple]) -> None:
    for table in (a, b):
        key = ", ".join(table["key"])
        constraint = {"primary": f", PRIMARY KEY ({key})", "unique": f", UNIQUE ({key})"}
        constraint["nullable unique"] = constraint["unique"]
        not_null = " NOT NULL" if table["how"] == "unique" else ""
        columns = [f"{name} {type_}{not_null if name in table['key'] else ''}" for name, type_ in table["columns"]]
        connection.execute(f"CREATE TABLE {table['name']} ({', '.join(columns)}{constraint.get(table['how'], '')})")
        for row in table["rows"]:
            connection.execute(f"INSERT INTO {table['name']} VALUES ({', '.join(row)})")
        if table["how"] == "declared":
            connection.execute(f"ALTER TABLE {table['name']} ADD PRIMARY KEY ({key}) NOT ENFORCED RELY")
    types = [type_ for column, type_ in a["columns"] if "_k" in column]
    columns = [f"f{i} {type_}" for i, type_ in enumerate(types)]
    connection.execute(f"CREATE TABLE f ({', '.join(columns)}, v INTEGER)")
    for row in facts:
        connection.execute(f"INSERT INTO f VALUES ({', '.join(row)})")


@st.composite
def reports(draw, a: dict, b: dict):
    with_b = draw(st.booleans())
    kind = draw(st.sampled_from(["JOIN"] * 9 + ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN"]))
    on = " AND ".join(f"f{i} = {column}" for i, column in enumerate(a["key"]))
    source = f"a SEMI JOIN f ON {on}" if kind == "SEMI JOIN" else f"f {kind} a ON {on}"
    value = "1" if kind == "SEMI JOIN" else "v"
    facts_side = [] if kind == "SEMI JOIN" else [f"f{i}" for i in range(len(a["key"]))]
    if with_b:
        source += draw(
            st.sampled_from([" JOIN b ON a_up = b_k0", ", b WHERE a_up = b_k0", " LEFT JOIN b ON a_up = b_k0"])
        )
    available = [name for name, _ in a["columns"]] + ([name for name, _ in b["columns"]] if with_b else [])
    key = (
        a["key"]
        if draw(st.sampled_from([True] * 9 + [False]))
        else draw(st.sampled_from([facts_side or a["key"], a["key"][:1]]))
    )
    others = draw(st.lists(st.sampled_from(available), min_size=1, max_size=4, unique=True))
    groups = list(dict.fromkeys([*key, *others]))
    text = draw(st.sampled_from([[], [], [f"({others[0]})::VARCHAR || '!'"]]))
    aggregates = [f"sum({value})", "count(*)", f"count(DISTINCT {value})", f"sum({value}) FILTER ({value} > 1)"]
    aggregates += [f"any_value({others[-1]})", f"max({others[-1]})::VARCHAR"] if others[-1] in key else []
    shown = [draw(st.sampled_from(aggregates))]
    having = draw(st.sampled_from(["", "", " HAVING count(*) > 1", f" HAVING {groups[0]} IS NOT NULL"]))
    direction = draw(st.sampled_from(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]))
    last = [f"({column})::VARCHAR" for column in groups] if draw(st.sampled_from([False] * 4 + [True])) else list(key)
    order = ", ".join([f"count(*){direction}", *last])
    limit = f"LIMIT {draw(st.integers(1, 6))}" + draw(st.sampled_from(["", "", " OFFSET 2"]))
    columns = ", ".join(f"{column} AS c{i}" for i, column in enumerate([*groups, *text, *shown]))
    grouping = ", ".join([*groups, *text])
    return f"SELECT {columns} FROM {source} GROUP BY {grouping}{having} ORDER BY {order} {limit}", last != list(key)


@given(data=st.data())
def check_one_report(data):
    a, b, facts = data.draw(databases())
    query, total = data.draw(reports(a, b))
    with merganser.connect() as connection:
        connection.execute("SET merganser_late_materialization_cost = false")
        create(connection, a, b, facts)
        decision = connection.execute(
            "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'", [query]
        ).fetchall()
        rewritten = decision == [("applied",)]
        applied[decision[0][0]] += 1
        with_rule = connection.execute(query).fetchall()
        connection.execute("SET merganser_late_materialization = false")
        without_rule = connection.execute(query).fetchall()
        if not (total or rewritten):
            return  # not rewritten: the same plan ran twice, and ties may fall either way
        assert list(map(repr, with_rule)) == list(map(repr, without_rule)), query


def test_random_reports():
    check_reports()


@pytest.mark.slow
def test_many_random_reports():
    check_reports()


def check_reports() -> None:
    applied.clear()
    check_one_report()
    assert applied["applied"] * 3 >= applied.total(), applied
