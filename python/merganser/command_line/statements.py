"""The SQL of a command: where its text comes from, and which of its statements the command is about."""

import sys
from pathlib import Path

import duckdb

from merganser.query_report.planned import text_alone


def text_of(sql: str | Path | None) -> str:
    """SQL text, or what a file has whose name ends in .sql or that is given as a path; "-" is standard input."""
    if sql is None:
        return ""
    if sql == "-":
        return sys.stdin.read()
    if isinstance(sql, str) and not sql.endswith(".sql"):
        return sql
    try:
        return Path(sql).read_text(encoding="utf-8")
    except OSError as error:
        raise OSError(f"cannot read {sql}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read {sql}: it is not UTF-8 text") from error


def run_before_last(connection: duckdb.DuckDBPyConnection, init: str, text: str) -> duckdb.Statement:
    """Runs `init` and all statements of `text` but the last, which is returned."""
    before = connection.extract_statements(init)
    statements = connection.extract_statements(text)
    if not statements:
        raise ValueError("there is no statement to run")
    for statement in (*before, *statements[:-1]):
        connection.execute(statement).fetchall()
    return statements[-1]


def queries_of(connection: duckdb.DuckDBPyConnection, init: str, text: str) -> list[str]:
    """The queries of `text`, in order; what is no query, and `init`, is run."""
    for statement in connection.extract_statements(init):
        connection.execute(statement).fetchall()
    queries = []
    for statement in connection.extract_statements(text):
        if statement.type == duckdb.StatementType.SELECT:
            queries.append(text_alone(statement))
        else:
            connection.execute(statement).fetchall()
    if not queries:
        raise ValueError("there is no query to advise on")
    return queries


def returns_rows(statement: duckdb.Statement, relation: duckdb.DuckDBPyRelation) -> bool:
    """SET returns none; CREATE returns some only as CREATE TABLE AS."""
    kinds = statement.expected_result_type
    if duckdb.ExpectedResultType.NOTHING not in kinds or relation.type != "MATERIALIZED_RELATION":
        return True
    return len(kinds) > 1 and len(relation) > 0
