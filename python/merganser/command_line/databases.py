"""Which database a command opens, and how: read-only unless it writes, and never a new one by mistake.

Read-only, several processes may have one file open at the same time, and nothing a command does can change it. What
reads is told by the kind of each statement. A SELECT may write all the same (`nextval`, or an INSERT in its WITH):
DuckDB then refuses it, and --write is the way out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from merganser.connection import connect

READING = {
    duckdb.StatementType.SELECT,
    duckdb.StatementType.EXPLAIN,
    duckdb.StatementType.PRAGMA,
    duckdb.StatementType.SET,
    duckdb.StatementType.VARIABLE_SET,
    duckdb.StatementType.TRANSACTION,
    duckdb.StatementType.ATTACH,
    duckdb.StatementType.DETACH,
    duckdb.StatementType.LOAD,
    duckdb.StatementType.MULTI,  # PIVOT, which makes a temporary type of the values it finds
}
IN_MEMORY = ":memory:"


@contextmanager
def opened(database: str, text: str = "", *, write: bool = False, create: bool = False) -> Iterator:
    """A connection for the length of a command, fit to run `text`."""
    check_exists(database, create)
    read_only = is_file(database) and not (write or create) and only_reads(text)
    with connect(database, read_only=read_only) as connection:
        try:
            yield connection
        except duckdb.InvalidInputException as error:
            if read_only and "attached in read-only mode" in str(error):
                raise duckdb.InvalidInputException(f"{error}\nTo let it write, pass --write.") from error
            raise


def check_exists(database: str, create: bool) -> None:
    if create or not is_file(database):
        return
    if not Path(database).exists():
        raise FileNotFoundError(f"there is no database file {database}; `merganser sql --create` makes one")


def is_file(database: str) -> bool:
    """Rather than a database in memory or one behind a URL, which DuckDB opens by rules of its own."""
    return not database.startswith(IN_MEMORY) and "://" not in database


def only_reads(text: str) -> bool:
    """Text that does not parse is left to the connection that will run it, which reports it."""
    with connect(runner="") as parsing:
        try:
            statements = parsing.extract_statements(text)
        except duckdb.Error:
            return True
    return all(statement.type in READING for statement in statements)
