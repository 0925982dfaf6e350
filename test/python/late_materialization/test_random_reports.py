"""Random schemas, data and report queries: with the rule and without it the rows are the same.

Ties cannot disagree: sums are of integers, and a query ends its ORDER BY with a key of the result, so that rows compare
as lists, or shows all its groups. Half the reports have no bound, and something stands above them. Each query runs with
its numbers written and, prepared, with parameters for them.

Where a declaration is not true, the rows are DuckDB's or an error says that it does not hold.
"""

import re
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
# Most of these hold for no row, and DuckDB can tell from the text, constraints or statistics alone.
PREDICATES = ["{1} = {0}", "{1} = {1}", "{column} < {column}", "{column} IS NULL", "{column} IS NOT NULL", "NULL"]
PREDICATES += ["{column} = ANY([])", "NOT ({column} = {column})", "{key} = {value}", "{key} IN ({value}, NULL)"]
PREDICATES += ["{key} <> {value}", "({key} = {value}) IS NOT TRUE"]
FACT_PREDICATES = ["v > {5} AND v < {3}", "v > {1000}", "v >= {1}", "v IN ({1}, {2})", "v IS NULL", "v <> {50}"]
HAVING = ["count(*) > {1}", "{group} IS NOT NULL", "count(*) < {0}", "{1} = {0}", "count(DISTINCT {value}) > {1}"]
HAVING += ["sum({value}) > {2} AND {group} IS NOT NULL", "max({value}) IS NULL", "{group} IS NULL"]
# What stands above a report without a bound; c0 is a column of it.
ABOVE = ["{query}", "{query} ORDER BY ALL", "{query} LIMIT {1000}", "SELECT count(*) FROM ({query} LIMIT {2}) q"]
ABOVE += ["FROM ({query}) q WHERE c0 IS NOT NULL", "SELECT c0 FROM ({query}) q", "SELECT DISTINCT q FROM ({query}) q"]
ABOVE += ["SELECT *, count(*) OVER () AS groups FROM ({query}) q", "({query}) UNION ALL ({query})"]
ABOVE += ["FROM ({query}) q QUALIFY count(*) OVER (PARTITION BY c0) > {1}", "({query}) EXCEPT ({query} LIMIT {0})"]
ABOVE += ["WITH r AS MATERIALIZED ({query}) SELECT r.*, o.c0 AS other FROM r LEFT JOIN r o ON r.c0 = o.c0"]
ABOVE += ["SELECT c0::VARCHAR AS c0, count(*) FROM ({query}) q GROUP BY ALL HAVING count(*) > {0}"]
ABOVE += ["SELECT q.*, m FROM ({query}) q, (SELECT max(v) AS m FROM f) g WHERE m > {0} OR m IS NULL"]
# A number in braces is a parameter of the prepared form.
PARAMETER = re.compile(r"\{(\d+)\}")

applied = Counter()
outcomes = Counter()


@st.composite
def dimensions(draw, name: str, parent: str | None):
    """A dimension: its columns' types, its rows, how its key is known, and perhaps a column leading to `parent`."""
    types = draw(st.lists(st.sampled_from(list(KEY_TYPES)), min_size=1, max_size=2))
    if draw(st.sampled_from([True] * 3 + [False])):
        types = ["INTEGER"] * len(types)
    how = draw(st.sampled_from(["primary", "declared", "declared", "unique"] * 3 + ["nullable unique", "none"]))
    if any(type_ not in ENFORCEABLE for type_ in types) and how != "none":
        how = "declared"
    payload = draw(st.lists(st.sampled_from(list(PAYLOAD_TYPES)), min_size=1, max_size=3))
    keys = draw(
        st.lists(st.tuples(*(st.sampled_from(KEY_TYPES[type_]) for type_ in types)), max_size=8, unique=how != "none")
    )
    if how == "nullable unique":
        keys += [("NULL",) * len(types)] * 2
    broken = how == "declared" and draw(st.sampled_from([False] * 4 + [True]))
    if how == "declared" and not broken:
        keys = distinct_under_equality(types, keys)
    if broken and keys:
        keys.append(draw(st.sampled_from([*keys, (*keys[0][:-1], "NULL")])))
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
        "broken": broken,
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
    b["rows"], b["how"], b["broken"] = rows, draw(st.sampled_from(["primary", "declared", "unique"])), False
    facts = draw(
        st.lists(
            st.tuples(
                *(st.sampled_from([*KEY_TYPES[type_], "NULL"]) for column, type_ in a["columns"] if "_k" in column),
                st.sampled_from(["NULL", "1", "2", "50"]),
            ),
            max_size=30,
        )
    )
    return a, b, facts, draw(st.sampled_from(["none", "held", "held", "broken"]))


def create(connection: duckdb.DuckDBPyConnection, a: dict, b: dict, facts: list[tuple], foreign_keys: str) -> None:
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
    if foreign_keys != "none" and a["how"] in ("primary", "declared", "unique"):
        facts_side = [f"f{i}" for i in range(len(types))]
        declare_foreign_key(connection, "a", ["a_up"], b, foreign_keys)
        declare_foreign_key(connection, "f", facts_side, a, foreign_keys)


def declare_foreign_key(connection, table: str, columns: list[str], referenced: dict, foreign_keys: str) -> None:
    if foreign_keys == "held":
        partner = " AND ".join(f"{mine} = {key}" for mine, key in zip(columns, referenced["key"], strict=True))
        not_null = " AND ".join(f"{column} IS NOT NULL" for column in columns)
        connection.execute(
            f"DELETE FROM {table} WHERE {not_null} AND NOT EXISTS (FROM {referenced['name']} WHERE {partner})"
        )
    connection.execute(
        f"ALTER TABLE {table} ADD FOREIGN KEY ({', '.join(columns)}) REFERENCES {referenced['name']}"
        f" ({', '.join(referenced['key'])}) NOT ENFORCED RELY"
    )


@st.composite
def joined(draw, a: dict, kind: str, with_b: bool):
    """FROM; whether a row of `f` finds one row of `a` and no other row has NULL there; conditions for WHERE."""
    on = " AND ".join(f"f{i} = {column}" for i, column in enumerate(a["key"]))
    if kind == "SEMI JOIN":
        source = f"a SEMI JOIN f ON {on}"
    else:
        derived = ["(SELECT * FROM a) a", "(SELECT * FROM a WHERE a_p0 IS NOT NULL) a"]
        derived.append("(SELECT * REPLACE (coalesce(a_up, {0}) AS a_up) FROM a) a")
        on += draw(st.sampled_from([""] * 5 + [" AND a_p0 IS NOT NULL", " AND v > {1}", " AND a_up = {1}"]))
        supplied = draw(st.sampled_from(["a"] * 5 + derived))
        if with_b and supplied == "a" and draw(st.booleans()):
            inner = draw(st.sampled_from(["JOIN", "LEFT JOIN"]))
            return f"f {kind} (a {inner} b ON a_up = b_k0) ON {on}", False, []
        source = f"f {kind} {supplied} ON {on}" if draw(st.booleans()) else f"{supplied} {mirrored(kind)} f ON {on}"
    finds_one = kind in ("JOIN", "LEFT JOIN") and "v >" not in on
    if not with_b:
        return source, finds_one, []
    link = draw(st.sampled_from([" JOIN b ON a_up = b_k0", ", b", " LEFT JOIN b ON a_up = b_k0"]))
    return source + link, finds_one, ["a_up = b_k0"] if link == ", b" else []


def mirrored(kind: str) -> str:
    return {"LEFT JOIN": "RIGHT JOIN", "RIGHT JOIN": "LEFT JOIN"}.get(kind, kind)


@st.composite
def reports(draw, a: dict, b: dict):
    with_b = draw(st.booleans())
    kind = draw(st.sampled_from(["JOIN"] * 8 + ["LEFT JOIN"] * 5 + ["RIGHT JOIN", "FULL JOIN"] * 2 + ["SEMI JOIN"]))
    value = "1" if kind == "SEMI JOIN" else "v"
    facts_side = [] if kind == "SEMI JOIN" else [f"f{i}" for i in range(len(a["key"]))]
    source, finds_one, where = draw(joined(a, kind, with_b))
    available = [name for name, _ in a["columns"]] + ([name for name, _ in b["columns"]] if with_b else [])
    key = (
        a["key"]
        if draw(st.sampled_from([True] * 9 + [False]))
        else draw(st.sampled_from([facts_side or a["key"], a["key"][:1]]))
    )
    others = draw(st.lists(st.sampled_from(available), min_size=1, max_size=4, unique=True))
    groups = list(dict.fromkeys([*key, *others]))
    texts = [[], [], [], [f"({others[0]})::VARCHAR || '!'"], ["'constant'"], ["{7} + {1}"], ["NULL::DATE"]]
    text = draw(st.sampled_from(texts))
    aggregates = [f"sum({value})", "count(*)", f"count(DISTINCT {value})", f"sum({value}) FILTER ({value} > {{1}})"]
    aggregates += [f"sum(DISTINCT {value})", f"count(DISTINCT {value}) FILTER ({value} < {{50}})"]
    aggregates += ["count(*) FILTER (false)", f"max({value})"]
    aggregates += [f"any_value({others[-1]})", f"max({others[-1]})::VARCHAR"] if others[-1] in key else []
    shown = draw(st.lists(st.sampled_from(aggregates), min_size=1, max_size=2))
    shown += draw(st.sampled_from([[], [], [], ["{42}"], ["'shown'"]]))
    # Not every group column is shown, and the key need not be.
    visible = [column for column in [*groups, *text] if draw(st.sampled_from([True] * 5 + [False]))]
    key_column, key_type = next((name, type_) for name, type_ in a["columns"] if name == a["key"][0])
    predicates = PREDICATES if kind == "SEMI JOIN" else PREDICATES + FACT_PREDICATES
    where += draw(st.sampled_from([[]] * 3 + [[predicate] for predicate in predicates]))
    names = {"{column}": draw(st.sampled_from(available)), "{key}": key_column}
    names["{value}"] = draw(st.sampled_from(KEY_TYPES[key_type]))
    having = draw(st.sampled_from([""] * len(HAVING) + HAVING))
    direction = draw(st.sampled_from(["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]))
    last = [f"({column})::VARCHAR" for column in groups] if draw(st.sampled_from([False] * 4 + [True])) else list(key)
    first = draw(st.sampled_from(["count(*)", "count(*)", f"count(DISTINCT {value})", "{1} + {1}", f"max({value})"]))
    order = ", ".join([f"{first}{direction}", *last])
    known = a["how"] in ("primary", "declared", "unique") and not a["broken"]
    unique = known and len(key) == len(a["key"]) and (key == a["key"] or finds_one)
    ordered = last != list(key) or unique
    limit = draw(st.sampled_from([" LIMIT {1}", " LIMIT {3}", " LIMIT {6}"] * 3 + [" LIMIT {0}"]))
    limit += draw(st.sampled_from(["", "", " OFFSET {2}"]))
    if not ordered:
        limit = " LIMIT {1000}"
    distinct = draw(st.sampled_from([False] * 4 + [True]))
    listed = [*groups, *text] if distinct else [*visible, *shown]
    columns = ", ".join(f"{column} AS c{i}" for i, column in enumerate(listed))
    query = f"SELECT {'DISTINCT ' if distinct else ''}{columns} FROM {source}"
    query += " WHERE " + " AND ".join(f"({replaced(predicate, names)})" for predicate in where) if where else ""
    if distinct:
        bounded = f"{query} ORDER BY {', '.join(f'c{i}' for i in range(len(key)))}{limit}"
        return (bounded, ordered) if draw(st.booleans()) else (draw(above(query)), False)
    query += f" GROUP BY {', '.join([*groups, *text])}"
    query += " HAVING " + replaced(having, {"{group}": groups[0], "{value}": value}) if having else ""
    if draw(st.booleans()):
        return draw(above(query)), False
    return query + f" ORDER BY {order}{limit}", ordered


@st.composite
def above(draw, query: str) -> str:
    return draw(st.sampled_from(ABOVE)).replace("{query}", query)


def replaced(text: str, names: dict[str, str]) -> str:
    for name, column in names.items():
        text = text.replace(name, column)
    return text


def outcome(connection: duckdb.DuckDBPyConnection, query: str, parameters: list[int] | None = None) -> list[str] | str:
    """The rows as text, or which declaration does not hold; any other error is one of the test."""
    try:
        return [repr(row) for row in connection.execute(query, parameters).fetchall()]
    except duckdb.InvalidInputException as error:
        assert "does not hold" in str(error)
        return str(error)


@given(data=st.data())
def check_one_report(data):
    a, b, facts, foreign_keys = data.draw(databases())
    template, ordered = data.draw(reports(a, b))
    query = PARAMETER.sub(r"\1", template)
    prepared = PARAMETER.sub(data.draw(st.sampled_from(["?", "?::INTEGER"])), template)
    parameters = [int(number) for number in PARAMETER.findall(template)]
    with merganser.connect() as connection:
        connection.execute("SET merganser_late_materialization_cost = false")
        create(connection, a, b, facts, foreign_keys)
        decision = connection.execute(
            "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'", [query]
        ).fetchall()
        applied[decision[0][0] if decision else "not looked at"] += 1
        with_rule = outcome(connection, query)
        with_parameters = outcome(connection, prepared, parameters)
        connection.execute("SET merganser_late_materialization = false")
        without_rule = outcome(connection, query)
        for result in (with_rule, with_parameters):
            if isinstance(result, str):
                assert a["broken"] or foreign_keys == "broken", query
                outcomes["refused"] += 1
            elif ordered:
                assert result == without_rule, query
            else:
                assert sorted(result) == sorted(without_rule), query


def test_random_reports():
    check_reports()


@pytest.mark.slow
def test_many_random_reports():
    check_reports()
    assert outcomes["refused"] > 0, outcomes


def check_reports() -> None:
    applied.clear()
    outcomes.clear()
    check_one_report()
    assert applied["applied"] * 3 >= applied.total(), applied
