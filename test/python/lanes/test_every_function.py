"""Every function the extension registers answers any call with rows or a sentence, and the database lives on.

The functions come from the catalog, so a new one is covered when it is registered. An internal error of DuckDB's would
invalidate the database for all its connections.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import merganser
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RANDOM = settings(
    max_examples=15 if settings.default.derandomize else settings.default.max_examples // 10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])

SCALARS = [
    "NULL",
    "true",
    "0",
    "-1",
    "18446744073709551615",
    "170141183460469231731687303715884105727",
    "'nan'::DOUBLE",
    "''",
    "'a'",
    "'t'",
    "'main.t'",
    "'no such file'",
    "'\"'",
    "'a.b.c.d.e'",
    "'SELECT 1'",
    "'SELECT ?'",
    "'primary key'",
    "'merganser: {'",
    "repeat('x', 100000)",
    "'\\x00\\xFF'::BLOB",
    "DATE '2024-01-01'",
    "INTERVAL '-1 month'",
    "[]",
    "[NULL]",
    "['a']",
    "['a', 'a', NULL]",
    "[-1]",
    "[[1]]",
    "{'a': 1}",
    "MAP {'a': 1}",
    "(SELECT NULL)",
    "(SELECT 'a')",
    "getvariable('no_such')",
    "$1",
]
TABLES = [
    "(SELECT NULL)",
    "(FROM t)",
    "(SELECT 1 AS a WHERE false)",
    "(SELECT a, a FROM t)",
    "(SELECT i AS time, 'x' AS device FROM range(3) r(i))",
    "(FROM no_such_table)",
]
NAMED = [
    "partition_by",
    "order_by",
    "partitions",
    "ordered",
    "partitioned_by",
    "sorted_by",
    "size",
    "timecol",
    "gap",
    "n",
]


def functions() -> list[tuple[str, str]]:
    listed = "SELECT DISTINCT function_name, function_type FROM duckdb_functions()"
    with duckdb.connect() as plain, merganser.connect() as ours:
        return sorted(set(ours.execute(listed).fetchall()) - set(plain.execute(listed).fetchall()))


FUNCTIONS = functions()
BLOBS = st.binary(max_size=40).map(lambda value: "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB")
ARGUMENTS = st.lists(
    st.one_of(
        st.sampled_from(SCALARS + TABLES),
        BLOBS,
        st.tuples(st.sampled_from(NAMED), st.sampled_from(SCALARS)).map(" := ".join),
    ),
    max_size=5,
)


def test_functions_are_those_of_the_extension():
    names = {name for name, _ in FUNCTIONS}
    assert {"session", "merganser_verify", "merganser_explain", "merganser_exchange", "merganser_take_secret"} <= names


@pytest.fixture
def database(tmp_path: Path, monkeypatch) -> Iterator[duckdb.DuckDBPyConnection]:
    """In a folder of its own, where whatever a call writes would be found."""
    monkeypatch.chdir(tmp_path)
    with merganser.connect() as connection:
        connection.execute("CREATE TABLE t (a VARCHAR, b INTEGER); INSERT INTO t VALUES ('x', 1), (NULL, NULL)")
        yield connection


def call(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    connection.execute("BEGIN")
    try:
        connection.execute(sql).fetchall()
    except duckdb.Error as error:
        assert not isinstance(error, duckdb.InternalException | duckdb.FatalException), f"{sql}\n{error}"
        assert "INTERNAL" not in str(error), f"{sql}\n{error}"
        assert len(str(error).split()) > 2, f"{sql}\n{error}"
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (2,), sql


@pytest.mark.parametrize(("name", "kind"), FUNCTIONS)
@LANES
def test_any_call_is_answered_in_words(database, tmp_path, name, kind, lane):
    if lane == "fast":  # what is not random: each argument by itself
        for argument in SCALARS + TABLES:
            call(database, f"SELECT {name}({argument})" if kind == "scalar" else f"FROM {name}({argument})")

    @RANDOM
    @given(arguments=ARGUMENTS, called=st.booleans())
    def random_calls(arguments, called):
        begin = "SELECT" if kind == "scalar" else "CALL" if called else "FROM"
        call(database, f"{begin} {name}({', '.join(arguments)})")

    random_calls()
    assert list(tmp_path.iterdir()) == []


# The last word of each is what the message names.
NOT_PLANNED = {
    "SELECT ?": "type",
    "SELECT $1": "type",
    "SELECT ? + 1": "type",
    "": "0",
    ";": "0",
    "SELECT 1; SELECT 2": "2",
    "PIVOT t ON a USING sum(b)": "PIVOT",
    "PRAGMA database_list": "PRAGMA",
    "EXPORT DATABASE 'x'": "EXPORT",
    "EXPLAIN SELECT 1": "EXPLAIN",
    "EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1": "EXPLAIN",
    "IMPORT DATABASE 'x'": "PRAGMA",
    "ATTACH 'x'": "ATTACH",
    "DETACH memory": "DETACH",
    "USE memory": "SET",
    "COPY FROM DATABASE memory TO x": "COPY",
    "CREATE SCHEMA made": "CREATE",
    "CREATE SECRET made (TYPE http, BEARER_TOKEN 'x')": "CREATE",
    "CREATE INDEX made ON t (a)": "CREATE",
    "CREATE TYPE made AS ENUM (SELECT 'a')": "CREATE",
    "DROP TABLE t": "DROP",
    "ALTER TABLE t ADD COLUMN made INTEGER": "ALTER",
    "ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED RELY": "ALTER",
    "COMMENT ON TABLE t IS 'made'": "ALTER",
    "BEGIN": "TRANSACTION",
    "CHECKPOINT": "CALL",
    "LOAD json": "LOAD",
    "INSTALL json": "LOAD",
    "SET threads = 1": "SET",
    "SET VARIABLE made = 1": "SET",
    "CALL merganser_declare_key('t', ['a'])": "CALL",
    "PREPARE made AS SELECT 1": "PREPARE",
    "EXECUTE made": "EXECUTE",
    "VACUUM": "VACUUM",
    "ANALYZE": "VACUUM",
}


@pytest.mark.parametrize("function", ["merganser_explain", "merganser_stages"])
@pytest.mark.parametrize(("statement", "named"), NOT_PLANNED.items())
def test_what_is_not_planned_is_refused_in_words(database, tmp_path, function, statement, named):
    with pytest.raises(duckdb.BinderException, match=rf"{function}\b.*\b{named}\b"):
        database.execute(f"FROM {function}(?)", [statement])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t SELECT 'y', 2",
        "UPDATE t SET b = 3",
        "DELETE FROM t",
        "MERGE INTO t USING (SELECT 'x' AS a) s USING (a) WHEN MATCHED THEN DELETE",
        "CREATE TABLE made AS FROM t",
        "CREATE OR REPLACE TABLE t AS SELECT 1 AS one",
        "CREATE VIEW made AS FROM t",
        "COPY t TO 'made.csv'",
        "COPY t TO 'made' (FORMAT parquet, PARTITION_BY (a))",
        "COPY (SELECT a, b FROM t) TO 'made' (FORMAT merganser_regions, PARTITION_BY (a))",
        "PIVOT t ON a IN ('x') USING sum(b)",
        "SELECT $1::INTEGER + 1",
        "SUMMARIZE t",
    ],
)
def test_planning_does_nothing(database, tmp_path, statement):
    rows = database.execute("SELECT section FROM merganser_explain(?)", [statement]).fetchall()
    assert ("plan",) in rows
    assert list(tmp_path.iterdir()) == []
    assert database.execute("FROM t").fetchall() == [("x", 1), (None, None)]
    assert database.execute("SELECT table_name FROM information_schema.tables").fetchall() == [("t",)]
