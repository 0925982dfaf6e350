"""Errors of tasks: DuckDB's name of each, and which are worth another attempt."""

import re

# What another attempt, perhaps elsewhere, may not meet again. Every other error follows from the query and its rows.
PASSING = frozenset({"IO", "HTTP", "Out of Memory", "INTERNAL", "FATAL", "Connection", "Interrupt"})
# After these a database takes no more queries.
ENDS_THE_DATABASE = frozenset({"INTERNAL", "FATAL"})


class QueryFailure(Exception):
    """The end of a query, with DuckDB's name of the error: "Conversion", "IO", ..."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def split_message(text: str) -> tuple[str, str]:
    """The kind and the rest of what DuckDB's Python exceptions say: "Conversion Error: Could not ..."."""
    match = re.match(r"([A-Z][A-Za-z -]*) Error: ", text)
    return (match[1], text[match.end() :]) if match else ("IO", text)
