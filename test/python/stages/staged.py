"""Settings that cut even tiny queries into stages, and comparing rows with those of plain DuckDB."""

import math

import duckdb

#: Of TPC-DS: shared CTEs, ROLLUP, set operations, windows, EXISTS and scalar subqueries, full joins, 41 stages.
REPRESENTATIVE_OF_TPCDS = (2, 5, 14, 16, 23, 44, 51, 54, 64, 70, 87, 97)
SMALL = ("merganser_distribute_min_bytes = 0", "merganser_tasks = 4", "merganser_slots = 2")


def cut_everything(connection: duckdb.DuckDBPyConnection) -> None:
    for setting in SMALL:
        connection.execute(f"SET {setting}")


def same_value(left, right) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-9)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return left == right


def text(row: tuple) -> list[str]:
    return [f"{value + 0.0:.6g}" if isinstance(value, float) else repr(value) for value in row]


def assert_same_rows(rows: list[tuple], expected: list[tuple], ordered: bool) -> None:
    assert len(rows) == len(expected)
    if not ordered:
        rows, expected = sorted(rows, key=text), sorted(expected, key=text)
    for row, other in zip(rows, expected, strict=True):
        assert all(map(same_value, row, other)), (row, other)


def rows_or_error(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple] | str:
    try:
        return connection.execute(query).fetchall()
    except duckdb.Error as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def most_tasks(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    return connection.execute("SELECT max(tasks) FROM merganser_stages($1)", [query]).fetchall()[0][0]


def reasons(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    return "; ".join(
        row[0] for row in connection.execute("SELECT reason FROM merganser_stages($1)", [query]).fetchall()
    )


def check(connection: duckdb.DuckDBPyConnection, query: str, ordered: bool = False) -> int:
    """Rows, or the error, are those of plain DuckDB; returns the most tasks a stage of the query has."""
    connection.execute("SET merganser_runner = ''")
    expected = rows_or_error(connection, query)
    tasks = most_tasks(connection, query)
    connection.execute("SET merganser_runner = 'local'")
    actual = rows_or_error(connection, query)
    connection.execute("SET merganser_runner = ''")
    if isinstance(expected, str) or isinstance(actual, str):
        assert actual == expected
    else:
        assert_same_rows(actual, expected, ordered)
    return tasks
