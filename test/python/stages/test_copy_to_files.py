"""COPY to a folder from all tasks: what it writes is what DuckDB alone writes, it appears all or nothing, and it says
so. Everything DuckDB's COPY refuses is refused, and what tasks cannot write the session writes, with the reason."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import merganser
import pytest
from staged import cut_everything

MANIFEST = "_manifest.merganser"
ROWS = "SELECT i, i % 3 AS g, 'text ' || i AS s, i * 1.5 AS d, {'a': i, 'b': [i]} AS n FROM t"
READ = {"parquet": "read_parquet", "csv": "read_csv", "json": "read_json"}


@pytest.fixture
def staged(tmp_path):
    """Four tasks a stage over a view `t` of four files; `out` below the same folder is for what tests write."""
    with merganser.connect() as connection:
        cut_everything(connection)
        (tmp_path / "in").mkdir()
        (tmp_path / "out").mkdir()
        (tmp_path / "exchange").mkdir()
        for part in range(4):
            rows = f"SELECT i FROM range({part * 2500}, {(part + 1) * 2500}) r(i)"
            connection.execute(f"COPY ({rows}) TO '{tmp_path}/in/t_{part}.parquet'")
        connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/in/t_*.parquet')")
        connection.execute(f"SET merganser_exchange_directory = '{tmp_path}/exchange'")
        connection.execute("SET merganser_runner = 'local'")
        yield connection
        connection.execute("SET merganser_runner = ''")
    assert not list((tmp_path / "exchange").rglob("*"))
    assert not [path for path in (tmp_path / "out").rglob(".*")], "a staging folder is left"


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out" / "written"


def copy(rows: str, folder: Path, options: str) -> str:
    return f"COPY ({rows}) TO '{folder}' ({options})"


def plan(connection, statement: str) -> str:
    return connection.execute(f"EXPLAIN {statement}").fetchall()[0][1]


def stages(connection, statement: str) -> list[tuple]:
    return connection.execute("SELECT tasks, partitioning, reason FROM merganser_stages($1)", [statement]).fetchall()


def alone(connection, statement: str) -> list[tuple]:
    """What DuckDB alone returns."""
    connection.execute("SET merganser_runner = ''")
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.execute("SET merganser_runner = 'local'")


def rows_of(connection, folder: Path, suffix: str, reader: str = "read_parquet") -> list[tuple]:
    return sorted(alone(connection, f"FROM {reader}('{folder}/**/*.{suffix}')"), key=repr)


def data_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def manifest(folder: Path) -> dict:
    return json.loads((folder / MANIFEST).read_text())


@pytest.mark.parametrize("suffix", READ)
@pytest.mark.parametrize(
    "option",
    ["PER_THREAD_OUTPUT", "FILE_SIZE_BYTES '20KB'", "PARTITION_BY (g)", "PARTITION_BY (g), HIVE_FILE_PATTERN false"],
)
def test_rows_and_columns_are_those_of_duckdb(staged, out, suffix, option):
    options = f"FORMAT {suffix}, {option}"
    assert "Staged Copy" in plan(staged, copy(ROWS, out, options))
    assert stages(staged, copy(ROWS, out, options))[-1][:2] == (4, "files")
    assert staged.execute(copy(ROWS, out, options)).fetchall() == [(10000,)]
    expected = out.with_name("alone")
    assert alone(staged, copy(ROWS, expected, options)) == [(10000,)]
    assert rows_of(staged, out, suffix, READ[suffix]) == rows_of(staged, expected, suffix, READ[suffix])
    described = [alone(staged, f"DESCRIBE FROM {READ[suffix]}('{of}/**/*.{suffix}')") for of in (out, expected)]
    assert described[0] == described[1]
    if "PARTITION_BY" in option:
        assert set(data_files(out)) - {MANIFEST} == set(data_files(expected))
    else:
        assert len(data_files(out)) > 4


def test_each_partition_is_written_by_one_task(staged, out):
    rows = "SELECT i, i % 40 AS p, i % 3 AS q FROM t"
    statement = copy(rows, out, "FORMAT parquet, PARTITION_BY (p, q)")
    *_, written = stages(staged, statement)
    assert "rows of a partition to the task that writes its files" in stages(staged, statement)[-2][2]
    assert written[:2] == (4, "files")
    staged.execute(statement)
    assert merganser.last_query()["stages"][-1]["tasks"] == 4
    expected = out.with_name("alone")
    alone(staged, copy(rows, expected, "FORMAT parquet, PARTITION_BY (p, q)"))
    assert set(data_files(out)) - {MANIFEST} == set(data_files(expected))
    assert len(data_files(expected)) == 120
    assert rows_of(staged, out, "parquet") == rows_of(staged, expected, "parquet")


def test_rows_that_lie_by_partition_are_not_exchanged_again(staged, out):
    rows = "SELECT p, row_number() OVER (PARTITION BY p ORDER BY i) AS n FROM (SELECT i, i % 40 AS p FROM t)"
    statement = copy(rows, out, "FORMAT parquet, PARTITION_BY (p)")
    assert "rows of a partition" not in "".join(reason for *_, reason in stages(staged, statement))
    assert stages(staged, statement)[-1][:2] == (4, "files")
    staged.execute(statement)
    expected = out.with_name("alone")
    alone(staged, copy(rows, expected, "FORMAT parquet, PARTITION_BY (p)"))
    assert set(data_files(out)) - {MANIFEST} == set(data_files(expected))
    assert rows_of(staged, out, "parquet") == rows_of(staged, expected, "parquet")


def test_a_partition_keeps_the_order_of_order_by(staged, out):
    staged.execute("SET merganser_broadcast_max_bytes = 0")
    rows = "SELECT (i * 7919) % 10007 AS v, i % 3 AS g FROM t ORDER BY v"
    statement = copy(rows, out, "FORMAT parquet, PARTITION_BY (g)")
    assert stages(staged, statement)[-1][:2] == (4, "files")
    staged.execute(statement)
    for g in range(3):
        [(written,)] = alone(staged, f"SELECT list(v) FROM '{out}/g={g}/data_0.parquet'")
        assert len(written) > 3000
        assert written == sorted(written)


@pytest.mark.parametrize(
    "options, tasks, files",
    [
        ("FILE_SIZE_BYTES '100MB'", 1, 1),
        ("ROW_GROUP_SIZE 2048, ROW_GROUPS_PER_FILE 2", 2, None),
        ("ROW_GROUP_SIZE 2048, ROW_GROUPS_PER_FILE 1", 4, None),
        ("PER_THREAD_OUTPUT, FILE_SIZE_BYTES '100MB'", 4, None),
    ],
)
def test_no_more_tasks_than_files_of_the_size_that_is_asked_for(staged, out, options, tasks, files):
    statement = copy("SELECT i FROM t", out, f"FORMAT parquet, {options}")
    written = stages(staged, statement)[-1]
    assert written[:2] == (tasks, "files")
    assert ("files of the size it asks for" in written[2]) == (tasks < 4)
    staged.execute(statement)
    assert merganser.last_query()["stages"][-1]["tasks"] == tasks
    assert files is None or len(data_files(out)) == files + 1
    assert rows_of(staged, out, "parquet") == sorted([(i,) for i in range(10000)], key=repr)


def test_the_session_writes_full_row_groups_whatever_the_tasks_have(staged, out):
    statement = copy("SELECT i, i + 1 FROM t WHERE i < 9000", out, "FORMAT parquet, ROW_GROUP_SIZE 2048")
    assert stages(staged, statement)[-1][0] == 4
    staged.execute(statement)
    groups = f"SELECT list(row_group_num_rows ORDER BY row_group_id) FROM parquet_metadata('{out}') WHERE column_id = 0"
    assert alone(staged, groups) == [([2048, 2048, 2048, 2048, 808],)]


def test_manifest(staged, out):
    staged.execute(copy(ROWS, out, "FORMAT parquet, PARTITION_BY (g)"))
    told = manifest(out)
    assert told["format"] == "parquet"
    assert told["partition_by"] == ["g"]
    assert [column["name"] for column in told["columns"]] == ["i", "g", "s", "d", "n"]
    assert [column["type"] for column in told["columns"]][:4] == ["BIGINT", "BIGINT", "VARCHAR", "DECIMAL(21,1)"]
    assert told["rows"] == sum(file["rows"] for file in told["files"]) == 10000
    assert told["bytes"] == sum(file["bytes"] for file in told["files"])
    assert sorted(file["path"] for file in told["files"]) == [path for path in data_files(out) if path != MANIFEST]
    for file in told["files"]:
        assert (out / file["path"]).stat().st_size == file["bytes"]
        assert alone(staged, f"SELECT count(*) FROM read_parquet('{out}/{file['path']}')") == [(file["rows"],)]


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_manifest_of_text(staged, out, suffix):
    staged.execute(copy(ROWS, out, f"FORMAT {suffix}, PER_THREAD_OUTPUT"))
    told = manifest(out)
    assert told["format"] == suffix
    assert [column["name"] for column in told["columns"]] == ["i", "g", "s", "d", "n"]
    assert told["rows"] == 10000
    assert sum(file["bytes"] for file in told["files"]) == told["bytes"] > 0


def test_names_and_options_of_the_format_reach_the_files(staged, out):
    rows = 'SELECT i AS "a ""b\'", i % 2 AS "p q" FROM t'
    options = """FORMAT parquet, PARTITION_BY ("p q"), WRITE_PARTITION_COLUMNS, COMPRESSION zstd, ROW_GROUP_SIZE 2048,
        FILENAME_PATTERN 'part_{i}', FILE_EXTENSION 'pq', KV_METADATA {author: 'us'}"""
    staged.execute(copy(rows, out, options))
    assert {path.name for path in out.glob("*/*.pq")} == {"part_0.pq"}
    files = f"'{out}/**/*.pq'"
    assert alone(staged, f"SELECT DISTINCT compression FROM parquet_metadata({files})") == [("ZSTD",)]
    assert alone(staged, f"SELECT max(row_group_num_rows) <= 2048 FROM parquet_metadata({files})") == [(True,)]
    assert alone(staged, f"SELECT DISTINCT decode(value) FROM parquet_kv_metadata({files})") == [("us",)]
    assert alone(staged, f'SELECT sum("a ""b\'"), sum("p q") FROM read_parquet({files})') == [(49995000, 5000)]


@pytest.mark.parametrize(
    "options, head",
    [
        ("FORMAT csv, DELIMITER '|', HEADER false, QUOTE '^', FORCE_QUOTE (s), NULLSTR 'none'", "0|^text 0^|none"),
        ("FORMAT csv, COMPRESSION gzip, FILE_EXTENSION 'csv.gz'", None),
        ("FORMAT json, ARRAY", "["),
    ],
)
def test_options_of_text(staged, out, options, head):
    rows = "SELECT i, 'text ' || i AS s, nullif(i % 2, 0) AS x FROM t"
    staged.execute(copy(rows, out, f"{options}, PER_THREAD_OUTPUT"))
    expected = out.with_name("alone")
    alone(staged, copy(rows, expected, f"{options}, PER_THREAD_OUTPUT"))
    file = manifest(out)["files"][0]["path"]
    if head is None:
        assert (out / file).read_bytes()[:2] == b"\x1f\x8b"
        count = "SELECT count(*), sum(i) FROM read_csv('{}/*.csv.gz')"
        assert alone(staged, count.format(out)) == alone(staged, count.format(expected))
    else:
        assert (out / file).read_text().splitlines()[0] == head
        assert sorted(lines_of(out)) == sorted(lines_of(expected))


def lines_of(folder: Path) -> set[str]:
    return {line.rstrip(",") for path in folder.glob("data_*") for line in path.read_text().splitlines()}


def test_rows_in_the_order_of_the_files(staged, out):
    staged.execute("SET merganser_broadcast_max_bytes = 0")
    rows = "SELECT i, s FROM (SELECT (i * 7919) % 10007 AS i, 'text ' || i AS s FROM t) ORDER BY i DESC"
    statement = copy(rows, out, "FORMAT parquet, ROW_GROUP_SIZE 2048, ROW_GROUPS_PER_FILE 1")
    assert stages(staged, statement)[-1][:2] == (4, "files")
    staged.execute(statement)
    names = [file["path"] for file in manifest(out)["files"]]
    assert names == [f"data_{number}.parquet" for number in range(len(names))]
    assert len(names) > 4
    listed = ", ".join(f"'{out}/{name}'" for name in names)
    written = [row[0] for row in alone(staged, f"SELECT i FROM read_parquet([{listed}])")]
    assert written == sorted(written, reverse=True)
    assert len(written) == 10000


@pytest.mark.parametrize("option", ["PER_THREAD_OUTPUT", "PARTITION_BY (g)"])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_return_files(staged, out, option, suffix):
    statement = copy("SELECT i, i % 3 AS g FROM t", out, f"FORMAT {suffix}, {option}, RETURN_FILES")
    [(rows, files)] = staged.execute(statement).fetchall()
    assert rows == 10000
    assert sorted(files) == [f"{out}/{path}" for path in data_files(out) if path != MANIFEST]


def test_return_stats(staged, out):
    statement = copy("SELECT i, i % 3 AS g FROM t", out, "FORMAT parquet, PARTITION_BY (g), RETURN_STATS")
    returned = staged.execute(statement)
    assert [column[0] for column in returned.description][:3] == ["filename", "count", "file_size_bytes"]
    returned = returned.fetchall()
    assert sorted(row[0] for row in returned) == [f"{out}/{path}" for path in data_files(out) if path != MANIFEST]
    assert sum(row[1] for row in returned) == 10000
    for row in returned:
        assert Path(row[0]).stat().st_size == row[2]
        assert row[5] == {"g": Path(row[0]).parent.name.removeprefix("g=")}


def test_no_rows(staged, out):
    assert staged.execute(copy(f"{ROWS} WHERE i < 0", out, "PER_THREAD_OUTPUT, FORMAT parquet")).fetchall() == [(0,)]
    assert data_files(out) == [MANIFEST, "data_0.parquet"]
    assert alone(staged, f"SELECT count(*) FROM '{out}/*.parquet'") == [(0,)]
    folders = out.with_name("hive")
    assert staged.execute(copy(f"{ROWS} WHERE i < 0", folders, "PARTITION_BY (g), FORMAT parquet")).fetchall() == [(0,)]
    assert data_files(folders) == [MANIFEST]


def test_tasks_without_rows_leave_no_files(staged, out):
    staged.execute(copy(f"{ROWS} WHERE i < 10", out, "FORMAT csv, PER_THREAD_OUTPUT"))
    assert data_files(out) == [MANIFEST, "data_0.csv"]


# ---------------------------------------------------------------- what is there already


def test_a_folder_that_is_not_empty(staged, out):
    statement = copy("SELECT i, i % 2 AS g FROM t", out, "FORMAT parquet, PARTITION_BY (g)")
    staged.execute(statement)
    before = data_files(out)
    message = f'Directory "{out}" is not empty! Enable OVERWRITE option to overwrite files'
    with pytest.raises(duckdb.IOException, match=message):
        staged.execute(statement)
    with pytest.raises(duckdb.IOException, match=message):
        alone(staged, statement)
    assert data_files(out) == before


def test_a_file_in_its_place(staged, out):
    out.write_text("mine")
    with pytest.raises(duckdb.IOException, match="it exists and is a file, not a directory"):
        staged.execute(copy(ROWS, out, "FORMAT parquet, PER_THREAD_OUTPUT"))
    assert out.read_text() == "mine"
    staged.execute(copy(ROWS, out, "FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE"))
    assert manifest(out)["rows"] == 10000


def test_an_empty_folder_is_replaced_at_once_and_keeps_its_permissions(staged, out):
    out.mkdir(mode=0o750)
    staged.execute(copy(ROWS, out, "FORMAT parquet, PER_THREAD_OUTPUT"))
    assert out.stat().st_mode & 0o777 == 0o750
    assert manifest(out)["rows"] == 10000


def test_no_folder_above(staged, out):
    with pytest.raises(duckdb.IOException, match="Failed to create directory"):
        staged.execute(copy(ROWS, out / "deep", "FORMAT parquet, PER_THREAD_OUTPUT"))
    assert not out.exists()


def test_overwrite(staged, out):
    staged.execute(copy("SELECT i, i % 7 AS g FROM t", out, "FORMAT parquet, PARTITION_BY (g)"))
    (out / "other.txt").write_text("goes too, as in DuckDB")
    staged.execute(
        copy("SELECT i, i % 2 AS g FROM t WHERE i < 5000", out, "FORMAT parquet, PARTITION_BY (g), OVERWRITE")
    )
    assert {path.split("/")[0] for path in data_files(out)} == {"g=0", "g=1", MANIFEST}
    assert rows_of(staged, out, "parquet") == sorted([(i, i % 2) for i in range(5000)], key=repr)


def test_overwrite_what_the_query_reads(staged, out):
    staged.execute(copy("SELECT i FROM t", out, "FORMAT parquet, PER_THREAD_OUTPUT"))
    again = copy(
        f"SELECT i + 1 AS i FROM read_parquet('{out}/*.parquet')", out, "FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE"
    )
    assert staged.execute(again).fetchall() == [(10000,)]
    assert alone(staged, f"SELECT min(i), max(i), count(*) FROM '{out}/*.parquet'") == [(1, 10000, 10000)]


def test_overwrite_or_ignore(staged, out):
    out.mkdir()
    (out / "data_0.parquet").write_text("is replaced")
    (out / "other.txt").write_text("stays")
    staged.execute(copy("SELECT i FROM t", out, "FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE_OR_IGNORE"))
    assert (out / "other.txt").read_text() == "stays"
    assert alone(staged, f"SELECT count(*) FROM '{out}/*.parquet'") == [(10000,)]


def test_append(staged, out):
    for part in range(2):
        rows = f"SELECT i, i % 2 AS g FROM t WHERE i % 2 = {part}"
        staged.execute(copy(rows, out, "FORMAT parquet, PARTITION_BY (g), APPEND"))
    assert rows_of(staged, out, "parquet") == sorted([(i, i % 2) for i in range(10000)], key=repr)
    told = [json.loads(path.read_text()) for path in out.glob("_manifest_*.merganser")]
    assert [one["rows"] for one in told] == [5000, 5000]
    with pytest.raises(duckdb.BinderException, match="APPEND mode requires a {uuid} label"):
        staged.execute(copy(ROWS, out, "FORMAT parquet, PARTITION_BY (g), APPEND, FILENAME_PATTERN 'x_{i}'"))


def test_a_link_stays_a_link(staged, out):
    real = out.with_name("real")
    real.mkdir()
    out.symlink_to(real)
    staged.execute(copy(ROWS, out, "FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE"))
    assert out.is_symlink()
    assert manifest(real)["rows"] == 10000


def test_filename_patterns_that_collide(staged, out):
    for pattern, message in (("", "gives two files the name"), ("deep/{i}", "must name a file")):
        with pytest.raises(duckdb.InvalidInputException, match=message):
            staged.execute(copy(ROWS, out, f"FORMAT parquet, PER_THREAD_OUTPUT, FILENAME_PATTERN '{pattern}'"))
        assert not out.exists()
    staged.execute(copy(ROWS, out, "FORMAT parquet, PER_THREAD_OUTPUT, FILENAME_PATTERN '{uuid}'"))
    assert len(list(out.glob("*-*-*-*-*.parquet"))) >= 4


def test_prepared(staged, out):
    staged.execute(f"PREPARE again AS {copy('SELECT i FROM t', out, 'FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE')}")
    for _ in range(2):
        assert staged.execute("EXECUTE again").fetchall() == [(10000,)]
    assert alone(staged, f"SELECT count(*) FROM '{out}/*.parquet'") == [(10000,)]
    staged.execute("DEALLOCATE again")


# ---------------------------------------------------------------- what goes wrong

FAILS = "SELECT i, i % 3 AS g, CASE WHEN i = 7777 THEN error('oops') ELSE i END AS x FROM t"


@pytest.mark.parametrize("option", ["PER_THREAD_OUTPUT", "PARTITION_BY (g)"])
def test_a_task_that_fails_leaves_nothing(staged, out, option):
    with pytest.raises(duckdb.InvalidInputException, match="oops"):
        staged.execute(copy(FAILS, out, f"FORMAT parquet, {option}"))
    assert not out.exists()


@pytest.mark.parametrize("mode", ["OVERWRITE", "OVERWRITE_OR_IGNORE", "APPEND"])
def test_a_task_that_fails_leaves_the_old_files(staged, out, mode):
    staged.execute(copy("SELECT i, i % 3 AS g, i AS x FROM t", out, "FORMAT parquet, PARTITION_BY (g)"))
    before = {path: (out / path).read_bytes() for path in data_files(out)}
    with pytest.raises(duckdb.InvalidInputException, match="oops"):
        staged.execute(copy(FAILS, out, f"FORMAT parquet, PARTITION_BY (g), {mode}"))
    assert {path: (out / path).read_bytes() for path in data_files(out)} == before


def test_a_move_that_fails_is_undone(staged, out):
    staged.execute(
        copy("SELECT i, i % 3 AS g FROM t", out, "FORMAT parquet, PARTITION_BY (g), FILENAME_PATTERN 'a_{i}'")
    )
    before = {path: (out / path).read_bytes() for path in data_files(out)}
    (out / "g=2" / "b_0.parquet").mkdir()
    (out / "g=2" / "b_0.parquet" / "in the way").write_text("")
    (out / "g=2").chmod(0o500)
    options = "FORMAT parquet, PARTITION_BY (g), FILENAME_PATTERN 'b_{i}', OVERWRITE_OR_IGNORE"
    if os.geteuid() == 0:  # permissions do not stop root, but a file where a folder is to be does
        (out / "g=1").rename(out / "kept")
        (out / "g=1").write_text("")
    with pytest.raises(duckdb.IOException, match="Cannot put the files of the COPY into"):
        staged.execute(copy("SELECT i, i % 3 AS g FROM t", out, options))
    if os.geteuid() == 0:
        (out / "g=1").unlink()
        (out / "kept").rename(out / "g=1")
    (out / "g=2").chmod(0o700)
    (out / "g=2" / "b_0.parquet" / "in the way").unlink()
    assert {path: (out / path).read_bytes() for path in data_files(out)} == before


def test_interrupt_leaves_nothing(staged, out):
    threading.Timer(1.0, staged.interrupt).start()
    rows = "SELECT a.i FROM t a, t b, t c, t d WHERE a.i + b.i + c.i + d.i >= 0"
    with pytest.raises(duckdb.InterruptException):
        staged.execute(copy(rows, out, "FORMAT parquet, PER_THREAD_OUTPUT"))
    assert not out.exists()


FULL_DISK = """
import resource, signal, sys
import duckdb, merganser
folder = sys.argv[1]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
connection = merganser.connect(runner="local")
connection.execute("SET merganser_distribute_min_bytes = 0")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    rows = f"SELECT i, hash(i) AS h FROM '{folder}/in/*.parquet'"
    connection.execute(f"COPY ({rows}) TO '{folder}/out/written' (PER_THREAD_OUTPUT, FORMAT csv)")
except duckdb.IOException as error:
    print(error)
"""


def test_full_disk(staged, out, tmp_path):
    alone(staged, f"COPY (FROM range(200000) t(i)) TO '{tmp_path}/in/more.parquet'")
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    assert "IO Error" in run.stdout, run
    assert not out.exists()


# ---------------------------------------------------------------- what the session writes


@pytest.mark.parametrize(
    "options, reason",
    [
        (
            "FORMAT parquet",
            "its target is one file; PER_THREAD_OUTPUT, FILE_SIZE_BYTES and PARTITION_BY make it a folder",
        ),
        ("FORMAT parquet, PARTITION_BY (g), ORDER_BY (i)", "ORDER_BY sorts all rows of a folder together"),
        ("FORMAT parquet, FILE_SIZE_BYTES '1MB', PRESERVE_ORDER", "PRESERVE_ORDER writes all rows one after another"),
        (
            "FORMAT parquet, PARTITION_BY (g), PARTITION_PATH ('p' || g)",
            "PARTITION_PATH is an expression of the session",
        ),
        ("FORMAT parquet, PARTITION_BY (g), RETURN_COLUMN_TYPES", "RETURN_COLUMN_TYPES"),
    ],
)
def test_the_session_writes_and_says_why(staged, out, options, reason):
    statement = copy("SELECT i, i % 3 AS g FROM t", out, options)
    shown = plan(staged, statement)
    assert "Staged Query" in shown and "Staged Copy" not in shown
    assert f"the session writes the files: {reason}" in stages(staged, statement)[-1][2]
    explained = staged.execute(
        "SELECT text FROM merganser_explain($1) WHERE item = 'stages' AND section = 'decision'", [statement]
    ).fetchall()
    assert reason in explained[0][0]
    staged.execute(statement)
    source = out if out.is_file() else f"{out}/**/*.parquet"
    assert alone(staged, f"SELECT count(*), sum(i) FROM read_parquet('{source}')") == [(10000, 49995000)]


def test_encryption_stays_with_the_session(staged, out):
    staged.execute("PRAGMA add_parquet_key('k', '0123456789112345')")
    statement = copy("SELECT i FROM t", out, "FORMAT parquet, PER_THREAD_OUTPUT, ENCRYPTION_CONFIG {footer_key: 'k'}")
    assert "the keys of ENCRYPTION_CONFIG belong to the session" in stages(staged, statement)[-1][2]


def test_small_queries_stay_in_duckdb(staged, out):
    staged.execute("SET merganser_distribute_min_bytes = 1000000000")
    statement = copy("SELECT i FROM t", out, "FORMAT parquet, PER_THREAD_OUTPUT")
    assert "Staged" not in plan(staged, statement)
    assert staged.execute(statement).fetchall() == [(10000,)]


def test_aggregates_and_rows_of_the_session(staged, out):
    staged.execute("CREATE TABLE names AS SELECT i AS g, 'name ' || i AS name FROM range(3) r(i)")
    rows = "SELECT name, i % 100 AS h, sum(i) AS s FROM t JOIN names ON g = i % 3 GROUP BY ALL"
    statement = copy(rows, out, "FORMAT parquet, PARTITION_BY (name)")
    assert stages(staged, statement)[-1][:2] == (4, "files")
    assert staged.execute(statement).fetchall() == [(300,)]
    read = f"SELECT name, h, s FROM read_parquet('{out}/*/*.parquet', hive_partitioning = true) ORDER BY ALL"
    assert alone(staged, read) == alone(staged, f"SELECT name, h, s FROM ({rows}) ORDER BY ALL")
