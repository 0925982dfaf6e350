"""What is decided between stages, by exact sizes: tasks put together, and small sides sent to all tasks."""

import merganser
import pytest
from staged import assert_same_rows, cut_everything

KINDS = {
    "inner": "SELECT a.k, a.i, b.i AS j FROM a JOIN b ON a.k = b.k WHERE {small}",
    "left": "SELECT a.k, a.i, x.j FROM a LEFT JOIN (SELECT k, i AS j FROM b WHERE {small}) x ON a.k = x.k",
    "right": "SELECT x.j, a.k, a.i FROM (SELECT k, i AS j FROM b WHERE {small}) x RIGHT JOIN a ON a.k = x.k",
    "semi": "SELECT a.k, a.i FROM a SEMI JOIN (SELECT k FROM b WHERE {small}) x ON a.k = x.k",
    "anti": "SELECT a.k, a.i FROM a ANTI JOIN (SELECT k FROM b WHERE {small}) x ON a.k = x.k",
    "computed keys": "SELECT a.k, a.i FROM a JOIN b ON a.k + 1 = b.k + 1 WHERE {small}",
    "two": "SELECT a.i, b.i, c.i FROM a JOIN b ON a.k = b.k JOIN b c ON a.i = c.i WHERE {small}",
    "aggregate": "SELECT a.i % 7 AS g, count(*), sum(b.i) FROM a JOIN b ON a.k = b.k WHERE {small} GROUP BY g",
    "top": "SELECT a.i FROM a JOIN b ON a.k = b.k WHERE {small} ORDER BY a.i DESC, a.k LIMIT 10",
}
#: DuckDB takes it for a fifth of the rows; it is a few.
SMALL = "b.i::VARCHAR LIKE '1%77%7'"


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adaptive")
    with merganser.connect() as connection:
        connection.execute(f"""
            COPY (SELECT CASE WHEN i % 50 = 0 THEN NULL ELSE i % 9973 END AS k, i, 'a key of text ' || k AS s
                  FROM range(60000) r(i))
            TO '{folder}/a.parquet' (ROW_GROUP_SIZE 4096)""")
        connection.execute(f"""
            COPY (SELECT CASE WHEN i % 70 = 0 THEN NULL ELSE i % 9967 END AS k, i, 'a key of text ' || k AS s
                  FROM range(50000) r(i))
            TO '{folder}/b.parquet' (ROW_GROUP_SIZE 4096)""")
        for name in "ab":
            connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")
        yield connection


@pytest.fixture(autouse=True)
def settings(connection):
    cut_everything(connection)
    connection.execute("RESET merganser_task_bytes")
    connection.execute("SET merganser_broadcast_max_bytes = 0")


def rows_of(connection, query: str, runner: str) -> list[tuple]:
    connection.execute(f"SET merganser_runner = '{runner}'")
    rows = connection.execute(query).fetchall()
    connection.execute("SET merganser_runner = ''")
    return rows


def run(connection, query: str, ordered: bool = False) -> list[dict]:
    """The stages' reports; the rows are those of DuckDB alone."""
    assert_same_rows(rows_of(connection, query, "local"), rows_of(connection, query, ""), ordered)
    return merganser.last_query()["stages"]


def decisions(stages: list[dict]) -> str:
    return "; ".join(text for stage in stages for text in stage["decisions"])


def test_few_rows_are_one_task(connection):
    connection.execute("SET merganser_task_bytes = 100000000")
    stages = run(connection, "SELECT k, count(*), sum(i) FROM a GROUP BY k")
    assert [stage["tasks"] for stage in stages] == [1, 1, 1][: len(stages)]
    assert "4 shares of 960000 bytes in 1 tasks" in stages[0]["decisions"]
    assert all(len(stage["decisions"]) == 1 for stage in stages)


def test_many_rows_are_several_tasks(connection):
    connection.execute("SET merganser_task_bytes = 300000")
    stages = run(connection, "SELECT k, count(*), sum(i) FROM a GROUP BY k")
    assert stages[0]["tasks"] == 4
    assert stages[0]["decisions"] == []
    connection.execute("SET merganser_task_bytes = 500000")
    stages = run(connection, "SELECT k, count(*), sum(i) FROM a GROUP BY k")
    assert stages[0]["tasks"] == 2
    assert stages[0]["decisions"] == ["4 shares of 960000 bytes in 2 tasks"]


def test_always_dividing_divides_into_all_tasks(connection):
    query = "SELECT k, count(*) FROM a WHERE i < 10 GROUP BY k"
    assert [stage["tasks"] for stage in run(connection, query)] == [4, 4]
    connection.execute("SET merganser_distribute_min_bytes = 1")
    assert [stage["tasks"] for stage in run(connection, query)] == [1, 1]


def test_one_partition_with_most_rows(connection):
    """Its neighbours are together on both sides of it, and it is alone."""
    connection.execute("SET merganser_tasks = 16")
    connection.execute("SET merganser_task_bytes = 40000")
    query = "SELECT g, list(i ORDER BY i) FROM (SELECT CASE WHEN i % 8 > 0 THEN 0 ELSE i % 1000 END AS g, i FROM a) t"
    stages = run(connection, query + " GROUP BY g")
    assert 2 < stages[1]["tasks"] < 16
    assert stages[1]["skew"] >= 1
    assert "16 shares of" in decisions(stages[1:])


def test_nothing_but_empty_partitions(connection):
    connection.execute("SET merganser_task_bytes = 1000")
    stages = run(connection, "SELECT k, list(i) FROM a WHERE i::VARCHAR = 'none' GROUP BY k")
    assert stages[0]["tasks"] == 4
    assert stages[1]["tasks"] == 1
    assert stages[1]["decisions"] == ["4 shares of 0 bytes in 1 tasks"]


@pytest.mark.parametrize("task_bytes", [1, 500_000, 100_000_000])
def test_order_is_kept(connection, task_bytes):
    """Neighbouring ranges of a sort stay neighbours, and a task sorts all of its ranges."""
    connection.execute("SET merganser_tasks = 7")
    connection.execute(f"SET merganser_task_bytes = {task_bytes}")
    stages = run(connection, "SELECT i, k FROM a ORDER BY k DESC NULLS LAST, i", ordered=True)
    assert "ranges into 7" in [stage["partitioning"] for stage in stages]
    assert (stages[-1]["tasks"] == 7) == (task_bytes == 1)
    assert stages[-1]["tasks"] > 1 or task_bytes > 1_000_000


def test_order_of_a_sent_table_is_kept(connection):
    connection.execute("CREATE OR REPLACE TEMP TABLE sent AS SELECT i, (i * 7919) % 10007 AS v FROM range(10007) r(i)")
    connection.execute("SET merganser_task_bytes = 50000")
    stages = run(connection, "SELECT v FROM sent JOIN (SELECT 1) ON v >= 0", ordered=True)
    assert max(stage["tasks"] for stage in stages) in (2, 3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("task_bytes", [0, 200_000])
def test_a_side_that_turns_out_small_goes_to_all_tasks(connection, kind, task_bytes):
    connection.execute("SET merganser_broadcast_max_bytes = 20000")
    connection.execute(f"SET merganser_task_bytes = {task_bytes}")
    small = SMALL if "b ON" in KINDS[kind] else SMALL.replace("b.", "")
    stages = run(connection, KINDS[kind].format(small=small))
    inside = [stage for stage in stages if "computed inside stage" in "; ".join(stage["decisions"])]
    assert inside
    for stage in inside:
        assert (stage["tasks"], stage["rows_out"], stage["bytes_out"]) == (0, 0, 0)
    readers = [stage for stage in stages if "goes to all tasks" in "; ".join(stage["decisions"])]
    assert len(readers) == len(inside)
    assert all(stage["tasks"] > 1 and stage["rows_in"] >= 50000 for stage in readers)


def test_joins_inside_joins(connection):
    """Both sides that were not exchanged are computed by the tasks of the upper join."""
    connection.execute("SET merganser_broadcast_max_bytes = 20000")
    stages = run(connection, KINDS["two"].format(small=SMALL + " AND c.i::VARCHAR LIKE '%7'"))
    assert decisions(stages).count("computed inside") >= 1


def test_a_side_that_is_not_small_is_exchanged(connection):
    connection.execute("SET merganser_broadcast_max_bytes = 100")
    stages = run(connection, KINDS["inner"].format(small=SMALL))
    assert "computed inside" not in decisions(stages)
    assert all(stage["tasks"] > 0 for stage in stages)
    connection.execute("SET merganser_broadcast_max_bytes = 0")
    plan = connection.execute("FROM merganser_stages($1)", [KINDS["inner"].format(small=SMALL)]).fetchall()
    assert "turns out to have" not in str(plan)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a.s, count(*), sum(b.i) FROM a JOIN b ON a.s = b.s WHERE {small} GROUP BY a.s",
        "SELECT DISTINCT a.s FROM a JOIN b ON a.s = b.s WHERE {small}",
        "SELECT a.k, row_number() OVER (PARTITION BY a.k ORDER BY a.i, b.i) FROM a JOIN b ON a.k = b.k WHERE {small}",
        "SELECT * FROM a FULL JOIN (SELECT * FROM b WHERE {small}) b ON a.k = b.k",
    ],
)
def test_rows_that_must_stay_hashed_are_exchanged(connection, query):
    """What stands above relies on equal keys being in one task, or the kind of join does."""
    connection.execute("SET merganser_broadcast_max_bytes = 20000")
    stages = run(connection, query.format(small=SMALL))
    assert all(stage["tasks"] > 0 for stage in stages)
