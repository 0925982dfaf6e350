"""The files of a query are listed once: every task reads its slice of them as the whole scan does, in one version."""

import os
import re
import shutil

import duckdb
import merganser
import pytest
from staged import check, cut_everything

ROWS = "SELECT i + {0} * 5000 AS i, {0} AS f, i % 7 AS g FROM range(5000) r(i)"
FILES = 4


@pytest.fixture
def connection():
    with merganser.connect() as connection:
        cut_everything(connection)
        yield connection


@pytest.fixture
def folder(tmp_path):
    """4 files of each format, 5000 rows each; the Parquet files have 3 row groups."""
    for number in range(FILES):
        rows = ROWS.format(number)
        duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/f{number}.parquet' (ROW_GROUP_SIZE 2048)")
        duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/f{number}.csv'")
        duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/f{number}.json'")
    return tmp_path


def inputs(connection, query: str) -> str:
    rows = connection.execute("SELECT inputs FROM merganser_stages($1)", [query]).fetchall()
    return "; ".join(row[0] for row in rows)


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i FROM read_parquet('{}/f*.parquet')",
        "SELECT i, parse_filename(src) FROM read_parquet('{}/f*.parquet', filename = 'src')",
        "SELECT i, src FROM read_csv('{}/f*.csv', filename = 'src')",
        "SELECT i, src FROM read_json('{}/f*.json', filename = 'src')",
        "SELECT count(*), sum(i) FROM read_parquet('{}/f*.parquet', filename = 'src')",
        "SELECT i, filename FROM read_parquet('{}/f*.parquet', filename = true)",
        "SELECT i, filename FROM read_parquet('{}/f*.parquet') WHERE filename LIKE '%f2%' OR i < 10",
        "SELECT i FROM read_parquet('{}/f*.parquet', filename = true) WHERE filename LIKE '%f2%' OR filename > 'x'",
        "SELECT i, file_row_number FROM read_parquet('{}/f*.parquet')",
        "SELECT i, file_row_number FROM read_parquet('{}/f*.parquet', file_row_number = true)",
        "SELECT f, file_row_group_number, count(*) FROM read_parquet('{}/f*.parquet') GROUP BY ALL ORDER BY ALL",
        "SELECT * FROM read_parquet('{}/f*.parquet', union_by_name = true)",
        "SELECT * FROM read_parquet('{}/f0.parquet')",
        "SELECT max(i) FROM read_csv('{}/f*.csv', all_varchar = true, skip = 1, header = false, names = ['i', 'f'])",
        "SELECT * FROM read_csv('{}/f*.csv', types = {{'g': 'DOUBLE'}})",
        "SELECT * FROM read_json('{}/f*.json', columns = {{'i': 'DOUBLE', 'g': 'VARCHAR'}})",
        """SELECT * FROM read_parquet('{}/f*.parquet',
               schema = MAP {{'g': {{name: 'n', type: 'DOUBLE', default_value: NULL}}}})""",
        "SELECT count(*), sum(i) FROM read_parquet(['{0}/f3.parquet', '{0}/f1.parquet', '{0}/f3.parquet'])",
        "SELECT i FROM read_parquet(['{0}/f3.parquet', '{0}/f1.parquet', '{0}/f3.parquet'])",
    ],
)
def test_options_of_readers(connection, folder, query):
    query = query.format(folder)
    check(connection, query, ordered=True)
    assert " files in " in inputs(connection, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i, file_index FROM read_parquet('{}/f*.parquet')",
        "SELECT i FROM read_csv('{}/f*.csv', store_rejects = true)",
        "SELECT i FROM read_csv('{}/f*.csv', rejects_table = 'broken')",
        "SELECT i FROM read_parquet([{{'filename': '{0}/f1.parquet'}}, {{'filename': '{0}/f0.parquet'}}])",
    ],
)
def test_what_only_the_session_can_read_it_sends(connection, folder, query):
    query = query.format(folder)
    connection.execute("DROP TABLE IF EXISTS broken")
    assert inputs(connection, query) in ("rows sent by the session", "rows sent by the session; all of stage 1")
    connection.execute("SET merganser_runner = 'local'")
    assert connection.execute(query).fetchall() == duckdb.connect().execute(query).fetchall()


def test_keys_of_encrypted_files_stay_in_the_session(connection, tmp_path):
    key = "0123456789112345"
    connection.execute(f"SET force_mbedtls_unsafe = true; PRAGMA add_parquet_key('k', '{key}')")
    for name, config in (("a", "footer_key: 'k'"), ("b", "footer_key_value: 'MDEyMzQ1Njc4OTExMjM0NQ=='")):
        for number in range(2):
            connection.execute(f"""COPY (SELECT i, i % 3 AS g FROM range(30) r(i))
                TO '{tmp_path}/{name}{number}.parquet' (ENCRYPTION_CONFIG {{{config}}})""")
        source = f"read_parquet('{tmp_path}/{name}*.parquet', encryption_config = {{{config}}})"
        query = f"SELECT g, sum(i) FROM {source} GROUP BY g"
        assert check(connection, query) == 4
        stages = str(connection.execute("FROM merganser_stages($1)", [query]).fetchall())
        assert "rows sent by the session" in stages and "MDEy" not in stages and key not in stages


def test_keys_of_hive_folders_that_look_like_other_types(connection, tmp_path):
    connection.execute(f"""COPY (SELECT i AS v, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE '0' || (i % 3) END AS k
        FROM range(30) r(i)) TO '{tmp_path}/h' (FORMAT parquet, PARTITION_BY (k))""")
    source = f"read_parquet('{tmp_path}/h/*/*.parquet', hive_partitioning = true)"
    for where in ("k IS NULL OR k <> '01'", "k = '00'", "k = ''", "true"):
        query = f"SELECT k, count(*), sum(v), typeof(any_value(k)) FROM {source} WHERE {where} GROUP BY k"
        check(connection, query)
        assert " files in " in inputs(connection, query)
    connection.execute("SET merganser_runner = 'local'")
    query = f"SELECT k, count(*), sum(v), typeof(any_value(k)) FROM {source} WHERE k IS NULL OR k <> '01' GROUP BY k"
    assert sorted(connection.execute(query).fetchall(), key=str) == [
        ("", 8, 120, "VARCHAR"),
        ("00", 5, 69, "VARCHAR"),
        ("02", 5, 76, "VARCHAR"),
        (None, 8, 112, "VARCHAR"),
    ]


def test_types_of_hive_keys_come_from_all_paths(connection, tmp_path):
    """A slice of the folders 0 to 8 alone would have numbers."""
    rows = "SELECT i AS v, CASE WHEN i % 10 = 9 THEN 'x' ELSE (i % 10)::VARCHAR END AS k FROM range(100) r(i)"
    for form, files in (("parquet", "*/*.parquet"), ("csv", "*/*.csv")):
        connection.execute(f"COPY ({rows}) TO '{tmp_path}/{form}' (FORMAT {form}, PARTITION_BY (k))")
        source = f"read_{form}('{tmp_path}/{form}/{files}', hive_partitioning = true)"
        for query in (
            f"SELECT typeof(k), k, sum(v) FROM {source} GROUP BY ALL",
            f"SELECT typeof(k), k, sum(v) FROM {source} WHERE k < '3' GROUP BY ALL",
        ):
            assert check(connection, query) > 1
            assert " files in " in inputs(connection, query)


def test_functions_of_the_file_name_beside_qualify(connection, tmp_path):
    connection.execute(f"""COPY (SELECT i AS v, i % 3 AS k, i % 5 AS g FROM range(30) r(i)) TO '{tmp_path}/q'
        (FORMAT parquet, PARTITION_BY (k))""")
    query = f"""SELECT v, g, parse_path(filename)[-2] AS part
        FROM read_parquet('{tmp_path}/q/*/*.parquet', filename = true)
        QUALIFY row_number() OVER (PARTITION BY g ORDER BY v DESC) = 1 ORDER BY g"""
    assert check(connection, query, ordered=True) > 1
    assert " files in " in inputs(connection, query)
    connection.execute("SET merganser_runner = 'local'")
    assert [row[2] for row in connection.execute(query).fetchall()] == ["k=1", "k=2", "k=0", "k=1", "k=2"]


@pytest.mark.parametrize("options", ["", ", union_by_name = true"])
def test_columns_are_those_of_the_whole_scan(connection, tmp_path, options):
    """Files have the columns in another order, in other types, or not at all."""
    for number, columns in enumerate(["1 AS a, 'x' AS b", "'y' AS b, 2::SMALLINT AS a", "3::UTINYINT AS a, 'z' AS b"]):
        connection.execute(f"COPY (SELECT {columns} FROM range(100)) TO '{tmp_path}/f{number}.parquet'")
    query = f"SELECT *, typeof(a) FROM read_parquet('{tmp_path}/f*.parquet'{options})"
    assert check(connection, query, ordered=True) == 4
    connection.execute(f"COPY (SELECT 4 AS a, 5 AS other) TO '{tmp_path}/f9.parquet'")
    assert check(connection, query, ordered=True) == 4  # rows, or the same error


def test_files_with_names_that_are_patterns(connection, tmp_path):
    (tmp_path / "a[1]").mkdir()
    for number, name in enumerate(["a[1]/x*.parquet", "a[1]/y'.parquet", "a[1]/b?.parquet"]):
        path = str(tmp_path / name).replace("'", "''")
        connection.execute(f"COPY ({ROWS.format(number)}) TO '{path}'")
    assert check(connection, f"SELECT f, count(*), sum(i) FROM '{tmp_path}/*/*.parquet' GROUP BY f") == 4


def test_links(connection, folder):
    os.symlink(folder / "f1.parquet", folder / "link.parquet")
    assert check(connection, f"SELECT f, count(*), sum(i) FROM '{folder}/*.parquet' GROUP BY f") == 4


def test_a_prepared_statement_lists_its_files_when_it_runs(connection, folder):
    connection.execute("SET merganser_runner = 'local'")
    connection.execute(f"PREPARE q AS SELECT count(*), max(f) FROM '{folder}/*.parquet'")
    assert connection.execute("EXECUTE q").fetchall() == [(20000, 3)]
    duckdb.execute(f"COPY ({ROWS.format(7)}) TO '{folder}/f7.parquet'")
    os.remove(folder / "f0.parquet")
    assert connection.execute("EXECUTE q").fetchall() == [(20000, 7)]


# ------------------------------------------------------------------ where files are


def test_relative_paths_are_those_of_the_session(connection, folder, monkeypatch):
    """A task reads where the session was when it planned, although the process is elsewhere when the task runs."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    duckdb.execute(f"COPY (SELECT -1 AS i, -1 AS f, -1 AS g) TO '{elsewhere}/f0.parquet'")
    monkeypatch.chdir(folder)

    def leave(row: int) -> int:
        os.chdir(elsewhere)
        return row

    connection.create_function("leave", leave, ["BIGINT"], "BIGINT")
    query = "SELECT f, count(leave(i)) FROM {} GROUP BY f ORDER BY f"
    connection.execute("SET merganser_runner = 'local'; SET merganser_slots = 1; SET threads = 1")
    for source in (
        "'f*.parquet'",
        "'./f*.parquet'",
        "read_csv('f*.csv')",
        f"read_parquet('../{folder.name}/f*.parquet')",
    ):
        os.chdir(folder)
        assert " files in " in inputs(connection, query.format(source))
        os.chdir(folder)
        rows = connection.execute(query.format(source)).fetchall()
        assert os.getcwd() == str(elsewhere)
        assert rows == [(number, 5000) for number in range(FILES)]


def test_the_home_directory_is_the_sessions(connection, folder):
    connection.execute(f"SET home_directory = '{folder}'")
    query = "SELECT f, count(*), min(filename) FROM read_parquet('~/f*.parquet', filename = true) GROUP BY f"
    assert check(connection, query) == 4
    assert "4 files in " in inputs(connection, query)
    query = f"SELECT f, count(*) FROM 'file://{folder}/f*.parquet' GROUP BY f"
    assert check(connection, query) == 4
    assert "4 files in " in inputs(connection, query)


def test_names_of_files_with_relative_paths_are_as_written(connection, folder, monkeypatch):
    monkeypatch.chdir(folder)
    query = "SELECT filename, count(*) FROM read_parquet('f*.parquet', filename = true) GROUP BY filename"
    assert check(connection, query) == 4
    assert "rows sent by the session" in inputs(connection, query)


def test_a_folder_above_a_relative_path_is_no_hive_key(connection, tmp_path, monkeypatch):
    (tmp_path / "g=9" / "k=1").mkdir(parents=True)
    (tmp_path / "g=9" / "k=2").mkdir()
    monkeypatch.chdir(tmp_path / "g=9")
    for key in (1, 2):
        connection.execute(f"COPY ({ROWS.format(key)}) TO 'k={key}/f.parquet'")
    query = (
        "SELECT k, g, count(*) FROM read_parquet('k=*/*.parquet', hive_partitioning = true) WHERE g < 3 GROUP BY ALL"
    )
    assert check(connection, query) == 4


# ------------------------------------------------------------------ one version


def replace(path) -> None:
    duckdb.execute(f"COPY (SELECT -i AS i, 99 AS f, 0 AS g FROM range(5000) r(i)) TO '{path}.new' (FORMAT parquet)")
    os.replace(f"{path}.new", path)


def append(path) -> None:
    with open(path, "ab") as file:
        file.write(b"PAR1")


def truncate(path) -> None:
    os.truncate(path, 100)


def touch(path) -> None:
    os.utime(path, (0, 0))


@pytest.fixture
def at_row(connection):
    """`at_row(action, row)` runs an action when the row of this number is computed in SQL by `step(i)`.

    One task runs at a time, on one thread, so that it is known what has been read then."""
    due: dict[int, list] = {}

    def step(row: int) -> int:
        for action, *arguments in due.pop(row, []):
            action(*arguments)
        return row

    connection.create_function("step", step, ["BIGINT"], "BIGINT")
    for setting in ("merganser_runner = 'local'", "merganser_slots = 1", "merganser_tasks = 2", "threads = 1"):
        connection.execute(f"SET {setting}")

    def at(row: int, action, *arguments) -> None:
        due.setdefault(row, []).append((action, *arguments))

    return at


CHANGES = [os.remove, replace, append, truncate, touch]
STEPS = "SELECT f, count(*), sum(step(i)) FROM '{}/f*.parquet' GROUP BY f"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize(
    "row, number", [(10, 3), (10, 1), (10, 0), (8000, 0)], ids=["other task", "next file", "open file", "read file"]
)
def test_a_file_that_changes_while_it_is_needed_fails_the_query(connection, folder, at_row, change, row, number):
    """Task 0 reads files 0 and 1, task 1 files 2 and 3."""
    at_row(row, change, folder / f"f{number}.parquet")
    with pytest.raises(duckdb.IOException, match=rf"f{number}\.parquet") as error:
        connection.execute(STEPS.format(folder)).fetchall()
    if change is not truncate:  # then DuckDB may be the first to see that bytes are missing
        assert re.search("when the query was planned.*had [0-9]+ bytes, changed at 20", str(error.value))


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_file_may_change_once_its_tasks_have_ended(connection, folder, at_row, change):
    at_row(15000, change, folder / "f0.parquet")
    rows = connection.execute(STEPS.format(folder)).fetchall()
    assert sorted(row[:2] for row in rows) == [(number, 5000) for number in range(FILES)]


@pytest.mark.parametrize("reader", ["read_csv('{}/f*.csv')", "read_json('{}/f*.json')"])
def test_text_files_that_change(connection, folder, at_row, reader):
    source = reader.format(folder)
    suffix = "csv" if "csv" in source else "json"
    query = f"SELECT f, count(*), sum(step(i)) FROM {source} GROUP BY f"
    at_row(10, os.remove, folder / f"f3.{suffix}")
    with pytest.raises(duckdb.IOException, match=rf"f3\.{suffix}.*not there any more: when the query was planned"):
        connection.execute(query).fetchall()


def test_a_change_before_a_limit_ends_the_task(connection, folder, at_row):
    """The task stops reading long before the end of its files, and still looks at what it has opened."""
    at_row(100, touch, folder / "f0.parquet")
    with pytest.raises(duckdb.IOException, match=r"f0\.parquet.*when the query was planned"):
        connection.execute(f"SELECT i FROM '{folder}/f*.parquet' WHERE step(i) >= 0 LIMIT 200").fetchall()


def test_a_file_that_appears_is_not_read(connection, folder, at_row):
    at_row(10, shutil.copy, folder / "f0.parquet", folder / "f2a.parquet")
    rows = connection.execute(STEPS.format(folder)).fetchall()
    assert sorted(row[:2] for row in rows) == [(number, 5000) for number in range(FILES)]


def test_copies_of_changing_files_are_not_written(connection, folder, at_row):
    at_row(15000, touch, folder / "f3.parquet")
    with pytest.raises(duckdb.IOException, match=r"f3\.parquet.*when the query was planned"):
        connection.execute(f"COPY (SELECT step(i) FROM '{folder}/f*.parquet') TO '{folder}/out' (PER_THREAD_OUTPUT)")
    assert not (folder / "out").exists()
