"""Rows come in the order plain DuckDB gives wherever a query shows it, and the plan says how; as lists, not as sets."""

from pathlib import Path

import duckdb
import merganser
import pytest
from staged import cut_everything, most_tasks, reasons

UNION = "(SELECT i FROM b UNION ALL SELECT i FROM a)"
ONE_AFTER_ANOTHER = "the inputs of UNION ALL one after another"

SEEN = f"""
SELECT i FROM {UNION} LIMIT 3 OFFSET 1999
SELECT i FROM {UNION}
SELECT i, n FROM (SELECT i, row_number() OVER () AS n FROM {UNION}) WHERE n IN (1, 1001, 2000, 2001, 4000) ORDER BY n
SELECT i FROM a UNION ALL SELECT 12345
SELECT 12345 UNION ALL SELECT i FROM a UNION ALL SELECT count(*) FROM b
SELECT list(i), first(i), any_value(i), string_agg(i, ',') FROM {UNION}
SELECT i + 1, unnest([i, -i]) FROM {UNION} WHERE i % 3 = 0
SELECT i FROM (SELECT i FROM {UNION} UNION ALL SELECT i FROM s) LIMIT 9 OFFSET 3995
SELECT i FROM (SELECT i FROM b ORDER BY i LIMIT 5) UNION ALL SELECT i FROM a
SELECT i FROM {UNION} WHERE i > (SELECT avg(i) FROM a)
SELECT i FROM a UNION ALL SELECT i FROM s UNION ALL SELECT i FROM a
"""
SHARED = f"""
WITH c AS MATERIALIZED (SELECT i FROM a) SELECT i FROM c LIMIT 2 OFFSET 700
WITH c AS MATERIALIZED (SELECT i FROM a) SELECT i FROM c
WITH c AS MATERIALIZED (SELECT i, (i * 7919) % 2003 AS v FROM a ORDER BY v DESC, i) SELECT * FROM c LIMIT 3 OFFSET 1000
WITH c AS MATERIALIZED (SELECT i FROM ab ORDER BY i) SELECT list(i)[:3] FROM c UNION ALL SELECT list(i)[-3:] FROM c
WITH c AS (SELECT i FROM {UNION} LIMIT 3000) SELECT list(i) FROM c UNION ALL SELECT [count(*), first(i), max(i)] FROM c
WITH c AS MATERIALIZED (SELECT i FROM {UNION}) SELECT i FROM c UNION ALL SELECT -i FROM c
WITH c AS MATERIALIZED (SELECT i, i + 1 FROM a) SELECT * FROM c POSITIONAL JOIN s
"""


def queries(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("order")
    with duckdb.connect() as plain:
        for k in range(2):
            rows = f"SELECT i FROM range({k}000, {k + 1}000) r(i)"
            plain.execute(f"COPY ({rows}) TO '{folder}/a{k}.parquet'")
            plain.execute(f"COPY (SELECT -i AS i FROM ({rows})) TO '{folder}/b{k}.parquet'")
    return folder


def add_sources(connection, folder: Path) -> None:
    for name in ("a", "b", "ab"):
        pattern = "*" if name == "ab" else f"{name}*"
        connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{folder}/{pattern}.parquet')")
    connection.execute("CREATE TABLE s AS SELECT i * 10 AS i FROM range(3000) r(i)")


@pytest.fixture(scope="module")
def plain(folder):
    """DuckDB on one thread: several may put list() together in any order."""
    with duckdb.connect(config={"threads": 1}) as plain:
        add_sources(plain, folder)
        yield plain


@pytest.fixture(scope="module")
def connection(folder):
    with merganser.connect() as connection:
        add_sources(connection, folder)
        cut_everything(connection)
        yield connection


@pytest.fixture(params=[(3, 0, 0), (8, 0, 64 << 20), (5, 4000, 0)], ids=["3 tasks", "8 tasks, broadcast", "by size"])
def staged(connection, request):
    for name, value in zip(("tasks", "task_bytes", "broadcast_max_bytes"), request.param, strict=True):
        connection.execute(f"SET merganser_{name} = {value}")
    yield connection
    connection.execute("SET merganser_runner = ''; RESET preserve_insertion_order")


def rows(connection, query: str) -> list[tuple]:
    connection.execute("SET merganser_runner = 'local'")
    result = connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = ''")
    return result


@pytest.mark.parametrize("query", queries(SEEN))
def test_branches_of_union_all_follow_each_other(staged, plain, query):
    assert most_tasks(staged, query) > 1
    assert ONE_AFTER_ANOTHER in reasons(staged, query)
    assert rows(staged, query) == plain.execute(query).fetchall()


@pytest.mark.parametrize("query", queries(SHARED))
def test_shared_queries_keep_their_order(staged, plain, query):
    assert most_tasks(staged, query) > 1
    assert "rows as produced" in reasons(staged, query)
    assert rows(staged, query) == plain.execute(query).fetchall()


def test_a_branch_without_an_order_stays_before_the_next(staged):
    branches = "SELECT i FROM a SEMI JOIN b ON a.i = -b.i UNION ALL SELECT 12345 UNION ALL SELECT i FROM s"
    for query in (branches, f"SELECT i + n FROM ({branches}), (SELECT min(i) AS n FROM a)"):
        assert most_tasks(staged, query) > 1
        got = [row[0] for row in rows(staged, query)]
        assert sorted(got[:2000]) == list(range(2000))
        assert got[2000:] == [12345, *range(0, 30000, 10)]


def test_a_group_sees_its_rows_in_order(staged):
    """Stated, not compared: DuckDB runs the branches below GROUP BY side by side."""
    inputs = [-i for i in range(2000)] + list(range(2000))
    groups = {g: [i for i in inputs if i % 7 == g] for g in range(7)}
    query = f"SELECT mod(i + 14000, 7) AS g, list(i), first(i), string_agg(i, ',') FROM {UNION} GROUP BY g ORDER BY g"
    assert most_tasks(staged, query) > 1
    assert rows(staged, query) == [(g, of, of[0], ",".join(map(str, of))) for g, of in groups.items()]
    query = f"SELECT DISTINCT ON (g) mod(i + 14000, 7) AS g, i FROM {UNION} ORDER BY g"
    assert rows(staged, query) == [(g, of[0]) for g, of in groups.items()]


def test_first_of_a_group_is_the_first_row_of_one_of_the_files_of_its_task(staged):
    """Several threads read them, as DuckDB's do; which comes first is not fixed."""
    query = f"SELECT i < 0 AS g, first(i), any_value(i) FROM {UNION} WHERE i <> 0 GROUP BY g ORDER BY g"
    starts = {False: {1, 1000}, True: {-1, -1000}}
    assert most_tasks(staged, query) > 1
    found = rows(staged, query)
    assert [g for g, *_ in found] == [False, True]
    assert all(first in starts[g] and any_value in starts[g] for g, first, any_value in found)


@pytest.mark.parametrize("threads", [1, 8])
def test_statements_write_rows_in_order(staged, plain, tmp_path, threads):
    staged.execute(f"SET threads = {threads}")
    expected = plain.execute(f"FROM {UNION}").fetchall()
    staged.execute("SET merganser_runner = 'local'")
    staged.execute(f"CREATE OR REPLACE TABLE made AS FROM {UNION}")
    assert "Staged Query" in staged.execute(f"EXPLAIN INSERT INTO made FROM {UNION}").fetchall()[0][1]
    staged.execute(f"INSERT INTO made FROM {UNION}")
    staged.execute(f"COPY (FROM {UNION}) TO '{tmp_path}/one.csv' (HEADER false)")
    staged.execute("SET merganser_runner = ''")
    assert staged.execute("FROM made").fetchall() == expected + expected
    assert [(int(line),) for line in (tmp_path / "one.csv").read_text().splitlines()] == expected


def test_rows_of_one_share_are_read_on(staged, plain):
    """The only row of the last branch comes behind all rows of those before it."""
    query = """SELECT count(*) FROM (SELECT x, row_number() OVER () AS n FROM
        (SELECT i AS x FROM a UNION ALL SELECT 12345)) WHERE n < 2001 AND x <> 12345"""
    assert rows(staged, query) == [(2000,)]
    assert most_tasks(staged, query) > 1


def test_where_nothing_sees_the_order_rows_are_exchanged_freely(staged, plain):
    for query in (
        f"SELECT sum(i), count(*), min(i) FROM {UNION}",
        f"SELECT i, count(*) FROM {UNION} GROUP BY i",
        f"SELECT DISTINCT i FROM {UNION}",
        f"SELECT count(*) FROM {UNION} JOIN s USING (i)",
    ):
        assert ONE_AFTER_ANOTHER not in reasons(staged, query)
        assert sorted(rows(staged, query)) == sorted(plain.execute(query).fetchall())
    shared = "WITH c AS MATERIALIZED (SELECT i FROM a) SELECT count(*) FROM c x JOIN c y USING (i)"
    inputs = staged.execute("SELECT string_agg(inputs) FROM merganser_stages($1)", [shared]).fetchall()[0][0]
    assert "consecutive" not in inputs


def test_without_preserve_insertion_order_only_sorted_rows_are_kept_in_order(staged, plain):
    staged.execute("SET preserve_insertion_order = false")
    assert "rows as produced" not in reasons(staged, f"FROM {UNION}")
    assert sorted(rows(staged, f"FROM {UNION}")) == sorted(plain.execute(f"FROM {UNION}").fetchall())
    query = "WITH c AS MATERIALIZED (SELECT i FROM ab ORDER BY i) SELECT i FROM c LIMIT 5 OFFSET 1999"
    assert "rows as produced" in reasons(staged, query)
    assert rows(staged, query) == plain.execute(query).fetchall()


def test_at_most_merganser_tasks_run(staged):
    staged.execute("SET merganser_runner = 'local'")
    staged.execute(f"FROM {UNION}").fetchall()
    staged.execute("SET merganser_runner = ''")
    (tasks,) = staged.execute("SELECT current_setting('merganser_tasks')").fetchall()[0]
    assert 1 < max(stage["tasks"] for stage in merganser.last_query()["stages"]) <= tasks


def test_a_file_listed_twice_is_read_where_it_stands(staged, plain, folder):
    files = ", ".join(f"'{folder}/{name}.parquet'" for name in ("a0", "b0", "a0", "a1"))
    query = f"SELECT i FROM read_parquet([{files}])"
    assert most_tasks(staged, query) > 1
    assert rows(staged, query) == plain.execute(query).fetchall()


def test_limits_and_offsets_of_any_size(staged, plain):
    for query in (
        "SELECT count(*) FROM (SELECT i FROM a LIMIT 9223372036854775807 OFFSET 5)",
        "SELECT i FROM a ORDER BY i LIMIT 9223372036854775807 OFFSET 1996",
        "SELECT i FROM a LIMIT 3 OFFSET 9223372036854775806",
        "SELECT i FROM a ORDER BY i DESC LIMIT 4 OFFSET 9223372036854775806",
    ):
        assert most_tasks(staged, query) > 1
        assert rows(staged, query) == plain.execute(query).fetchall()


def test_joins_without_an_equality_keep_the_order_of_their_left_side(staged, plain):
    for query in (
        "SELECT a.i FROM a, (SELECT max(i) AS m FROM b)",
        "SELECT a.i FROM a JOIN (SELECT min(i) AS m FROM b) ON a.i > m + 2500",
    ):
        assert most_tasks(staged, query) > 1
        assert rows(staged, query) == plain.execute(query).fetchall()


FEW = """
SELECT * FROM c FULL JOIN d USING (i)
SELECT * FROM c FULL JOIN none USING (i)
SELECT * FROM c JOIN d ON (c.v = 1 AND d.v = 3) OR (c.v = 3 AND d.v = 1)
SELECT * FROM c LEFT JOIN d ON (c.v = 1 AND d.v = 3) OR (c.v = 3 AND d.v = 1)
SELECT * FROM c, d WHERE c.i < d.i + 2
SELECT c.i, d.i FROM c, d LIMIT 5 OFFSET 20
SELECT list(c.i), list(d.i) FROM c FULL JOIN d USING (i)
SELECT c.i + 1 AS n, d.v FROM c FULL JOIN d USING (i) WHERE coalesce(c.i, d.i) <> 3 UNION ALL SELECT -1, -1
"""


@pytest.mark.parametrize("query", queries(FEW))
def test_joins_of_few_rows_come_as_duckdb_joins_one_chunk(staged, plain, query):
    for connection in (staged, plain):
        connection.execute("CREATE OR REPLACE TABLE c AS SELECT i, i % 4 AS v FROM range(9) r(i)")
        connection.execute("CREATE OR REPLACE TABLE d AS SELECT i + 3 AS i, i % 5 AS v FROM range(8) r(i)")
        connection.execute("CREATE OR REPLACE VIEW none AS SELECT * FROM d WHERE rowid > 100")
    assert "joins so few rows in one task, in the order they come" in reasons(staged, query)
    assert rows(staged, query) == plain.execute(query).fetchall()


def test_joins_whose_order_nothing_shows_are_divided(staged, plain):
    for query in (
        "SELECT * FROM (SELECT i FROM a) FULL JOIN b USING (i) ORDER BY ALL",
        "SELECT count(*), sum(a.i + b.i) FROM a FULL JOIN b USING (i)",
        "SELECT s.i FROM s FULL JOIN a ON s.i = a.i",  # more than a vector
        "SELECT i, (SELECT count(*) FROM b) AS n FROM a",
    ):
        assert "joins so few rows" not in reasons(staged, query)
        assert most_tasks(staged, query) > 1
        assert sorted(rows(staged, query), key=repr) == sorted(plain.execute(query).fetchall(), key=repr)


UNORDERED = """
SELECT i % 3 AS g, count(*) AS n FROM a GROUP BY g OFFSET 1
SELECT i % 3 AS g, count(*) AS n FROM a GROUP BY g LIMIT 2 OFFSET 1
SELECT sum(g) FROM (SELECT DISTINCT i % 3 AS g FROM a OFFSET 1)
SELECT a.i FROM a JOIN b ON a.i = -b.i OFFSET 7
(SELECT i % 3 AS g FROM a GROUP BY g) UNION ALL SELECT 5 OFFSET 1
"""
ORDERED = """
SELECT i FROM a LIMIT 3 OFFSET 7
SELECT i % 3 AS g, count(*) AS n FROM a GROUP BY g LIMIT 2
SELECT i % 3 AS g, count(*) AS n FROM a GROUP BY g ORDER BY g OFFSET 1
SELECT i FROM a UNION ALL SELECT i FROM b OFFSET 7
"""


@pytest.fixture
def warned(staged):
    staged.execute("CALL enable_logging(level = 'warning')")
    yield staged
    staged.execute("SET merganser_runner = ''; RESET warnings_as_errors")
    staged.execute("CALL disable_logging(); CALL truncate_duckdb_logs()")


def warnings_of(connection, query: str, runner: str) -> int:
    connection.execute("CALL truncate_duckdb_logs()")
    connection.execute(f"SET merganser_runner = '{runner}'")
    connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = ''")
    count = "SELECT count(*) FROM duckdb_logs WHERE message LIKE 'OFFSET is applied%row order is not guaranteed%'"
    return connection.execute(count).fetchall()[0][0]


@pytest.mark.parametrize("query", queries(UNORDERED) + queries(ORDERED))
def test_an_offset_over_rows_without_an_order_is_warned_of(warned, query):
    assert most_tasks(warned, query) > 1
    due = int(query in queries(UNORDERED))
    assert warnings_of(warned, query, "") == due
    assert warnings_of(warned, query, "local") == due


def test_warnings_as_errors(warned):
    query = queries(UNORDERED)[0]
    warned.execute("SET warnings_as_errors = true; SET merganser_runner = 'local'")
    with pytest.raises(duckdb.InvalidInputException, match="row order is not guaranteed"):
        warned.execute(query)
    assert len(warned.execute(queries(ORDERED)[0]).fetchall()) == 3
