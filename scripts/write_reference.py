"""Writes docs/reference: every function, setting and reason to decline, from the extension's own tables.

.venv/bin/python scripts/write_reference.py      after a function, a setting or a reason was added or changed

A test compares the pages with what this writes.
"""

from pathlib import Path

import duckdb
import merganser

FOLDER = Path(__file__).parents[1] / "docs" / "reference"

#: Between the session and its tasks; nobody writes a call of them.
INTERNAL_FUNCTIONS = {
    "merganser_exchange",
    "merganser_exchange_partitions",
    "merganser_slice",
    "merganser_take_secret",
}

WRITTEN = "Written by `scripts/write_reference.py` from the extension's own tables.\n"


def cell(value: object) -> str:
    return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")


def table(header: list[str], rows: list[tuple]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell(value) for value in line) + " |\n" for line in lines)


def code(value: object) -> str:
    return "" if value in (None, "") else f"`{value}`"


def functions_page(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute(
        "SELECT name, description, semantics, parameters, preserves_order "
        "FROM merganser_table_functions() ORDER BY name"
    ).fetchall()
    page = f"# Functions\n\n{WRITTEN}\n## Table functions\n\nWritten with a [table argument](../table_functions.md).\n"
    for name, description, semantics, parameters, keeps_order in rows:
        order = "rows keep their order" if keeps_order else "rows have an order of their own"
        page += f"\n### {name}\n\n{description}. {semantics.capitalize()} semantics; {order}.\n\n"
        page += table(
            ["argument", "type", "default", "allowed"],
            [
                (
                    code(parameter["name"]),
                    parameter["type"],
                    "required" if parameter["required"] else code(parameter["default_value"]),
                    parameter["allowed"],
                )
                for parameter in parameters
            ],
        )
    return page + "\n## Functions about declarations, plans and stages\n\n" + other_functions(connection)


def other_functions(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute(
        "SELECT function_name, parameters, parameter_types FROM duckdb_functions() "
        "WHERE function_name LIKE 'merganser_%' ORDER BY ALL"
    ).fetchall()
    calls = []
    for name, parameters, types in rows:
        if name in INTERNAL_FUNCTIONS:
            continue
        arguments = [
            kind if parameter.startswith("col") else f"{parameter} => {kind}"
            for parameter, kind in zip(parameters, types, strict=True)
        ]
        calls.append((f"`{name}({', '.join(arguments)})`",))
    return table(["call, with the types of its arguments"], calls)


def settings_page(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute(
        "SELECT name, value, input_type, description FROM duckdb_settings() WHERE name LIKE 'merganser_%' ORDER BY name"
    ).fetchall()
    page = f"# All settings\n\n{WRITTEN}\nSet with `SET name = value`; see [settings](../settings.md).\n\n"
    return page + table(
        ["setting", "default", "type", "meaning"],
        [(f"`{name}`", code(value), kind, text) for name, value, kind, text in rows],
    )


def reasons_page(connection: duckdb.DuckDBPyConnection) -> str:
    rows = connection.execute("SELECT rule, code, meaning, remedy FROM merganser_decline_reasons()").fetchall()
    page = f"# Reasons to decline\n\n{WRITTEN}\n"
    page += "What `merganser_explain` says where a rule leaves a query as it is. Codes are stable.\n"
    for rule in dict.fromkeys(row[0] for row in rows):
        page += f"\n## {rule}\n\n"
        page += table(
            ["code", "meaning", "what to do"],
            [(f"`{reason}`", meaning, remedy) for row_rule, reason, meaning, remedy in rows if row_rule == rule],
        )
    return page


def reference() -> dict[str, str]:
    """Every page's text by its name."""
    with merganser.connect() as connection:
        return {
            "functions.md": functions_page(connection),
            "settings.md": settings_page(connection),
            "reasons.md": reasons_page(connection),
        }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in reference().items():
        (FOLDER / name).write_text(text)
