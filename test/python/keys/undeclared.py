"""A report that a duplicate in its dimension's key changes, and what is asked about it."""

import duckdb

#: Grouped by id alone a value that stands twice makes one group of two, which sorts elsewhere.
REPORT = """
    SELECT d.id, d.name, d.note, sum(s.price * d.weight) AS revenue
    FROM {dimension} AS d JOIN sale AS s ON s.dim_id = d.id
    GROUP BY d.id, d.name, d.note ORDER BY revenue DESC, d.id, d.name LIMIT {limit}"""
GROUPED = REPORT.partition(" ORDER BY")[0].format(dimension="dim")
#: Without a bound: of two groups of one id the names come in order.
EVERY_GROUP = [
    f"{GROUPED} ORDER BY revenue DESC, d.id, d.name",
    f"{GROUPED} HAVING sum(s.price * d.weight) > 200 ORDER BY d.id, d.name",
    f"SELECT *, rank() OVER (ORDER BY revenue DESC, id, name) AS place FROM ({GROUPED}) ORDER BY place",
    f"SELECT * FROM ({GROUPED}) QUALIFY row_number() OVER (PARTITION BY id % 3 ORDER BY revenue, id, name) <= 2 "
    "ORDER BY id, name",
    f"SELECT id, name, revenue / sum(revenue) OVER () AS share FROM ({GROUPED}) ORDER BY ALL",
]
ROWS = (
    "SELECT i::INTEGER AS id, 'name ' || i AS name, repeat('n', 50) || i AS note, i % 7 + 1 AS weight "
    "FROM range({}) t(i)"
)


def report(dimension: str = "dim", limit: int = 5) -> str:
    return REPORT.format(dimension=dimension, limit=limit)


def create(connection: duckdb.DuckDBPyConnection, rows: int = 40) -> None:
    """A dimension without any declaration, and sales of it; every report is rewritten where that is sound."""
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute(f"CREATE TABLE dim AS {ROWS.format(rows)}")
    create_sales(connection, rows)


def create_sales(connection: duckdb.DuckDBPyConnection, rows: int) -> None:
    connection.execute(
        f"CREATE TABLE sale AS SELECT (i % {rows})::INTEGER AS dim_id, i % 13 AS price FROM range(500) t(i)"
    )


def decision(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """`applied`, or the code of the reason."""
    rows = explained(connection, query)
    (text,) = (text for section, rule, text in rows if (section, rule) == ("decision", "late_materialization"))
    return text.partition(":")[0]


def facts(connection: duckdb.DuckDBPyConnection, query: str, item: str) -> list[str]:
    return [text for section, name, text in explained(connection, query) if section == "fact" and name == item]


def explained(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str, str]]:
    quoted = query.replace("'", "''")
    return connection.execute(f"SELECT section, item, text FROM merganser_explain('{quoted}')").fetchall()


def plain(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    connection.execute("SET merganser_late_materialization = false")
    rows = connection.execute(query).fetchall()
    connection.execute("SET merganser_late_materialization = true")
    return rows


def proofs(connection: duckdb.DuckDBPyConnection) -> list[tuple]:
    return connection.execute("SELECT relation, columns, holds, rows FROM merganser_proved_keys()").fetchall()


def check(connection: duckdb.DuckDBPyConnection, applied: bool, query: str | None = None) -> None:
    """The rows are plain DuckDB's, and the rule has done as expected: in the run, so before it is explained."""
    query = query or report()
    rows = connection.execute(query).fetchall()
    plan = "\n".join(text for _, text in connection.execute(f"EXPLAIN {query}").fetchall())
    assert ("Join Back Guard" in plan or "JOIN_BACK_GUARD" in plan) == applied, plan
    assert decision(connection, query) == ("applied" if applied else "no_determined_column")
    assert rows == plain(connection, query)
