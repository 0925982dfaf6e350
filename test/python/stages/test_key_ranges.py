"""Joins, aggregates, DISTINCT and windows by a key in whose order the files lie: tasks read ranges of it."""

import random

import duckdb
import merganser
import pytest
from staged import assert_same_rows, cut_everything, reasons

#: Row groups of about 2048 rows: DuckDB writes no smaller ones.
ROWS = 40_000
IN_RANGES = ("in ranges of its key", "tasks read ranges of it")


def write(connection, folder, name: str, rows: str, files: int) -> str:
    """The rows, a relation with a column `place` that says in which order they lie, in files of equal parts."""
    for number in range(files):
        part = f"SELECT * EXCLUDE (place) FROM ({rows}) WHERE place * {files} // {ROWS} = {number} ORDER BY place"
        connection.execute(f"COPY ({part}) TO '{folder}/{name}_{number}.parquet' (ROW_GROUP_SIZE 2048)")
    return f"read_parquet('{folder}/{name}_*.parquet')"


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranges")
    some_null = "CASE WHEN i % 97 = 0 THEN NULL ELSE {} END"
    orders = f"SELECT {some_null.format('i // 2 - 3000')} AS k, i AS o, i AS place FROM range({ROWS}) r(i)"
    lines = f"SELECT {some_null.format('i // 3 - 1000')} AS k, i % 7 AS g, i AS l, i AS place FROM range({ROWS}) r(i)"
    days = f"SELECT DATE '2020-01-01' + (i // 40)::INTEGER AS d, i AS o, i AS place FROM range({ROWS}) r(i)"
    prices = f"SELECT (i / 100)::DECIMAL(9, 2) AS p, i AS o, i AS place FROM range({ROWS}) r(i)"
    shuffled = f"SELECT hash(i) % 20000 AS k, i AS o, i AS place FROM range({ROWS}) r(i)"
    with merganser.connect() as connection:
        for name, rows, files in (
            ("orders", orders, 1),
            ("lines", lines, 3),
            ("days", days, 2),
            ("prices", prices, 1),
            ("shuffled", shuffled, 2),
        ):
            connection.execute(f"CREATE VIEW {name} AS FROM {write(connection, folder, name, rows, files)}")
        connection.execute(f"COPY (FROM range(5) r(g)) TO '{folder}/few.parquet'")
        connection.execute(f"CREATE VIEW few AS FROM '{folder}/few.parquet'")
        cut_everything(connection)
        connection.execute("SET merganser_broadcast_max_bytes = 0")
        yield connection


BY_RANGES = {
    "inner": "SELECT o, l FROM orders JOIN lines USING (k)",
    "left": "SELECT o, l FROM orders LEFT JOIN lines USING (k)",
    "right": "SELECT o, l FROM orders RIGHT JOIN lines USING (k)",
    "full": "SELECT o, l FROM orders FULL JOIN lines USING (k)",
    "semi": "SELECT o FROM orders WHERE k IN (SELECT k FROM lines WHERE g = 3)",
    "anti": "SELECT o FROM orders ANTI JOIN lines USING (k)",
    "equal NULLs": "SELECT o, l FROM orders JOIN lines ON orders.k IS NOT DISTINCT FROM lines.k AND o + l < 600",
    "two keys": "SELECT o, l FROM orders JOIN lines ON orders.k = lines.k AND o = l",
    "other conditions": "SELECT o, l FROM orders LEFT JOIN lines ON orders.k = lines.k AND o < l",
    "group": "SELECT k, count(*), sum(l) FROM lines GROUP BY k",
    "group of a join": "SELECT lines.k, o, count(*), sum(l) FROM orders JOIN lines USING (k) GROUP BY lines.k, o",
    "group of the outer side": "SELECT o, orders.k, count(l) FROM orders LEFT JOIN lines USING (k) GROUP BY ALL",
    "having": "SELECT o FROM orders WHERE k IN (SELECT k FROM lines GROUP BY k HAVING sum(l) % 2 = 0)",
    "three": "SELECT a.o, b.l, c.l FROM orders a JOIN lines b USING (k) JOIN lines c USING (k) WHERE a.o < 9000",
    "distinct": "SELECT DISTINCT k, g FROM lines",
    "median": "SELECT k, median(l) FROM lines GROUP BY k",
    "window": "SELECT l, sum(l) OVER (PARTITION BY k) FROM lines",
    "dates": "SELECT a.o, b.o FROM days a JOIN days b USING (d) WHERE a.o % 5 = 0 AND b.o % 3 = 0",
    "decimals": "SELECT a.o, b.o FROM prices a JOIN prices b USING (p)",
    "casts": "SELECT o, l FROM orders JOIN lines ON orders.k::INTEGER = lines.k::INTEGER",
}
NOT_BY_RANGES = {
    "no order in the files": "SELECT a.o, b.o FROM shuffled a JOIN orders b ON a.k = b.k",
    "few groups": "SELECT g, count(*) FROM lines GROUP BY g",
    "a computed key": "SELECT o, l FROM orders JOIN lines ON orders.k + 1 = lines.k + 1",
    "the order of rows": "SELECT k, list(l)[1] + sum(l) >= 0 FROM lines GROUP BY k",
    "the order of ties": "SELECT l, row_number() OVER (PARTITION BY k ORDER BY l DESC) FROM lines",
    "a LIMIT below": "SELECT l, g FROM lines JOIN (SELECT k FROM orders LIMIT 1000) USING (k) WHERE l % 2 = 0",
}


def rows(connection, query: str, runner: str) -> list[tuple]:
    connection.execute(f"SET merganser_runner = '{runner}'")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.execute("SET merganser_runner = ''")


@pytest.mark.parametrize("task_bytes", [0, 100_000])
@pytest.mark.parametrize("name", BY_RANGES)
def test_reads_ranges_of_the_key(connection, name, task_bytes):
    query = BY_RANGES[name]
    connection.execute(f"SET merganser_task_bytes = {task_bytes}")
    assert any(reason in reasons(connection, query) for reason in IN_RANGES)
    assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)


@pytest.mark.parametrize("name", NOT_BY_RANGES)
def test_reads_slices(connection, name):
    query = NOT_BY_RANGES[name]
    assert not any(reason in reasons(connection, query) for reason in IN_RANGES)
    assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)


def test_a_join_and_the_groups_of_its_key_are_one_stage(connection):
    query = "SELECT lines.k, o, sum(l) FROM orders JOIN lines USING (k) GROUP BY lines.k, o"
    ((inputs,),) = connection.execute("SELECT inputs FROM merganser_stages($1)", [query]).fetchall()
    assert "1 files in ranges of k" in inputs and "3 files in ranges of k" in inputs


def test_beside_a_side_that_goes_to_all_tasks(connection):
    query = "SELECT o, l, few.g FROM orders JOIN lines USING (k) JOIN few ON few.g = lines.g"
    connection.execute("SET merganser_broadcast_max_bytes = 10000")
    try:
        assert "in ranges of its key" in reasons(connection, query)
        assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)
    finally:
        connection.execute("SET merganser_broadcast_max_bytes = 0")


def test_nulls_are_read_once(connection):
    """They are in the first range, wherever in the files they lie."""
    query = "SELECT o, l FROM orders FULL JOIN lines USING (k) WHERE orders.k IS NULL AND lines.k IS NULL"
    assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)
    counted = "SELECT count(*), count(DISTINCT o) FROM (SELECT o, orders.k FROM orders LEFT JOIN lines USING (k))"
    assert rows(connection, counted, "local") == rows(connection, counted, "")


FILES_THAT_DIFFER = {
    "a file lacks the key": ("SELECT i AS o, i AS place", "union_by_name = true"),
    "another type of integer": ("SELECT i::INTEGER AS k, i AS o, i AS place", "union_by_name = true"),
    "text that is cast": ("SELECT i::VARCHAR AS k, i AS o, i AS place", "union_by_name = true"),
    "fractions that are rounded": ("SELECT i + 0.5 AS k, i AS o, i AS place", "union_by_name = true"),
    "no rows": (f"SELECT i::BIGINT AS k, i AS o, i + {ROWS} AS place", "union_by_name = true"),
}


@pytest.mark.parametrize("name", FILES_THAT_DIFFER)
def test_files_that_differ(connection, tmp_path, name):
    """Files of which a footer says nothing, or something of another type: as many rows, and none in two tasks."""
    columns, options = FILES_THAT_DIFFER[name]
    write(connection, tmp_path, "a", f"SELECT i::BIGINT AS k, i AS o, i AS place FROM range({ROWS}) r(i)", 2)
    write(connection, tmp_path, "b", f"{columns} FROM range({ROWS}) r(i)", 1)
    files = f"read_parquet(['{tmp_path}/a_0.parquet', '{tmp_path}/a_1.parquet', '{tmp_path}/b_0.parquet'], {options})"
    for query in (
        f"SELECT l, o FROM lines FULL JOIN (SELECT TRY_CAST(k AS BIGINT) AS k, o FROM {files}) USING (k)",
        f"SELECT k, count(*) FROM {files} GROUP BY k",
        f"SELECT lines.l, f.o FROM lines JOIN {files} f ON lines.k = f.k",
    ):
        assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)


def test_a_key_of_the_folder_is_not_that_in_the_file(connection, tmp_path):
    """DuckDB takes the value of the path for the column of the file that has the same name."""
    for k in (1, 2):
        folder = tmp_path / f"k={k}"
        folder.mkdir()
        rows_of_file = f"SELECT i::BIGINT AS k, i AS o, i AS place FROM range({ROWS}) r(i)"
        write(connection, folder, "f", rows_of_file, 1)
    files = f"read_parquet('{tmp_path}/*/*.parquet', hive_partitioning = true)"
    query = f"SELECT k, count(*), sum(o) FROM (SELECT k, o FROM {files} GROUP BY ALL) GROUP BY k"
    assert_same_rows(rows(connection, query, "local"), rows(connection, query, ""), ordered=False)


def random_table(rng: random.Random, connection, folder, name: str) -> str:
    """Rows about in the order of a key, of which some are NULL, far from their place, or in many rows."""
    key = rng.choice(["BIGINT", "INTEGER", "SMALLINT", "UINTEGER", "DATE", "DECIMAL(18, 3)", "TIMESTAMP"])
    place = f"((i + hash(i, {rng.randrange(99)}) % {rng.choice([1, 50, 3000])}) / {rng.choice([1, 3, 40])})::BIGINT"
    number = f"({place} - {rng.choice([0, 5000])})"
    value = {
        "DATE": f"DATE '2000-01-01' + {number}::INTEGER",
        "TIMESTAMP": f"TIMESTAMP '2000-01-01' + to_seconds({number})",
        "UINTEGER": f"(4294960000 - {place})::UINTEGER",
        "SMALLINT": f"({number} % 30000)::SMALLINT",
    }.get(key, f"{number}::{key}")
    nulls = rng.choice(["false", "i % 31 = 0", f"i > {ROWS - 5000}"])
    far = rng.choice(["false", f"i % {rng.choice([500, 9001])} = 17"])
    rows = (
        f"SELECT CASE WHEN {nulls} THEN NULL ELSE {value} END AS k, i % 5 AS g, i AS o, "
        f"CASE WHEN {far} THEN {ROWS - 1} - i ELSE i END AS place FROM range({ROWS}) r(i)"
    )
    return write(connection, folder, name, rows, rng.choice([1, 2, 5]))


QUERIES = (
    "SELECT a.o, b.o FROM {a} a {kind} JOIN {b} b ON a.k = b.k AND a.g = b.g",
    "SELECT a.o FROM {a} a {semi} JOIN (FROM {b} WHERE g < 2) b ON a.k = b.k",
    "SELECT k, count(*), sum(o), min(g) FROM {a} GROUP BY k",
    "SELECT a.k, a.g, count(b.o) FROM {a} a {kind} JOIN (SELECT DISTINCT k, g, o FROM {b}) b ON a.k = b.k GROUP BY ALL",
    "SELECT DISTINCT k, g FROM {a}",
    "SELECT o, count(*) OVER (PARTITION BY k, g) FROM {a}",
    "SELECT a.k, s FROM {a} a JOIN (SELECT k, sum(o) AS s FROM {b} GROUP BY k HAVING count(*) > 1) b ON a.k = b.k",
    "SELECT a.o, b.o FROM {a} a JOIN {b} b ON a.k IS NOT DISTINCT FROM b.k AND a.o = b.o",
)
LANES = pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 424), marks=pytest.mark.slow)])


@LANES
def test_random_tables_and_queries(connection, tmp_path, seeds):
    in_ranges = 0
    for seed in seeds:
        rng = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        a = random_table(rng, connection, folder, "a")
        b = a if rng.random() < 0.5 else random_table(rng, connection, folder, "b")
        kind = rng.choice(["INNER", "LEFT", "RIGHT", "FULL"])
        query = rng.choice(QUERIES).format(a=a, b=b, kind=kind, semi=rng.choice(["SEMI", "ANTI"]))
        connection.execute(f"SET merganser_task_bytes = {rng.choice([0, 50_000])}")
        summary = f"SELECT count(*), bit_xor(hash(r::VARCHAR)) FROM ({query}) r"
        try:
            expected = rows(connection, summary, "")
        except (duckdb.BinderException, duckdb.ConversionException):
            continue  # keys of types that are not compared
        in_ranges += any(reason in reasons(connection, summary) for reason in IN_RANGES)
        assert rows(connection, summary, "local") == expected, (seed, query)
    assert in_ranges > len(seeds) / 3, in_ranges
