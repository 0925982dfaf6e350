"""Read and run files in DuckDB's sqllogic dialect (`*.test`).

Understood, as in DuckDB's own runner:

    statement ok [con1]                     the SQL that follows must succeed
    statement error [con1]                  it must fail, with a text that contains what stands below `----`,
                                            or matches it whole when that starts with <REGEX>:
    query IIT [nosort|rowsort|valuesort] [label|con1]
                                            one column per letter; below `----` the rows, values separated by tabs
    require <extension>                     fails, never skips, where the extension is missing
    loop i 0 10 / foreach x a b / endloop   the end of a loop is exclusive; ${x} is replaced in everything inside
    skipif x=a / onlyif x=a                 for the record that follows
    load <database> [readonly] / restart    close every connection and open that database, or the same one again
    __TEST_DIR__, {TEMP_DIR}                a fresh empty folder

A value is written as DuckDB casts it to VARCHAR; an empty one as (empty), a null as NULL; <REGEX>: and <!REGEX>:
match a whole value. Values of FLOAT and DOUBLE columns need not agree in the last digits, because sums of them depend
on the order of addition. Queries with the same label must return the same rows; with a label the expected rows may be
left out.

Stricter than DuckDB: an error record must say which error, a query must expect something, an internal error satisfies a
`statement error` only if that text says INTERNAL, and an unknown command is an error of the file.

Of our own: a header comment runs the whole file once for every combination of settings,

    # variants: late_materialization=on,off threads=1,4

where a name is a setting of ours without its prefix `merganser_`, or one of DuckDB's. Expected rows are written once,
so they must hold in every variant; what holds in one only, a plan or a decision, stands under
`onlyif late_materialization=on`. Every connection of the file starts with the settings of the variant.
"""

import difflib
import itertools
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

Variables = dict[str, str]
Rows = list[list[str]]
Connector = Callable[..., duckdb.DuckDBPyConnection]

SORT_MODES = ("nosort", "rowsort", "valuesort")
SEPARATOR = "----"
SWITCH = {"on": "true", "off": "false"}
CONNECTION_NAME = re.compile(r"con\d+")


class FileError(Exception):
    """The file itself cannot be understood."""


class Mismatch(Exception):
    """The database did not do what the file says."""


@dataclass(frozen=True)
class Condition:
    wanted: bool
    variable: str
    value: str

    def holds(self, variables: Variables) -> bool:
        return (variables[self.variable] == self.value) == self.wanted


@dataclass
class Record:
    """One command with the lines below it. `sql` and `expected` are as written, with variables not yet replaced."""

    line: int
    command: str
    arguments: list[str]
    sql: str = ""
    expected: list[str] | None = None
    conditions: list[Condition] = field(default_factory=list)


@dataclass
class Loop:
    line: int
    variable: str
    values: list[str]
    conditions: list[Condition] = field(default_factory=list)
    body: list["Record | Loop"] = field(default_factory=list)


@dataclass
class File:
    path: Path
    variants: list[Variables]
    body: list[Record | Loop]


# ---------------------------------------------------------------- reading


def parse(path: Path) -> File:
    lines = path.read_text().splitlines()
    try:
        variants = parse_variants(lines)
        return File(path, variants, Parser(lines, set(variants[0])).parse())
    except FileError as error:
        raise FileError(f"{path}:{error}") from None


def parse_variants(lines: list[str]) -> list[Variables]:
    names: list[str] = []
    choices: list[list[str]] = []
    for number, line in enumerate(itertools.takewhile(lambda line: line.startswith("#"), lines), 1):
        if not line.startswith("# variants:"):
            continue
        for word in line.removeprefix("# variants:").split():
            name, equals, values = word.partition("=")
            if not name or not equals or not all(values.split(",")):
                raise FileError(f"{number}: a variant is written setting=value,value and not {word!r}")
            names.append(name)
            choices.append(values.split(","))
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]


class Parser:
    ARGUMENT_COUNTS = {"statement": (1, 2), "query": (1, 3), "require": (1, 1), "load": (0, 2), "restart": (0, 0)}

    def __init__(self, lines: list[str], variant_names: set[str]):
        self.lines = lines
        self.position = 0
        self.known_variables = variant_names

    def parse(self) -> list[Record | Loop]:
        root = Loop(0, "", [])
        open_loops = [root]
        conditions: list[Condition] = []
        while (words := self.next_command()) is not None:
            command, *arguments = words
            line = self.position
            if command in ("skipif", "onlyif"):
                conditions.append(self.condition(command, arguments))
                continue
            if command in ("loop", "foreach"):
                loop = self.loop(command, arguments, conditions)
                open_loops[-1].body.append(loop)
                open_loops.append(loop)
                self.known_variables.add(loop.variable)
            elif command == "endloop":
                if len(open_loops) == 1 or arguments or conditions:
                    raise FileError(f"{line}: endloop stands alone and closes a loop or foreach")
                self.known_variables.remove(open_loops.pop().variable)
            else:
                open_loops[-1].body.append(self.record(command, arguments, conditions))
            conditions = []
        if conditions:
            raise FileError(f"{self.position}: skipif or onlyif at the end of the file")
        if len(open_loops) > 1:
            raise FileError(f"{open_loops[-1].line}: the loop is not closed by endloop")
        return root.body

    def next_command(self) -> list[str] | None:
        while self.position < len(self.lines):
            line = self.lines[self.position]
            self.position += 1
            if line.strip() and not line.startswith("#"):
                return line.split()
        return None

    def condition(self, command: str, arguments: list[str]) -> Condition:
        variable, equals, value = " ".join(arguments).partition("=")
        if not equals or variable not in self.known_variables:
            raise FileError(f"{self.position}: {command} takes name=value of a variant or an enclosing loop")
        return Condition(command == "onlyif", variable, value)

    def loop(self, command: str, arguments: list[str], conditions: list[Condition]) -> Loop:
        if len(arguments) < 2 or (command == "loop" and len(arguments) != 3):
            raise FileError(f"{self.position}: write `loop i 0 10` or `foreach x a b c`")
        variable, *values = arguments
        if variable in self.known_variables:
            raise FileError(f"{self.position}: {variable} is already the name of an enclosing loop or a variant")
        if command == "loop":
            if not all(re.fullmatch(r"-?\d+", value) for value in values):
                raise FileError(f"{self.position}: the bounds of a loop are two numbers")
            values = [str(i) for i in range(int(values[0]), int(values[1]))]
        return Loop(self.position, variable, values, conditions)

    def record(self, command: str, arguments: list[str], conditions: list[Condition]) -> Record:
        record = Record(self.position, command, arguments, conditions=conditions)
        if command not in self.ARGUMENT_COUNTS:
            raise FileError(f"{record.line}: unknown command {command!r}")
        fewest, most = self.ARGUMENT_COUNTS[command]
        if not fewest <= len(arguments) <= most:
            raise FileError(f"{record.line}: {command} takes {fewest} to {most} arguments")
        if command in ("statement", "query"):
            block = self.block()
            sql, record.expected = split_at_separator(block)
            record.sql = "\n".join(sql)
            self.check(record)
        return record

    def block(self) -> list[str]:
        start = self.position
        while self.position < len(self.lines) and self.lines[self.position].strip():
            self.position += 1
        return self.lines[start : self.position]

    @staticmethod
    def check(record: Record) -> None:
        if not record.sql:
            raise FileError(f"{record.line}: no SQL below {record.command}")
        if record.command == "statement":
            kind = record.arguments[0]
            if kind not in ("ok", "error"):
                raise FileError(f"{record.line}: statement is followed by ok or error, not {kind!r}")
            if kind == "ok" and record.expected is not None:
                raise FileError(f"{record.line}: statement ok expects nothing below {SEPARATOR}; use query")
            if kind == "error" and not record.expected:
                raise FileError(f"{record.line}: statement error needs {SEPARATOR} and the text of the error")
        elif record.expected is None and not QueryArguments.of(record).label:
            raise FileError(f"{record.line}: a query needs {SEPARATOR} and its rows, or a label to compare with")


def split_at_separator(block: list[str]) -> tuple[list[str], list[str] | None]:
    if SEPARATOR not in block:
        return block, None
    at = block.index(SEPARATOR)
    return block[:at], block[at + 1 :]


@dataclass(frozen=True)
class QueryArguments:
    types: str
    sort: str = "nosort"
    connection: str = ""
    label: str = ""

    @staticmethod
    def of(record: Record) -> "QueryArguments":
        result = QueryArguments(record.arguments[0])
        for word in record.arguments[1:]:
            if word in SORT_MODES:
                result = replace(result, sort=word)
            elif CONNECTION_NAME.fullmatch(word):
                result = replace(result, connection=word)
            else:
                result = replace(result, label=word)
        return result


# ---------------------------------------------------------------- running


class Runner:
    """Runs one file in one variant. `connect` is duckdb.connect or merganser.connect."""

    def __init__(
        self,
        connect: Connector,
        folder: Path,
        variant: Variables | None = None,
        extensions: dict[str, Callable[[], Path]] | None = None,
    ):
        self.connect = connect
        self.folder = folder
        self.variant = variant or {}
        self.extensions = extensions or {}
        self.database, self.read_only = ":memory:", False
        self.connections: dict[str, duckdb.DuckDBPyConnection] = {}
        self.labelled: dict[str, Rows] = {}
        self.records_run = 0

    def run(self, file: File) -> None:
        self.open()
        try:
            self.run_body(file, file.body, self.variant)
        finally:
            self.close()
        if not self.records_run:
            raise Mismatch(f"{file.path}: no statement or query was run in this variant")

    def run_body(self, file: File, body: list[Record | Loop], variables: Variables) -> None:
        for step in body:
            if not all(condition.holds(variables) for condition in step.conditions):
                continue
            if isinstance(step, Loop):
                for value in step.values:
                    self.run_body(file, step.body, {**variables, step.variable: self.substitute(value, variables)})
                continue
            record = self.filled_in(step, variables)
            try:
                getattr(self, f"run_{record.command}")(record)
            except Mismatch as mismatch:
                where = ", ".join(f"{name}={value}" for name, value in variables.items())
                place = f"{file.path}:{record.line}" + (f" [{where}]" if where else "")
                sql = f"\n\n{record.sql}" if record.sql else ""
                raise Mismatch(f"{place}{sql}\n\n{mismatch}") from mismatch.__cause__

    def filled_in(self, record: Record, variables: Variables) -> Record:
        def fill(text: str) -> str:
            return self.substitute(text, variables)

        expected = None if record.expected is None else [fill(line) for line in record.expected]
        return replace(record, arguments=[*map(fill, record.arguments)], sql=fill(record.sql), expected=expected)

    def substitute(self, text: str, variables: Variables) -> str:
        for name, value in variables.items():
            text = text.replace("${" + name + "}", value)
        return text.replace("__TEST_DIR__", str(self.folder)).replace("{TEMP_DIR}", str(self.folder))

    # ------------------------------------------------------------ connections

    def open(self) -> None:
        main = self.connect(self.database, read_only=self.read_only)
        self.connections = {"": main}
        main.execute("SET arrow_lossless_conversion = true")  # rows_as_text() needs every type unchanged
        for name, value in self.variant.items():
            main.execute(f"SET GLOBAL {self.setting(main, name)} = '{SWITCH.get(value, value)}'")

    @staticmethod
    def setting(connection: duckdb.DuckDBPyConnection, name: str) -> str:
        names = [f"merganser_{name}", name]
        found = connection.execute(
            "SELECT name FROM duckdb_settings() WHERE list_contains(?, name)", [names]
        ).fetchall()
        if not found:
            raise FileError(f"the variant {name!r} is neither a setting merganser_{name} nor one of DuckDB's")
        return max(found, key=lambda row: len(row[0]))[0]

    def close(self) -> None:
        for connection in reversed(self.connections.values()):
            connection.close()
        self.connections = {}

    def connection(self, name: str) -> duckdb.DuckDBPyConnection:
        if name not in self.connections:
            self.connections[name] = self.connections[""].cursor()
            self.connections[name].execute("SET arrow_lossless_conversion = true")
        return self.connections[name]

    # ------------------------------------------------------------ commands

    def run_require(self, record: Record) -> None:
        name = record.arguments[0]
        if name == "merganser":
            return
        source = self.extensions[name]() if name in self.extensions else name
        try:
            self.connection("").load_extension(str(source))
        except duckdb.Error as error:
            raise Mismatch(f"the extension {name!r} this file requires cannot be loaded: {error}") from error

    def run_load(self, record: Record) -> None:
        database, *mode = record.arguments or [":memory:"]
        if mode not in ([], ["readonly"]):
            raise Mismatch(f"load takes a database and perhaps readonly, not {mode[0]!r}")
        self.close()
        self.database, self.read_only = database, mode == ["readonly"]
        self.open()

    def run_restart(self, record: Record) -> None:
        if self.database == ":memory:":
            raise Mismatch("restart would lose everything: `load` a database file first")
        self.close()
        self.open()

    def run_statement(self, record: Record) -> None:
        self.records_run += 1
        kind, name = (*record.arguments, "")[:2]
        error = self.error_of(record.sql, name)
        if kind == "ok" and error:
            raise Mismatch(f"failed, but should succeed:\n{error}") from error
        if kind == "error":
            self.check_error(error, "\n".join(record.expected or []))

    def error_of(self, sql: str, name: str) -> duckdb.Error | None:
        try:
            self.connection(name).execute(sql).fetchall()
        except duckdb.Error as error:
            return error
        return None

    @staticmethod
    def check_error(error: duckdb.Error | None, expected: str) -> None:
        if error is None:
            raise Mismatch(f"succeeded, but should fail with:\n{expected}")
        message = str(error)
        if isinstance(error, duckdb.InternalException) and "INTERNAL" not in expected:
            raise Mismatch(f"failed with an internal error:\n{message}") from error
        if expected.startswith("<REGEX>:"):
            fits = re.fullmatch(expected.removeprefix("<REGEX>:"), message, re.DOTALL) is not None
        else:
            fits = expected.lower() in message.lower()
        if not fits:
            raise Mismatch(f"failed with the wrong error.\nexpected: {expected}\nactual:   {message}") from error

    def run_query(self, record: Record) -> None:
        self.records_run += 1
        arguments = QueryArguments.of(record)
        try:
            types, actual = rows_as_text(self.connection(arguments.connection), record.sql)
        except duckdb.Error as error:
            raise Mismatch(f"failed, but should return rows:\n{error}") from error
        if len(types) != len(arguments.types):
            raise Mismatch(f"returns {len(types)} columns, but `query {arguments.types}` says {len(arguments.types)}")
        actual = sort_rows(actual, arguments.sort)
        if record.expected is not None:
            expected = expected_rows(record.expected, len(types))
            compare(sort_rows(expected, arguments.sort), actual, types)
        if arguments.label:
            compare(self.labelled.setdefault(arguments.label, actual), actual, types)


def rows_as_text(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], Rows]:
    """Run a query and return its column types, and its rows with every value as DuckDB casts it to VARCHAR.

    The cast happens outside of the query, in another database, so that the plan under test is the plan of the query as
    it is written. Arrow carries the rows there without loss. TIMESTAMPTZ is shown in UTC.
    """
    result = connection.execute(sql)
    types = [str(column[1]) for column in result.description or []]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Arrow output on a DB-API result")
        table = result.to_arrow_table()
    table = table.rename_columns([f"column{i}" for i in range(table.num_columns)])
    with duckdb.connect() as bystander:
        bystander.execute("SET TimeZone = 'UTC'")
        bystander.register("result", table)
        rows = bystander.execute("SELECT COLUMNS(*)::VARCHAR FROM result").fetchall()
    return types, [[text_of(value) for value in row] for row in rows]


def text_of(value: str | None) -> str:
    if value is None:
        return "NULL"
    return value.replace("\0", "\\0") or "(empty)"


def expected_rows(lines: list[str], columns: int) -> Rows:
    rows = [line.split("\t") for line in lines]
    for line, row in zip(lines, rows, strict=True):
        if len(row) != columns:
            raise Mismatch(
                f"the expected row {line!r} has {len(row)} values separated by tabs, the query {columns} columns"
            )
    return rows


def sort_rows(rows: Rows, mode: str) -> Rows:
    if mode == "rowsort":
        return sorted(rows)
    if mode == "valuesort":
        return [[value] for value in sorted(itertools.chain.from_iterable(rows))]
    return rows


def compare(expected: Rows, actual: Rows, types: list[str]) -> None:
    def same_row(wanted: list[str], row: list[str]) -> bool:
        row_types = types if len(row) == len(types) else [""] * len(row)
        return len(wanted) == len(row) and all(map(same_value, wanted, row, row_types))

    if len(expected) == len(actual) and all(map(same_row, expected, actual)):
        return
    lines = difflib.unified_diff(
        *(["\t".join(row) for row in rows] for rows in (expected, actual)), "expected", "actual", lineterm="", n=3
    )
    raise Mismatch("returned the wrong rows:\n" + "\n".join(itertools.islice(lines, 60)))


def same_value(expected: str, actual: str, column_type: str) -> bool:
    if expected == actual:
        return True
    if expected.startswith("<REGEX>:"):
        return re.fullmatch(expected.removeprefix("<REGEX>:"), actual, re.DOTALL) is not None
    if expected.startswith("<!REGEX>:"):
        return re.fullmatch(expected.removeprefix("<!REGEX>:"), actual, re.DOTALL) is None
    if "NULL" in (expected, actual):
        return False
    if column_type == "BOOLEAN":
        return {"1": "true", "0": "false"}.get(expected) == actual
    if column_type in ("FLOAT", "DOUBLE"):
        try:
            wanted = float(expected)
        except ValueError:
            return False
        return math.isclose(wanted, float(actual), rel_tol=1e-5 if column_type == "FLOAT" else 1e-9)
    return False


def variant_name(variant: Variables) -> str:
    return ",".join(f"{name}={value}" for name, value in variant.items())
