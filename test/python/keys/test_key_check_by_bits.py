"""The check of a declared key of integers: a bit for each value where they lie close together, a group elsewhere."""

import duckdb
import pytest
from undeclared import plain

CLOSE = {
    "INTEGER": "i - 150000",
    "BIGINT": "i * 7 + 9000000000000000000",
    "UBIGINT": "18446744073709551615::UBIGINT - i::UBIGINT",
    "DATE": "DATE '1900-01-01' + i::INTEGER",
    "DECIMAL(9, 2)": "i / 100",
}
APART = {"BIGINT": "i * 1000000000", "VARCHAR": "'k' || i", "HUGEINT": "i::HUGEINT * 100000000000000000000"}
ROWS = 300000


def create(connection: duckdb.DuckDBPyConnection, type_: str, value: str, table: str = "dim") -> str:
    """A table of two and a half row groups with a declared key; the report over it."""
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute(
        f"CREATE TABLE {table} AS SELECT ({value})::{type_} AS id, 'name ' || i AS name FROM range({ROWS}) t(i)"
    )
    connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    return f"SELECT id, name, count(*) FROM {table} GROUP BY ALL ORDER BY count(*), id LIMIT 5"


def checks(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """`bits` or `groups`."""
    plan = connection.execute(f"EXPLAIN {query}").fetchall()[-1][1]
    assert "Key check" in plan or "KEY_CHECK" in plan
    return "bits" if "Bits" in plan else "groups"


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [(*entry, "bits") for entry in CLOSE.items()] + [(*entry, "groups") for entry in APART.items()],
)
def test_a_key_is_checked(connection, type_, value, wanted):
    connection.execute("SET threads = 4")
    query = create(connection, type_, value)
    assert checks(connection, query) == wanted
    assert connection.execute(query).fetchall() == plain(connection, query)
    connection.execute("INSERT INTO dim SELECT id, 'twice' FROM dim WHERE name = 'name 7'")
    with pytest.raises(duckdb.InvalidInputException, match="has more than one row for a value of it"):
        connection.execute(query)
    connection.execute("DELETE FROM dim WHERE name = 'twice'")
    assert connection.execute(query).fetchall() == plain(connection, query)


def test_null_in_a_key(connection):
    query = create(connection, "INTEGER", "i")
    connection.execute("INSERT INTO dim VALUES (NULL, 'nobody')")
    assert checks(connection, query) == "bits"
    with pytest.raises(duckdb.InvalidInputException, match="a column of it is NULL"):
        connection.execute(query)


def test_a_value_beyond_the_others(connection):
    """The statistics follow what is written, also what is not committed and what a prepared statement has not seen."""
    query = create(connection, "INTEGER", "i")
    connection.execute(f"PREPARE report AS {query}")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO dim VALUES (2000000000, 'far')")
    assert checks(connection, query) == "groups"
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, query)
    connection.execute("INSERT INTO dim VALUES (2000000000, 'far too')")
    for statement in (query, "EXECUTE report"):
        with pytest.raises(duckdb.InvalidInputException, match="has more than one row for a value of it"):
            connection.execute(statement)
        connection.execute("ROLLBACK")
        connection.execute("BEGIN")
        connection.execute("INSERT INTO dim VALUES (2000000000, 'far'), (2000000000, 'far too')")
    connection.execute("ROLLBACK")
    assert checks(connection, query) == "bits"


def test_the_key_of_a_file(connection, tmp_path):
    create(connection, "INTEGER", "i", table="source")
    connection.execute(f"COPY source TO '{tmp_path}/dim.parquet'")
    connection.execute(f"CREATE VIEW dim AS FROM '{tmp_path}/dim.parquet'")
    connection.execute("ALTER VIEW dim ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    query = "SELECT id, name, count(*) FROM dim GROUP BY ALL ORDER BY count(*), id LIMIT 5"
    assert checks(connection, query) == "bits"
    assert connection.execute(query).fetchall() == plain(connection, query)
    connection.execute(f"COPY (FROM source UNION ALL SELECT 3, 'twice') TO '{tmp_path}/dim.parquet'")
    with pytest.raises(duckdb.InvalidInputException, match="has more than one row for a value of it"):
        connection.execute(query)


def test_the_check_is_cheap_enough_where_it_was_not(connection):
    """By cost: a check that groups is worth less than one that sets bits."""
    near, apart = create(connection, "INTEGER", "i", "near"), create(connection, "BIGINT", "i * 1000000000", "apart")
    connection.execute("SET merganser_late_materialization_cost = true")
    decided = {}
    for query in (near, apart):
        (text,) = connection.execute(
            "SELECT text FROM merganser_explain($$" + query + "$$) WHERE section = 'decision'"
        ).fetchone()
        decided[query] = text.partition(":")[0]
        assert connection.execute(query).fetchall() == plain(connection, query)
    assert list(decided.values()) == ["applied", "not_worth_it"]
