"""The rule under DuckDB's optimizers one by one, in prepared statements, cursors, transactions and other statements."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

REPORT = """
    SELECT c.id, c.name, n.name AS nation, upper(c.name) AS shout, sum(o.v) AS s
    FROM o JOIN c ON o.c = c.id JOIN n ON c.n = n.id
    WHERE o.id IN (SELECT id FROM o WHERE v > 3)
    GROUP BY ALL HAVING count(*) > 1 ORDER BY s DESC, c.id LIMIT 5 OFFSET 1
"""


@pytest.fixture
def shop(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("""
        SET GLOBAL merganser_late_materialization_cost = false;
        CREATE TABLE n (id INTEGER PRIMARY KEY, name VARCHAR);
        INSERT INTO n SELECT i, 'nation ' || i FROM range(4) t(i);
        CREATE TABLE c (id INTEGER, n INTEGER NOT NULL, name VARCHAR);
        INSERT INTO c SELECT i, i % 4, 'customer ' || i FROM range(50) t(i);
        CREATE TABLE o (id INTEGER, c INTEGER NOT NULL, v INTEGER);
        INSERT INTO o SELECT i, i % 50, i * i % 97 FROM range(5000) t(i);
        ALTER TABLE c ADD PRIMARY KEY (id) NOT ENFORCED RELY;
        ALTER TABLE o ADD FOREIGN KEY (c) REFERENCES c (id) NOT ENFORCED RELY;
    """)
    return connection


def decisions(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    rows = connection.execute(
        "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'", [query]
    )
    return [reason for (reason,) in rows.fetchall()]


def plain_rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    connection.execute("SET merganser_late_materialization = false")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.execute("RESET merganser_late_materialization")


def test_without_each_optimizer(shop):
    expected = plain_rows(shop, REPORT)
    optimizers = [name for (name,) in shop.execute("SELECT name FROM duckdb_optimizers()").fetchall()]
    assert len(optimizers) > 20
    for optimizer in optimizers:
        shop.execute(f"SET disabled_optimizers = '{optimizer}'")
        assert decisions(shop, REPORT) == ([] if optimizer == "extension" else ["applied"]), optimizer
        assert shop.execute(REPORT).fetchall() == expected, optimizer
    shop.execute("SET disabled_optimizers = '" + ",".join(o for o in optimizers if o != "extension") + "'")
    assert decisions(shop, REPORT) == ["applied"]
    assert shop.execute(REPORT).fetchall() == expected


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("preserve", ["true", "false"])
def test_threads_and_insertion_order(shop, threads, preserve):
    expected = plain_rows(shop, REPORT)
    shop.execute(f"SET threads = {threads}; SET preserve_insertion_order = {preserve}")
    assert [shop.execute(REPORT).fetchall() for _ in range(5)] == [expected] * 5


@pytest.mark.parametrize("pragma", ["enable_verification", "verify_parallelism"])
def test_verification(shop, pragma):
    expected = plain_rows(shop, REPORT)
    shop.execute(f"PRAGMA {pragma}")
    assert shop.execute(REPORT).fetchall() == expected


def test_concurrent_cursors(shop):
    expected = plain_rows(shop, REPORT)
    cursors = [shop.cursor() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda cursor: [cursor.execute(REPORT).fetchall() for _ in range(5)], cursors))
    assert results == [[expected] * 5] * 4


def test_prepared_statement_follows_parameters_data_and_keys(shop):
    query = """
        SELECT c.id, c.name, sum(o.v) AS s FROM o JOIN c ON o.c = c.id
        WHERE o.v >= {0} AND c.n = {1} GROUP BY c.id, c.name ORDER BY s DESC, c.id LIMIT 3
    """
    shop.execute("PREPARE report AS " + query.format("$1", "$2"))
    for parameters in [(5, 1), (50, 2), (50, 3), (96, 0)]:
        expected = plain_rows(shop, query.format(*parameters))
        assert shop.execute("EXECUTE report({}, {})".format(*parameters)).fetchall() == expected
    shop.execute("UPDATE c SET name = name || '!'; INSERT INTO o SELECT 9999, 7, 1000")
    expected = plain_rows(shop, query.format(5, 3))
    assert expected[0][:2] == (7, "customer 7!")
    assert shop.execute("EXECUTE report(5, 3)").fetchall() == expected
    shop.execute(
        "ALTER TABLE o DROP FOREIGN KEY (c); ALTER TABLE c DROP PRIMARY KEY; INSERT INTO c VALUES (7, 3, 'twin')"
    )
    assert len(shop.execute("EXECUTE report(5, 3)").fetchall()) == 3
    # The two rows of 7 tie in every ORDER BY item, so which comes first is open.
    rows = shop.execute("EXECUTE report(5, 3)").fetchall()
    assert sorted(rows) == sorted(plain_rows(shop, query.format(5, 3)))


def test_parameter_as_a_part_of_the_key(shop):
    shop.execute("CREATE TABLE k (a INTEGER, b INTEGER, name VARCHAR, PRIMARY KEY (a, b))")
    shop.execute("INSERT INTO k SELECT x, y, 'k' || x || y FROM range(3) t(x), range(3) r(y)")
    query = "SELECT a, name, count(*) AS n FROM k WHERE b = {} GROUP BY a, name ORDER BY n, a LIMIT 2"
    shop.execute("PREPARE report AS " + query.format("?"))
    for value in (0, 2, 1):
        assert shop.execute(f"EXECUTE report({value})").fetchall() == [(0, f"k0{value}", 1), (1, f"k1{value}", 1)]
        assert shop.execute(query.format("?"), [value]).fetchall() == [(0, f"k0{value}", 1), (1, f"k1{value}", 1)]


def test_limit_as_a_parameter(shop):
    query = "SELECT c.id, c.name, sum(o.v) AS s FROM o JOIN c ON o.c = c.id GROUP BY ALL ORDER BY s DESC, c.id LIMIT ?"
    assert len(shop.execute(query, [4]).fetchall()) == 4
    assert len(shop.execute(query, [0]).fetchall()) == 0


def test_other_statements(shop, tmp_path):
    expected = plain_rows(shop, REPORT)
    shop.execute(f"CREATE TABLE kept AS {REPORT}")
    shop.execute(f"CREATE TABLE filled AS FROM kept LIMIT 0; INSERT INTO filled {REPORT}")
    shop.execute(f"COPY ({REPORT}) TO '{tmp_path}/report.parquet'")
    shop.execute(f"CREATE VIEW shown AS {REPORT}")
    for relation in ("kept", "filled", f"'{tmp_path}/report.parquet'", "shown"):
        assert shop.execute(f"FROM {relation}").fetchall() == expected
    for statement in (f"CREATE TABLE x AS {REPORT}", f"INSERT INTO filled {REPORT}", "FROM shown"):
        assert decisions(shop, statement) == ["applied"]
    assert shop.execute(f"SELECT 1; {REPORT}").fetchall() == expected
    assert shop.sql(REPORT).fetchall() == expected
    shop.execute(REPORT)
    assert [shop.fetchone() for _ in range(6)] == [*expected, None]
    for explain in ("EXPLAIN", "EXPLAIN ANALYZE"):
        assert "Join-back guard" in shop.execute(f"{explain} {REPORT}").fetchall()[0][1]


def test_statement_that_reads_what_it_writes(shop):
    query = (
        "SELECT c.id + 1000, c.n, c.name FROM o JOIN c ON o.c = c.id GROUP BY ALL ORDER BY sum(v) DESC, c.id LIMIT 3"
    )
    query = query.replace("GROUP BY ALL", "GROUP BY c.id, c.n, c.name")
    expected = plain_rows(shop, query)
    shop.execute(f"INSERT INTO c {query}")
    assert sorted(shop.execute("FROM c WHERE id >= 1000").fetchall()) == sorted(expected)
    best = (
        "SELECT id FROM (SELECT c.id, c.name, sum(v) AS s FROM o JOIN c ON o.c = c.id GROUP BY ALL ORDER BY s LIMIT 3)"
    )
    shop.execute(f"DELETE FROM c WHERE id IN ({best})")
    assert shop.execute("SELECT count(*) FROM c").fetchall() == [(50,)]


def test_own_changes_in_a_transaction(shop):
    query = "SELECT c.id, c.name, sum(o.v) AS s FROM o JOIN c ON o.c = c.id GROUP BY ALL ORDER BY s DESC, c.id LIMIT 3"
    before = shop.execute(query).fetchall()
    shop.begin()
    shop.execute("INSERT INTO c VALUES (777, 1, 'new'); INSERT INTO o VALUES (1, 777, 1000000)")
    shop.execute("UPDATE c SET name = 'renamed' WHERE id = ?", [before[0][0]])
    shop.execute("DELETE FROM o WHERE c = ?", [before[1][0]])
    inside = shop.execute(query).fetchall()
    assert inside[:2] == [(777, "new", 1000000), (before[0][0], "renamed", before[0][2])]
    assert inside == plain_rows(shop, query)
    assert shop.cursor().execute(query).fetchall() == before
    shop.rollback()
    assert shop.execute(query).fetchall() == before


def test_switches(shop):
    assert decisions(shop, REPORT) == ["applied"]
    shop.execute("SET merganser_late_materialization_max_chain = 1")
    assert decisions(shop, REPORT) == ["chain_too_long"]
    shop.execute("RESET merganser_late_materialization_max_chain; SET merganser_late_materialization = false")
    assert decisions(shop, REPORT) == ["switched_off"]
    shop.execute("RESET merganser_late_materialization; RESET GLOBAL merganser_late_materialization_cost")
    assert decisions(shop, REPORT) == ["not_worth_it"]


@pytest.mark.parametrize(
    ("value", "reason"), [("off", "switched_off"), ("OFF", "switched_off"), ("0", "switched_off"), ("on", "applied")]
)
def test_environment_variable(value, reason):
    program = """
import merganser
with merganser.connect() as connection:
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR)")
    query = "SELECT id, name, count(*) AS n FROM t GROUP BY id, name ORDER BY n LIMIT 1"
    print(connection.execute("SELECT text FROM merganser_explain(?) WHERE section = 'decision'", [query]).fetchone()[0])
"""
    environment = {**os.environ, "MERGANSER_LATE_MATERIALIZATION": value}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(reason + ":")


def test_files_that_appear_between_planning_and_running(shop, tmp_path):
    for part in range(2):
        shop.execute(f"COPY (SELECT id, name FROM c WHERE id % 2 = {part}) TO '{tmp_path}/c_{part}.parquet'")
    shop.execute(f"CREATE VIEW pc AS FROM read_parquet('{tmp_path}/c_*.parquet')")
    shop.execute("ALTER VIEW pc ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    query = "SELECT pc.id, name, sum(v) AS s FROM o JOIN pc ON o.c = pc.id GROUP BY ALL ORDER BY s DESC, pc.id LIMIT 3"
    expected = shop.execute(query).fetchall()
    assert decisions(shop, query) == ["applied"]
    shop.execute(f"PREPARE report AS {query}")
    shop.execute(f"COPY (SELECT 1000 + id AS id, 'late' AS name FROM c) TO '{tmp_path}/c_9.parquet'")
    assert shop.execute("EXECUTE report").fetchall() == expected
