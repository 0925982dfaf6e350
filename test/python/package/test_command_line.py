"""The command `merganser`, as typed."""

import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import duckdb
import merganser
import pytest
from merganser.command_line import app, databases, installation
from merganser.command_line.installation import Finding
from typer.testing import CliRunner


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments, **options: CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def test_sql_prints_a_table(run):
    result = run("sql", "SELECT 42 AS answer, NULL AS nothing, '[b]' AS tag")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()[1:4:2]] == [
        ["┃", "answer", "┃", "nothing", "┃", "tag", "┃"],
        ["│", "42", "│", "NULL", "│", "[b]", "│"],
    ]


def test_values_are_printed_as_they_are_and_whole(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    long = "long " * 40
    result = run("sql", f"SELECT 'ratio:100:x' AS \"[/]\", ':warning: [b]disk' AS \":bell:\", '{long}end' AS c")
    assert result.exit_code == 0, result.output
    names, values = ([part.strip() for part in line.split(line[0])[1:-1]] for line in result.stdout.splitlines()[1:4:2])
    assert names == ["[/]", ":bell:", "c"]
    assert values == ["ratio:100:x", ":warning: [b]disk", f"{long}end"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("INTERVAL 14 MONTHS", "1 year 2 months"),
        ("TIMESTAMP_NS '2026-01-02 03:04:05.123456789'", "2026-01-02 03:04:05.123456789"),
        ("[true, NULL]", "[true, NULL]"),
        ("{'a': 1.50::DECIMAL(9, 2)}", "{'a': 1.50}"),
        (r"'\xAA'::BLOB", r"\xAA"),
        ("'a' || chr(10) || 'b'", "a\nb"),
    ],
)
def test_values_are_written_as_duckdb_writes_them(run, value, text):
    """Python has no value for some of them, and other text for most."""
    assert run("sql", f"SELECT {value} AS v", "--format", "csv").stdout == (
        f'v\n"{text}"\n' if re.search(r"[,\n]", text) else f"v\n{text}\n"
    )
    lines = run("sql", f"SELECT {value} AS v").stdout.splitlines()[3:-1]
    assert "\n".join(line.strip("│ ") for line in lines) == text


ROWS = "SELECT 1 AS id, 'a|b' AS name, NULL AS nothing UNION ALL SELECT 20, '', [1] ORDER BY id"


def test_formats(run):
    assert run("sql", ROWS, "--format", "csv").stdout == 'id,name,nothing\n1,a|b,\n20,"",[1]\n'
    assert json.loads(run("sql", ROWS, "--format", "json").stdout) == [
        {"id": 1, "name": "a|b", "nothing": None},
        {"id": 20, "name": "", "nothing": [1]},
    ]
    assert run("sql", ROWS, "--format", "markdown").stdout == (
        "| id | name | nothing |\n| ---: | --- | --- |\n| 1 | a\\|b | NULL |\n| 20 |  | [1] |\n"
    )
    assert [line.split("│")[1:-1] for line in run("sql", ROWS).stdout.splitlines()[3:5]] == [
        ["  1 ", " a|b  ", " NULL    "],
        [" 20 ", "      ", " [1]     "],
    ]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_the_ending_of_the_output_decides_the_format(run, tmp_path, ending):
    file = tmp_path / f"it's.{ending}"
    result = run("sql", f"{ROWS};", "-o", file)
    assert (result.exit_code, result.output) == (0, "")
    assert duckdb.sql(f"FROM '{tmp_path}/it''s.{ending}'").fetchall() == duckdb.sql(ROWS).fetchall() or ending == "csv"
    assert duckdb.sql(f"SELECT count(*), sum(id) FROM '{tmp_path}/it''s.{ending}'").fetchall() == [(2, 21)]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_tables_and_markdown_into_files(run, tmp_path):
    for name, begin in (("a.md", "| id | name |"), ("a.txt", "┏━")):
        assert run("sql", ROWS, "-o", tmp_path / name).exit_code == 0
        assert (tmp_path / name).read_text().startswith(begin)
    assert run("sql", ROWS, "--format", "csv", "-o", tmp_path / "a.md").exit_code == 0
    assert (tmp_path / "a.md").read_text().startswith("id,name,nothing\n")


def test_rows_of_statements_that_are_no_query(run, tmp_path):
    """They run once, and what they return is written in every format."""
    database = tmp_path / "some.duckdb"
    assert run("sql", "CREATE TABLE t (i INTEGER)", "-d", database, "--create").output == ""
    insert = run("sql", "INSERT INTO t VALUES (1), (2) RETURNING i", "-d", database, "--format", "csv")
    assert insert.stdout == "i\n1\n2\n"
    assert run("sql", "SHOW TABLES", "-d", database, "--format", "csv").stdout == "name\nt\n"
    assert run("sql", "PRAGMA table_info('t')", "-d", database, "--format", "csv").stdout.startswith("cid,name,type")
    written = "WITH n AS (INSERT INTO t VALUES (3) RETURNING i) FROM n"
    assert run("sql", written, "-d", database, "--write", "--format", "csv").stdout == "i\n3\n"
    assert run("sql", "SELECT list(i ORDER BY i) FROM t", "-d", database, "--format", "csv").stdout.endswith(
        '"[1, 2, 3]"\n'
    )
    assert run("sql", "SET threads = 1").output == ""


def test_a_file_is_left_as_it_was_where_the_query_fails(run, tmp_path):
    file = tmp_path / "result.csv"
    file.write_text("yesterday")
    assert run("sql", "SELECT error('half-way') FROM range(9)", "-o", file).exit_code == 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("result.csv", "yesterday")]


def test_sql_reads_files_standard_input_and_a_database(run, tmp_path):
    database, file = tmp_path / "some.duckdb", tmp_path / "query.sql"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE t AS FROM range(100) r(i)")
    file.write_text("SELECT sum(i) AS total FROM t;")
    assert "4950" in run("sql", file, "--database", database).stdout
    assert "4851" in run("sql", "-", "-d", database, input="SELECT sum(i) - 99 FROM t").stdout
    some = run("sql", "FROM t", "-d", database, "--max-rows", 3)
    assert "the first 3 rows; there are more" in some.stderr and len(some.stdout.splitlines()) == 7
    assert run("sql", "FROM t", "-d", database, "--max-rows", 3, "--format", "csv").stdout.count("\n") == 101


def test_init_and_statements_before_the_last_are_run_first(run, tmp_path):
    init, script = tmp_path / "init.txt", tmp_path / "script.sql"
    init.write_text("SET threads = 1; CREATE MACRO twice(x) AS 2 * x;")
    script.write_text("CREATE TABLE t AS FROM range(10) r(i);\nSELECT 1;\nSELECT twice(sum(i)) AS total FROM t;\n")
    assert run("sql", script, "--init", init, "--format", "csv").stdout == "total\n90\n"
    explained = run("explain", script, "--init", init, "--format", "csv")
    assert explained.exit_code == 0, explained.output
    assert explained.stdout.startswith("section,item,text\nplan,before,")
    page = tmp_path / "page.html"
    assert run("report", script, "--init", init, "-o", page).exit_code == 0
    assert "SELECT twice(sum(i)) AS total FROM t" in page.read_text()
    missing = run("sql", "SELECT 1", "--init", tmp_path / "no.sql")
    assert missing.exit_code == 1 and "cannot read" in missing.stderr


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        ("FROM t", True),
        ("PIVOT t ON i USING count(*)", True),
        ("SET threads = 1; SELECT 1", True),
        ("EXPLAIN SELECT 1", True),
        ("INSERT INTO t VALUES (1)", False),
        ("SELECT 1; DROP TABLE t", False),
        ("CREATE TABLE u AS FROM t", False),
        ("CALL merganser_declare_key('t', ['i'])", False),
        ("ALTER TABLE t ADD PRIMARY KEY (i) NOT ENFORCED RELY", False),
    ],
)
def test_a_database_is_opened_for_writing_only_by_what_writes(run, tmp_path, statement, reads, monkeypatch):
    database = tmp_path / "some.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS i; CREATE SEQUENCE numbers")
    modes = []
    original = databases.connect

    def noted(*arguments, **options):
        modes.append(options.get("read_only"))
        return original(*arguments, **options)

    monkeypatch.setattr(databases, "connect", noted)
    result = run("sql", statement, "-d", database)
    assert result.exit_code == 0, result.output
    assert modes[-1] is reads


def test_a_query_that_writes_needs_write(run, tmp_path):
    database = tmp_path / "some.duckdb"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE SEQUENCE numbers")
    refused = run("sql", "SELECT nextval('numbers') AS n", "-d", database)
    assert refused.exit_code == 1 and refused.stderr.endswith("pass --write.\n")
    written = run("sql", "SELECT nextval('numbers') AS n", "-d", database, "--write", "--format", "csv")
    assert written.stdout == "n\n1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sql", "SELECT * FROM nothing"], "Table with name nothing does not exist"),
        (["sql", "no/such/file.sql"], "cannot read no/such/file.sql: No such file"),
        (["sql", "SELECT 1", "-d", "/no/such/folder/x.duckdb"], "there is no database file /no/such/folder"),
        (["sql", ""], "there is no statement to run"),
        (["sql", ";"], "there is no statement to run"),
        (["verify", "t", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["explain", "SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["report", "SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["sql", "SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb; `merganser sql --create`"),
        (["sql", "CREATE TABLE t AS SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["sql", "SELECT 1", "-o", "x.pdf"], "names no format (.csv, .json, .parquet, .md, .txt); pass --format"),
        (["sql", "SELECT 1", "-o", "no/x.csv"], "the folder no does not exist"),
        (["explain", "SELECT 1; SELEC 2"], "syntax error at or near"),
        (["bench", "--name", "no_such_benchmark"], "there is no benchmark 'no_such_benchmark'"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_one(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr and result.stderr.count("merganser: ") == 1
    assert result.stdout == "" and "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_the_command_itself_is_one_message(run, monkeypatch):
    def faulty(*_):
        raise TypeError("nobody thought of it")

    monkeypatch.setattr("merganser.command_line.text_of", faulty)
    result = run("sql", "SELECT 1")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 2)
    assert "a fault of the command itself, TypeError: nobody thought of it" in result.stderr
    monkeypatch.setenv("MERGANSER_TRACEBACK", "1")
    assert isinstance(run("sql", "SELECT 1").exception, TypeError)


def test_wrong_usage_is_exit_code_two(run):
    for arguments in (["sql"], ["sql", "SELECT 1", "--format", "pdf"], ["no_such_command"]):
        assert run(*arguments).exit_code == 2


@pytest.fixture
def declared(tmp_path):
    """A database with a declared key that does not hold."""
    file = tmp_path / "declared.duckdb"
    with merganser.connect(file) as connection:
        connection.execute("CREATE TABLE customer AS SELECT i % 99 AS id, 'name' || i AS name FROM range(100) t(i)")
        connection.execute("CREATE TABLE orders AS SELECT i % 100 AS id, i AS amount FROM range(1000) t(i)")
        connection.execute("ALTER TABLE customer ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    return file


def test_explain_prints_decisions_and_plans_without_running_the_query(run, declared):
    query = (
        "SELECT id, name, sum(amount) AS total FROM orders JOIN customer USING (id) "
        "GROUP BY id, name ORDER BY total DESC LIMIT 3"
    )
    result = run("explain", query, "-d", declared)
    assert result.exit_code == 0, result.output
    assert "late_materialization" in result.stdout
    assert "\nplan\n" in result.stdout
    assert "╭" in result.stdout


def test_advise_tells_the_declaration_that_would_help(run, tmp_path):
    database, file = tmp_path / "shop.duckdb", tmp_path / "queries.sql"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE shop AS SELECT i AS shop_id, repeat('z', 80) AS address FROM range(5000) t(i)")
        connection.execute("CREATE TABLE visit AS SELECT i % 5000 AS shop_id, i AS minutes FROM range(200000) t(i)")
    query = (
        "SELECT shop.shop_id, address, sum(minutes) AS total FROM shop JOIN visit ON visit.shop_id = shop.shop_id "
        "GROUP BY ALL ORDER BY total DESC, shop.shop_id LIMIT 5"
    )
    declare = "ALTER TABLE shop.main.shop ADD PRIMARY KEY (shop_id) NOT ENFORCED RELY;"
    query = f"SET merganser_prove_keys = false; {query}"
    told = run("advise", query, "-d", database, "--verify")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("no_determined_column\n") and f"  {declare}\n" in told.stdout
    file.write_text(f"SET threads = 1; {query}; SELECT 42;")
    rows = json.loads(run("advise", file, "-d", database, "--format", "json").stdout)
    assert [(row["query"], row["sql"]) for row in rows][0] == (1, declare)
    assert {row["query"] for row in rows} == {1, 2}
    assert "query 2: no_candidate" in run("advise", file, "-d", database).stdout
    refused = run("advise", "SET threads = 1")
    assert (refused.exit_code, refused.stderr) == (1, "merganser: there is no query to advise on\n")


def test_verify_tells_whether_declarations_hold(run, declared):
    broken = run("verify", "customer", "-d", declared)
    assert broken.exit_code == 3
    assert "PRIMARY KEY (id)" in broken.stdout
    assert run("verify", "-d", declared, "--format", "csv").stdout.startswith("object,declaration,holds,")
    with merganser.connect(declared) as connection:
        connection.execute("DELETE FROM customer WHERE name = 'name99'")
    assert run("verify", "-d", declared).exit_code == 0
    missing = run("verify", "nothing", "-d", declared)
    assert missing.exit_code == 1
    assert "there is no table or view nothing" in missing.stderr


def test_report_writes_a_page(run, declared, tmp_path):
    query = "SELECT id, sum(amount) AS total FROM orders GROUP BY id ORDER BY total DESC LIMIT 3"
    page = tmp_path / "page.html"
    result = run("report", query, "-d", declared, "-o", page)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"wrote {page}\n"
    assert "late_materialization" in page.read_text()
    planned = tmp_path / "plan.json"
    assert run("report", query, "-d", declared, "-o", planned, "--no-run").exit_code == 0
    assert '"run": null' in planned.read_text()


def test_report_compares_two_runs(run, declared, tmp_path):
    for name in ("a.json", "b.json"):
        assert (
            run(
                "report", "SELECT count(*) AS n FROM orders WHERE id > 3", "-d", declared, "-o", tmp_path / name
            ).exit_code
            == 0
        )
    page = tmp_path / "page.html"
    result = run("report", "--compare", tmp_path / "a.json", tmp_path / "b.json", "-o", page)
    assert (result.exit_code, result.stdout) == (0, f"wrote {page}\n")
    assert "Where the time went" in page.read_text()
    assert run("report", "SELECT 1", "--compare", tmp_path / "a.json", tmp_path / "b.json").exit_code == 2
    assert run("report").exit_code == 2


@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        ("", "page.html", "there is no statement to run"),
        ("SELECT nothing", "page.html", "Binder Error"),
        ("SELECT 1", "page.pdf", "names no format"),
        ("SELECT 1", "no/page.html", "does not exist; make it first"),
    ],
)
def test_report_refuses_with_one_sentence(run, tmp_path, query, name, message):
    result = run("report", query, "-o", tmp_path / name)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("query", ["SELECT count(*) FROM orders", "VALUES (1)", "SELECT 42", "DESCRIBE orders"])
def test_report_on_what_is_answered_while_planning(run, declared, tmp_path, query):
    page = tmp_path / "page.html"
    result = run("report", query, "-d", declared, "-o", page)
    assert result.exit_code == 0, result.output
    assert query in page.read_text()


# ---------------------------------------------------------------- the command and its installation


def command(*arguments, **options) -> subprocess.CompletedProcess:
    program = [sys.executable, "-m", "merganser", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=60, **options)


def test_it_runs_as_a_module_without_colours_in_a_pipe():
    done = command("sql", "SELECT 'ratio:100:x' AS a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ratio:100:x" in done.stdout and "\x1b" not in done.stdout
    failed = command("sql", "SELECT nothing")
    assert failed.returncode == 1 and "\x1b" not in failed.stderr


def test_parquet_on_standard_output_is_whole(tmp_path):
    program = [sys.executable, "-m", "merganser", "sql", "FROM range(5000) t(i)", "--format", "parquet"]
    file = tmp_path / "rows.parquet"
    file.write_bytes(subprocess.run(program, capture_output=True, check=True, timeout=60).stdout)
    assert duckdb.sql(f"SELECT count(*), sum(i) FROM '{file}'").fetchall() == [(5000, 12497500)]


def test_a_reader_that_stops_reading_is_no_error_message():
    program = f"{sys.executable} -m merganser sql 'FROM range(200000)' --format csv | head -n 1"
    done = subprocess.run(program, shell=True, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("range\n", "")


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), RuntimeError("Query interrupted")])
def test_an_interrupt_ends_it_with_130(run, monkeypatch, interrupt):
    """Python's own, and what DuckDB makes of it while a query runs."""

    def interrupted(*_):
        raise interrupt

    monkeypatch.setattr("merganser.command_line.text_of", interrupted)
    result = run("sql", "SELECT 1")
    assert (result.exit_code, result.stderr) == (130, "merganser: interrupted\n")


def test_version_and_completion(run):
    assert run("--version").stdout == f"merganser {merganser.__version__}\n"
    done = command(
        env={**os.environ, "_MERGANSER_COMPLETE": "complete_bash", "COMP_WORDS": "merganser re", "COMP_CWORD": "1"}
    )
    assert done.stdout.split() == ["report"]


def test_the_package_says_that_it_is_typed():
    assert resources.files(merganser).joinpath("py.typed").is_file()


def test_a_checkout_has_the_command():
    program = Path(sys.executable).with_name("merganser")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"merganser {merganser.__version__}\n"


def test_bench_comes_with_a_checkout_only():
    other = "import pathlib; pathlib.Path.is_dir = lambda self: False\n"
    listed = "from merganser.command_line import app\napp(['--help'], prog_name='merganser')"
    assert "bench" in command("--help").stdout
    done = subprocess.run([sys.executable, "-c", other + listed], capture_output=True, text=True, timeout=60)
    assert "report" in done.stdout and "bench" not in done.stdout


# ---------------------------------------------------------------- doctor


def test_doctor_finds_this_installation_well(run, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    result = run("doctor")
    assert result.exit_code == 0, result.output
    found = {line[5:].partition("  ")[0].strip(): line for line in result.stdout.splitlines()}
    assert merganser.__version__ in found["merganser"] and duckdb.__version__ in found["DuckDB"]
    assert str(merganser.extension_path()) in found["extension"]
    assert sys.modules["_duckdb"].__file__ in found["DuckDB's module"]
    assert {"Python", "loading it", "threads", "memory", "temporary files", "exchange files", "Ray"} <= set(found)


def test_doctor_tells_what_to_mend(run, monkeypatch, tmp_path):
    monkeypatch.setenv("MERGANSER_EXTENSION", str(tmp_path / "no"))
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    result = run("doctor")
    assert result.exit_code == 3
    assert "run `make build` first" in result.stdout and "correct RAY_ADDRESS" in result.stdout
    (tmp_path / "no").write_text("no extension")
    assert re.search(r"^mend +loading it +fails\n +-> .*no", run("doctor").stdout, re.MULTILINE)


def test_doctor_on_versions_modules_and_space(tmp_path, monkeypatch):
    assert installation.duckdb_version("1.4.0") == Finding("DuckDB", "1.4.0", "pip install duckdb==2.0.1")
    maps = tmp_path / "maps"
    line = "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234   {}\n"
    names = ("/a b/_duckdb.abi3.so", "/a b/_duckdb.abi3.so", "/usr/lib/libc.so.6", "/other/libduckdb.so")
    maps.write_text("".join(map(line.format, names)) + "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n")
    assert installation.mapped_modules(maps) == {"/a b/_duckdb.abi3.so", "/other/libduckdb.so"}
    monkeypatch.setattr(installation, "mapped_modules", lambda _: {"/other/libduckdb.so"})
    (module,) = installation.duckdb_modules()
    assert module.remedy == "a second DuckDB is loaded, /other/libduckdb.so: use one environment for both"
    monkeypatch.setattr(installation, "SCARCE_BYTES", 1 << 80)
    assert installation.space("x", tmp_path / "not" / "there", "temp_directory").remedy.startswith(
        "free some, or SET temp_d"
    )
