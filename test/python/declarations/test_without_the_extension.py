"""Database files with declarations in DuckDB without the extension, and after a crash."""

import shutil

import duckdb
import merganser
import pytest

LISTED = "SELECT object_name, declaration, status, reason FROM merganser_declarations() ORDER BY ALL"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "kept.db"
    with merganser.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER)")
        connection.execute("COMMENT ON TABLE t IS 'mine'")
        for column in "abc":
            connection.execute(f"ALTER TABLE t ADD UNIQUE ({column}) NOT ENFORCED RELY")
    return path


def test_stock_duckdb_opens_the_file(database):
    with duckdb.connect(database) as connection:
        ((comment,),) = connection.sql("SELECT comment FROM duckdb_tables()").fetchall()
        assert comment.startswith('mine\nmerganser: {"version":1,')
        connection.execute("INSERT INTO t VALUES (1, 2, 3)")
        assert connection.sql("FROM t").fetchall() == [(1, 2, 3)]


def test_columns_changed_without_the_extension_make_declarations_stale(database):
    with duckdb.connect(database) as connection:
        connection.execute("ALTER TABLE t RENAME COLUMN a TO z")
        connection.execute("ALTER TABLE t ALTER b TYPE VARCHAR")
    with merganser.connect(database) as connection:
        nullable = "no key: its columns may be NULL"
        assert connection.sql(LISTED).fetchall() == [
            ("t", "UNIQUE (a)", "stale", 'column "a" no longer exists'),
            ("t", "UNIQUE (b)", "stale", 'column "b" was INTEGER and is now VARCHAR'),
            ("t", "UNIQUE (c)", "valid", nullable),
        ]
        connection.execute("ALTER TABLE t ADD UNIQUE (b) NOT ENFORCED RELY")
        assert ("t", "UNIQUE (b)", "valid", nullable) in connection.sql(LISTED).fetchall()


def test_another_column_of_the_name_is_not_the_one_declared(database):
    with merganser.connect(database) as connection:
        connection.execute("CREATE TABLE f (x INTEGER)")
        connection.execute("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED RELY")
        connection.execute("ALTER TABLE f ADD FOREIGN KEY (x) REFERENCES t NOT ENFORCED RELY")
    with duckdb.connect(database) as connection:
        connection.execute("ALTER TABLE t RENAME COLUMN a TO z")
        connection.execute("ALTER TABLE t ADD COLUMN a INTEGER")
    with merganser.connect(database) as connection:
        other = '"a" is another one: it was number 1 of the table\'s columns and is now number 4'
        stale = connection.sql(f"FROM ({LISTED}) WHERE status = 'stale'").fetchall()
        assert stale == [
            ("f", "FOREIGN KEY (x) REFERENCES kept.main.t (a)", "stale", f"of kept.main.t, column {other}"),
            ("t", "PRIMARY KEY (a)", "stale", f"column {other}"),
            ("t", "UNIQUE (a)", "stale", f"column {other}"),
        ]
        assert connection.sql("SELECT holds FROM merganser_verify('f')").fetchall() == [(None,)]
        connection.execute("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED RELY")
        assert "UNIQUE (a)" in {row[1] for row in connection.sql(f"FROM ({LISTED}) WHERE status = 'stale'").fetchall()}


def test_a_comment_written_without_the_extension_drops_declarations(database):
    with duckdb.connect(database) as connection:
        connection.execute("COMMENT ON TABLE t IS 'yours'")
    with merganser.connect(database) as connection:
        assert connection.sql(LISTED).fetchall() == []


def test_declarations_are_replayed_from_the_write_ahead_log(tmp_path):
    before, after = tmp_path / "running.db", tmp_path / "crashed.db"
    with merganser.connect(before) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("CHECKPOINT")
        connection.execute("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED RELY")
        connection.execute("ALTER TABLE t RENAME COLUMN a TO b")
        shutil.copy(before, after)
        shutil.copy(f"{before}.wal", f"{after}.wal")
    with merganser.connect(after) as connection:
        assert connection.sql(LISTED).fetchall() == [("t", "PRIMARY KEY (b)", "valid", None)]


def test_arguments_may_be_parameters(tmp_path):
    with merganser.connect() as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.execute("CALL merganser_declare_key($1, $2)", ["t", ["a"]])
        assert connection.execute("CALL merganser_verify($1)", ["t"]).fetchall() == [
            ("memory.main.t", "PRIMARY KEY (a)", True, 0, [])
        ]
