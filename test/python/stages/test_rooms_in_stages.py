"""The SQL tests of the other rooms once more, in stages: same rows, same errors, and the queries really are cut."""

from pathlib import Path

import duckdb
import merganser
import pytest
import sqllogic

SQL_TESTS = Path(__file__).resolve().parents[2] / "sql"
ROOMS = ("late_materialization", "grouping", "table_functions")
STAGES = {"runner": "local", "tasks": "3", "slots": "2", "distribute_min_bytes": "0"}
#: What these files show is a plan, which is another one in stages.
ABOUT_PLANS = ("explain", "duckdb_settings")
#: Errors that a layout which is declared and not true causes; stages do not rely on it, so they return the rows.
BROKEN_LAYOUT = ("declared by view", "comes again", "comes time =", "comes reading =", "in two regions")
ONLY_ERRORS = {"errors"}


class StagedRunner(sqllogic.Runner):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.cut = 0

    def run_query(self, record: sqllogic.Record) -> None:
        if any(word in record.sql.lower() for word in ABOUT_PLANS):
            return
        if "order by" not in record.sql.lower():
            record.arguments[1:] = ["rowsort"]
        super().run_query(record)
        if record.sql.lower().startswith(("select", "from", "with")):
            connection = self.connection(sqllogic.QueryArguments.of(record).connection)
            self.cut += self.tasks_of(connection, record.sql) > 1

    def run_statement(self, record: sqllogic.Record) -> None:
        if not any(text in "\n".join(record.expected or []) for text in BROKEN_LAYOUT):
            super().run_statement(record)

    @staticmethod
    def tasks_of(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
        return connection.execute("SELECT max(tasks) FROM merganser_stages($1)", [sql]).fetchall()[0][0]


def files() -> list[Path]:
    return sorted(file for room in ROOMS for file in (SQL_TESTS / room).glob("*.test"))


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_file(file, tmp_path):
    parsed = sqllogic.parse(file)
    runner = StagedRunner(merganser.connect, tmp_path, parsed.variants[0] | STAGES)
    runner.run(parsed)
    assert runner.cut > 0 or file.stem in ONLY_ERRORS
