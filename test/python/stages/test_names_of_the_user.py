"""Macros named like DuckDB's own functions change nothing that the query itself does not call."""

import json
import re

import duckdb
import merganser
import pytest
from staged import REPRESENTATIVE_OF_TPCDS, assert_same_rows, cut_everything, rows_or_error
from test_shapes import ORDERED, SHAPES, lines

CALLED = re.compile(r"the macro (.*) of the user")
#: What SQL calls without a name: a list in brackets, a row in parentheses, an operator.
SYNTAX = {"row", "list_value", "struct_pack"}
#: Other rows each time; a function that SQL calls by a word that is none; nothing to divide.
LEFT_OUT = ("random()", "current_date", "i < 0")
QUERIES = [query for query in lines(SHAPES) + lines(ORDERED) if not any(text in query for text in LEFT_OUT)]


def macro(name: str, kind: str) -> str:
    """A macro that tells when it is called, with any number of arguments."""
    body = f"system.main.error('the macro {name.replace(chr(39), chr(39) * 2)} of the user')"
    body = f"TABLE (SELECT {body})" if kind == "table" else body
    quoted = '"' + name.replace('"', '""') + '"'
    versions = ", ".join(f"({', '.join('abcdef'[:count])}) AS {body}" for count in range(6))
    return f"CREATE OR REPLACE MACRO {quoted}{versions}"


class Shadows:
    """A macro of the user for every function of DuckDB, but for those that the query calls."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        names = connection.execute("""
            SELECT function_name, min(CASE WHEN function_type LIKE 'table%' THEN 'table' ELSE 'scalar' END)
            FROM duckdb_functions() WHERE database_name = 'system' AND function_name <> 'merganser_stages' GROUP BY ALL
        """).fetchall()
        self.macros = {name: macro(name, kind) for name, kind in names}
        self.kinds = dict(names)
        for sql in self.macros.values():
            connection.execute(sql)

    def rows(self, query: str) -> list[tuple] | str:
        """What DuckDB alone makes of the query once the macros it calls, by name or by syntax, are gone."""
        self.dropped = []
        words = set(re.findall(r"\w+", query.lower()))
        self.drop({name for name in self.macros if name in words or (not name[0].isalpha() and name in query)})
        while True:
            result = rows_or_error(self.connection, query)
            called = CALLED.search(result) if isinstance(result, str) else None
            if called:
                self.drop({called[1]})
            elif isinstance(result, str) and set(self.dropped) & SYNTAX != SYNTAX:
                self.drop(SYNTAX - set(self.dropped))
            else:
                return result

    def drop(self, names: set[str]) -> None:
        for name in names:
            kind = "MACRO TABLE" if self.kinds[name] == "table" else "MACRO"
            self.connection.execute(f'DROP {kind} "{name}"')
            self.dropped.append(name)

    def restore(self) -> None:
        for name in self.dropped:
            self.connection.execute(self.macros[name])


@pytest.fixture(scope="module")
def shadows(tmp_path_factory, tpch_parquet, tpcds_database):
    folder = tmp_path_factory.mktemp("names")
    with merganser.connect() as connection:
        connection.execute(f"""
            COPY (SELECT i, i % 7 AS g, CASE WHEN i % 11 > 0 THEN i % 5 END AS n, 'x' || (i % 13) AS s, i * 0.5 AS d
                  FROM range(2000) r(i)) TO '{folder}/t.parquet' (ROW_GROUP_SIZE 128)""")
        connection.execute(f"""
            COPY (SELECT i * 3 AS i, i % 4 AS g, CASE WHEN i % 9 > 0 THEN i % 6 END AS n, i * 7 AS ts
                  FROM range(300) r(i)) TO '{folder}/u.parquet' (ROW_GROUP_SIZE 64)""")
        for part in range(3):
            connection.execute(
                f"COPY (SELECT i, 'a' || i AS s FROM range({part * 10}, 30) r(i)) TO '{folder}/c{part}.csv'"
            )
        for name, files in (("t", "t.parquet"), ("u", "u.parquet")):
            connection.execute(f"CREATE VIEW {name} AS FROM system.main.read_parquet('{folder}/{files}')")
        connection.execute(f"CREATE VIEW c AS FROM system.main.read_csv('{folder}/c*.csv')")
        connection.execute("CREATE TABLE m AS SELECT i, i % 3 AS g FROM range(100) r(i)")
        connection.execute("CREATE MACRO plus1(a) AS a + 1")
        connection.execute("CREATE MACRO of_group(k) AS TABLE SELECT * FROM t WHERE g = k")
        for table in ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"):
            path = f"{tpch_parquet(0.01)}/{table}.parquet"
            connection.execute(f"CREATE VIEW {table} AS FROM system.main.read_parquet('{path}')")
        connection.execute(f"ATTACH '{tpcds_database(0.01)}' AS tpcds (READ_ONLY)")
        connection.execute("CREATE SCHEMA tpcds_views")
        tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'tpcds'").fetchall()
        for (table,) in tables:
            connection.execute(f"CREATE VIEW tpcds_views.{table} AS FROM tpcds.{table}")
        cut_everything(connection)
        yield Shadows(connection)


def unqualified(tree) -> set[str]:
    """Names of functions without a schema in a parsed query."""
    if isinstance(tree, list):
        return set().union(*map(unqualified, tree))
    if not isinstance(tree, dict):
        return set()
    found = unqualified(list(tree.values()))
    if tree.get("class") in ("FUNCTION", "WINDOW") and tree.get("schema") == "":
        found.add(tree["function_name"])
    return found


def assert_qualified(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    for (sql,) in connection.execute("SELECT sql FROM merganser_stages($1)", [query]).fetchall():
        (text,) = connection.execute("SELECT system.main.json_serialize_sql($1)", [sql]).fetchone()
        tree = json.loads(text)
        assert not tree["error"]
        assert unqualified(tree) <= SYNTAX | {"unnest"}


def check(shadows: Shadows, query: str) -> list[str]:
    connection = shadows.connection
    connection.execute("SET merganser_runner = ''")
    expected = shadows.rows(query)
    try:
        tasks = max(connection.execute("SELECT tasks FROM merganser_stages($1)", [query]).fetchall())
        connection.execute("SET merganser_runner = 'local'")
        rows = rows_or_error(connection, query)
        assert_qualified(connection, query)
    finally:
        connection.execute("SET merganser_runner = ''")
        shadows.restore()
    assert tasks == (4,)
    if isinstance(expected, str):
        assert rows == expected
    else:
        assert_same_rows(rows, expected, ordered=False)
    return shadows.dropped


def test_every_function_has_a_macro_of_its_name(shadows):
    assert len(shadows.macros) > 600
    assert {
        "sum",
        "list_position",
        "getvariable",
        "read_parquet",
        "merganser_exchange",
        "list_value",
        "+",
        "row",
    } <= set(shadows.macros)


@pytest.mark.parametrize(
    "query", ["SELECT 1 FROM c", "FROM c", "SELECT i FROM t LIMIT 3 OFFSET 1000", "SELECT g FROM t GROUP BY g"]
)
def test_a_query_that_calls_nothing(shadows, query):
    assert check(shadows, query) == []


@pytest.mark.parametrize("query", QUERIES)
def test_shape(shadows, query):
    check(shadows, query)


@pytest.mark.parametrize("number", range(1, 23))
def test_tpch(shadows, tpch_queries, number):
    check(shadows, tpch_queries[number])


@pytest.mark.slow
@pytest.mark.parametrize("number", REPRESENTATIVE_OF_TPCDS)
def test_tpcds(shadows, tpcds_queries, number):
    shadows.connection.execute("SET search_path = 'memory.tpcds_views,memory.main'")
    try:
        check(shadows, tpcds_queries[number])
    finally:
        shadows.connection.execute("RESET search_path")
