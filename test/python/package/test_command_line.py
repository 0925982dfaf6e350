"""The command `merganser`, as typed."""

import duckdb
import merganser
import pytest
from merganser.command_line import app
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


def test_sql_reads_files_standard_input_and_a_database(run, tmp_path):
    database, file = tmp_path / "some.duckdb", tmp_path / "query.sql"
    with duckdb.connect(database) as connection:
        connection.execute("CREATE TABLE t AS FROM range(100) r(i)")
    file.write_text("SELECT sum(i) AS total FROM t;")
    assert "4950" in run("sql", file, "--database", database).stdout
    assert "4851" in run("sql", "-", "-d", database, input="SELECT sum(i) - 99 FROM t").stdout
    assert "the first 3 rows; there are more" in run("sql", "FROM t", "-d", database, "--max-rows", 3).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sql", "SELECT * FROM nothing"], "Table with name nothing does not exist"),
        (["sql", "no/such/file.sql"], "cannot read no/such/file.sql: No such file"),
        (["sql", "SELECT 1", "-d", "/no/such/folder/x.duckdb"], "Cannot open file"),
        (["sql", ""], "there is no statement to run"),
        (["sql", ";"], "there is no statement to run"),
        (["verify", "t", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["explain", "SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["report", "SELECT 1", "-d", "no.duckdb"], "there is no database file no.duckdb"),
        (["bench", "--name", "no_such_benchmark"], "there is no benchmark 'no_such_benchmark'"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_one(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


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


def test_verify_tells_whether_declarations_hold(run, declared):
    broken = run("verify", "customer", "-d", declared)
    assert broken.exit_code == 1
    assert "PRIMARY KEY (id)" in broken.stdout
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


@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        ("SELECT 1; SELECT 2", "page.html", "exactly one query"),
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
