"""Every kind of source in stages: what is divided by file, what the session sends, and settings that change answers."""

import duckdb
import merganser
import pandas
import pyarrow.dataset
import pytest
from staged import check, cut_everything, reasons

QUERY = "SELECT g, count(*), sum(i), max(s) FROM {source} GROUP BY g"
ROWS = "SELECT i, i % 5 AS g, CASE WHEN i % 4 > 0 THEN 'x' || i % 9 END AS s FROM range({}, {}) r(i)"


@pytest.fixture
def connection():
    with merganser.connect() as connection:
        cut_everything(connection)
        yield connection


def write_parts(connection, folder, suffix: str, options: str = "") -> None:
    for part in range(6):
        rows = ROWS.format(part * 300, (part + 1) * 300)
        connection.execute(f"COPY ({rows}) TO '{folder}/part_{part}.{suffix}' {options}")


def inputs(connection, query: str) -> str:
    return "; ".join(
        row[0] for row in connection.execute("SELECT inputs FROM merganser_stages($1)", [query]).fetchall()
    )


@pytest.mark.parametrize(
    "suffix, source",
    [
        ("csv", "read_csv('{}/part_*.csv')"),
        (
            "csv",
            "read_csv('{}/part_*.csv', header = true, columns = {{'i': 'INTEGER', 'g': 'BIGINT', 's': 'VARCHAR'}})",
        ),
        ("csv.gz", "read_csv('{}/part_*.csv.gz')"),
        ("json", "read_json('{}/part_*.json')"),
        ("json", "read_ndjson_auto('{}/part_*.json')"),
    ],
)
def test_text_files_are_divided_by_file(connection, tmp_path, suffix, source):
    write_parts(connection, tmp_path, suffix)
    query = QUERY.format(source=source.format(tmp_path))
    assert check(connection, query) == 4
    assert "6 files in slices" in inputs(connection, query)


def test_one_text_file_is_sent(connection, tmp_path):
    connection.execute(f"COPY ({ROWS.format(0, 5000)}) TO '{tmp_path}/one.csv'")
    query = QUERY.format(source=f"read_csv('{tmp_path}/one.csv')")
    assert check(connection, query) == 4
    assert "sent by the session" in inputs(connection, query)


def test_several_parquet_files_of_different_columns(connection, tmp_path):
    write_parts(connection, tmp_path, "parquet")
    connection.execute(f"COPY (SELECT 'only here' AS extra, 7 AS g) TO '{tmp_path}/part_9.parquet'")
    source = f"read_parquet('{tmp_path}/part_*.parquet', union_by_name = true)"
    assert check(connection, f"SELECT g, extra, count(*), sum(i) FROM {source} GROUP BY ALL") == 4


def test_hive_partitions_are_pruned_first(connection, tmp_path):
    rows = ROWS.format(0, 5000)
    connection.execute(f"COPY ({rows}) TO '{tmp_path}/hive' (FORMAT parquet, PARTITION_BY (g))")
    source = f"read_parquet('{tmp_path}/hive/*/*.parquet', hive_partitioning = true)"
    assert check(connection, QUERY.format(source=source)) == 4
    pruned = f"SELECT g, count(*), sum(i) FROM {source} WHERE g IN (1, 3) GROUP BY g"
    assert check(connection, pruned) == 4
    assert "2 files in slices" in inputs(connection, pruned)
    check(connection, f"SELECT count(*) FROM {source} WHERE g = 99")


def test_a_file_listed_twice_is_read_twice(connection, tmp_path):
    write_parts(connection, tmp_path, "parquet")
    files = f"['{tmp_path}/part_0.parquet', '{tmp_path}/part_1.parquet', '{tmp_path}/part_0.parquet']"
    assert check(connection, f"SELECT count(*), sum(i) FROM read_parquet({files})") == 4


def test_columns_that_name_the_file(connection, tmp_path):
    write_parts(connection, tmp_path, "parquet")
    for column in ("filename", "file_row_number"):
        source = f"read_parquet('{tmp_path}/part_*.parquet', {column} = true)"
        assert check(connection, f"SELECT {column}, sum(i) FROM {source} GROUP BY ALL") == 4


def test_row_groups_an_offset_skips(connection, tmp_path):
    rows = "SELECT i, 'x' || i AS s FROM range(500000) r(i)"
    connection.execute(f"CREATE TABLE t AS {rows}")
    with duckdb.connect(tmp_path / "other.duckdb") as other:
        other.execute(f"CREATE TABLE t AS {rows}")
    connection.execute(f"ATTACH '{tmp_path}/other.duckdb' AS other (READ_ONLY)")
    for table in ("t", "other.t"):
        assert check(connection, f"SELECT i, s FROM {table} ORDER BY i LIMIT 5 OFFSET 300000", ordered=True) == 4
        assert check(connection, f"SELECT i FROM {table} ORDER BY i DESC LIMIT 3 OFFSET 499998", ordered=True) == 4


def test_tables_of_the_session(connection):
    connection.execute(f"CREATE TABLE t AS {ROWS.format(0, 9000)}")
    connection.execute("CREATE TEMP TABLE names AS SELECT i AS g, 'name ' || i AS name FROM range(5) r(i)")
    assert check(connection, "SELECT name, count(*), sum(i) FROM t JOIN names USING (g) GROUP BY name") == 4


@pytest.mark.parametrize("kind", ["data frame", "arrow table", "relation", "registered"])
def test_objects_of_the_process(connection, kind):
    """They are sent within merganser_send_max_bytes; with more, the query stays in DuckDB, with the reason."""
    relation = connection.sql(ROWS.format(0, 5000))
    source = {
        "data frame": lambda: relation.df(),
        "arrow table": lambda: relation.to_arrow_table(),
        "relation": lambda: relation,
        "registered": lambda: connection.register("registered", relation.df()) and "registered",
    }[kind]()
    assert source is not None
    query = QUERY.format(source="registered" if kind == "registered" else "source")
    expected = sorted(connection.execute(query).fetchall())
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert sorted(connection.execute(query).fetchall()) == expected
    connection.execute("SET merganser_send_max_bytes = 1000")
    assert "Staged Query" not in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    decision = connection.execute(
        "SELECT text FROM merganser_explain($1) WHERE section = 'decision' AND item = 'stages'", [query]
    ).fetchall()[0][0]
    assert "would send about" in decision and "more than merganser_send_max_bytes = 1000" in decision
    assert sorted(connection.execute(query).fetchall()) == expected


def test_an_arrow_dataset_stays_in_duckdb(connection):
    """How many rows it has is not known."""
    dataset = pyarrow.dataset.dataset(connection.sql(ROWS.format(0, 5000)).to_arrow_table())
    assert dataset.count_rows() == 5000
    query = QUERY.format(source="dataset")
    expected = sorted(connection.execute(query).fetchall())
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" not in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert sorted(connection.execute(query).fetchall()) == expected


def test_types_of_data_frames(connection):
    """Categories, times with zones, nested objects and missing values come back as DuckDB reads them."""
    frame = pandas.DataFrame(
        {
            "i": range(1000),
            "category": pandas.Categorical(["a", "b", None, "d"] * 250),
            "z": pandas.date_range("2026-11-30", periods=1000, freq="h", tz="Asia/Kathmandu"),
            "l": [[1, 2], None, [], [3]] * 250,
            "f": [1.5, float("nan"), None, -0.0] * 250,
        }
    )
    assert len(frame) == 1000
    query = (
        "SELECT category::VARCHAR AS c, min(z), max(z), count(f), sum(len(l)), count(*) FROM frame GROUP BY category"
    )
    expected = sorted(connection.execute(query).fetchall(), key=repr)
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert sorted(connection.execute(query).fetchall(), key=repr) == expected


def test_a_limit_on_what_is_sent(connection):
    connection.execute(f"CREATE TABLE t AS {ROWS.format(0, 9000)}")
    connection.execute("SET merganser_send_max_bytes = 1000")
    query = QUERY.format(source="t")
    assert check(connection, query) == 1
    assert "the scan of t would send about" in reasons(connection, query)
    assert "merganser_send_max_bytes = 1000" in reasons(connection, query)


def test_prepared_parameters(connection, tmp_path):
    write_parts(connection, tmp_path, "parquet")
    connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/part_*.parquet')")
    connection.execute("SET merganser_runner = 'local'")
    query = "SELECT g, count(*) FROM t WHERE i < {} GROUP BY g ORDER BY g LIMIT {}"
    connection.execute(f"PREPARE bounded AS {query.format('$bound', '$rows')}")
    for bound, rows in ((10, 2), (1700, 5), (0, 3)):
        expected = connection.execute(query.format(bound, rows)).fetchall()
        execute = f"EXECUTE bounded(bound := {bound}, rows := {rows})"
        assert connection.execute(execute).fetchall() == expected
        assert connection.execute(query.format("?", "?"), [bound, rows]).fetchall() == expected
        assert "Staged Query" in connection.execute(f"EXPLAIN {execute}").fetchall()[0][1]
        plan = connection.execute(f"EXPLAIN {query.format('?', '?')}", [bound, rows]).fetchall()[0][1]
        assert "Staged Query" in plan


def test_a_function_that_changes_the_database(connection):
    connection.execute("CREATE TABLE d (id INTEGER); ALTER TABLE d ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    connection.execute("SET merganser_runner = 'local'")
    query = "SELECT declaration, holds FROM merganser_verify('d') ORDER BY ALL"
    assert connection.execute(query).fetchall() == [("PRIMARY KEY (id)", True)]


@pytest.mark.parametrize(
    "setting, query",
    [
        ("TimeZone = 'Asia/Kathmandu'", "SELECT date_trunc('day', z) AS d, count(*) FROM t GROUP BY d"),
        ("default_null_order = 'nulls_first'", "SELECT s, i FROM t ORDER BY s, i LIMIT 20"),
        ("default_order = 'DESC'", "SELECT s, i FROM t ORDER BY i LIMIT 20"),
        ("default_collation = 'NOCASE'", "SELECT count(*) FROM t WHERE s = 'X1'"),
        ("default_collation = 'NOCASE'", "SELECT lower(u), count(*) FROM t GROUP BY u"),
        ("integer_division = true", "SELECT sum(i / 7), g FROM t GROUP BY g"),
        ("ieee_floating_point_ops = true", "SELECT max(g / (i % 5)), count(g / (i % 5)) FROM t"),
        ("order_by_non_integer_literal = true", "SELECT g FROM t GROUP BY g ORDER BY 'a', g"),
        ("scalar_subquery_error_on_multiple_rows = false", "SELECT g, (SELECT s FROM t x WHERE x.i = t.i) FROM t"),
        ("search_path = 'other'", "SELECT sum(i) FROM only_here"),
    ],
)
def test_settings_that_change_answers(connection, tmp_path, setting, query):
    connection.execute(f"""
        COPY (SELECT *, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'A' END AS u,
                     TIMESTAMPTZ '2024-01-01 18:10:00+00' + INTERVAL (i) MINUTE AS z FROM ({ROWS.format(0, 2000)}))
        TO '{tmp_path}/t.parquet' (ROW_GROUP_SIZE 128)""")
    connection.execute(f"CREATE VIEW t AS FROM read_parquet('{tmp_path}/t.parquet')")
    connection.execute(f"CREATE SCHEMA other; CREATE VIEW other.only_here AS FROM read_parquet('{tmp_path}/t.parquet')")
    connection.execute(f"SET {setting}")
    assert check(connection, query, ordered="LIMIT" in query) == 4
