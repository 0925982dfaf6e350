"""Late materialisation inside stages: narrow keys cross the exchanges before the top-N, wide columns do not."""

from pathlib import Path

import duckdb
import merganser
import pytest

TABLES = {"nation": "n_nationkey", "customer": "c_custkey", "orders": "o_orderkey", "lineitem": None}
Q10 = """
    SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
           c_phone, c_comment
    FROM customer, orders, lineitem, nation
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey
    GROUP BY ALL ORDER BY revenue DESC, c_custkey LIMIT 20"""


@pytest.fixture
def connection(tpch_parquet):
    folder = tpch_parquet(0.1)
    with merganser.connect() as connection:
        for table, key in TABLES.items():
            connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}.parquet')")
            if key:
                connection.execute(f"ALTER VIEW {table} ADD PRIMARY KEY ({key}) NOT ENFORCED RELY")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_tasks = 4")
        connection.execute("SET merganser_slots = 2")
        connection.execute("SET merganser_late_materialization_cost = false")
        yield connection


def stages_of(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple]:
    return connection.execute("SELECT stage, tasks, sql, reason FROM merganser_stages($1)", [query]).fetchall()


def run_by_hand(connection: duckdb.DuckDBPyConnection, query: str, folder: Path) -> dict[int, Path]:
    """Runs every stage as one task, from the SQL merganser_stages shows; returns all exchange files but the last."""
    stages = stages_of(connection, query)
    files = {}
    for stage, _, sql, _ in stages[:-1]:
        files[stage] = folder / f"stage-{stage}"
        connection.execute(f"COPY ({sql}) TO '{files[stage]}' (FORMAT merganser_exchange)")
        for name in (f"merganser_stage_{stage}", f"merganser_all_of_stage_{stage}"):
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM merganser_exchange(['{files[stage]}'])")
    assert connection.execute(stages[-1][2]).fetchall() == connection.execute(query).fetchall()
    return files


@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
def test_rows_of_q10(connection, broadcast_max_bytes):
    expected = connection.execute(Q10).fetchall()
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {Q10}").fetchall()[0][1]
    assert connection.execute(Q10).fetchall() == expected


@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
def test_wide_columns_do_not_cross_an_exchange_before_the_top_n(connection, tmp_path, broadcast_max_bytes):
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    stages = stages_of(connection, Q10)
    top = next(stage for stage, _, sql, _ in stages if "row_number() OVER ()" in sql)
    assert max(tasks for _, tasks, _, _ in stages) == 4
    fetching = [stage for stage, tasks, sql, _ in stages if tasks == 4 and stage > top and "SEMI JOIN" in sql]
    assert len(fetching) == 2
    for stage, file in run_by_hand(connection, Q10, tmp_path).items():
        columns = connection.execute(f"DESCRIBE FROM merganser_exchange(['{file}'])").fetchall()
        rows = connection.execute(f"SELECT count(*) FROM merganser_exchange(['{file}'])").fetchall()[0][0]
        has_texts = any(column[1] == "VARCHAR" for column in columns)
        assert not has_texts or (rows <= 20 and stage > top)


def test_bytes_exchanged_by_q10(connection, tmp_path):
    sizes = {}
    for rule in (True, False):
        connection.execute(f"SET merganser_late_materialization = {rule}")
        sizes[rule] = sum(file.stat().st_size for file in run_by_hand(connection, Q10, tmp_path).values())
    assert sizes[True] * 5 < sizes[False]


def test_a_column_the_view_computes_is_computed_above_the_join_back(connection):
    connection.execute("""
        CREATE VIEW others AS
            SELECT c_custkey AS id, upper(c_name) AS name, c_comment FROM customer WHERE c_nationkey <> 3;
        ALTER VIEW others ADD PRIMARY KEY (id) NOT ENFORCED RELY""")
    query = """SELECT id, name, c_comment, count(*) AS n FROM orders JOIN others ON o_custkey = id
               GROUP BY ALL ORDER BY n DESC, id LIMIT 7"""
    expected = connection.execute(query).fetchall()
    connection.execute("SET merganser_broadcast_max_bytes = 0")
    stages = stages_of(connection, query)
    assert max(tasks for _, tasks, *_ in stages) == 4
    assert any("JOIN_BACK" in sql.upper() or "QUALIFY" in sql for *_, sql, _ in stages)
    connection.execute("SET merganser_runner = 'local'")
    assert connection.execute(query).fetchall() == expected


@pytest.fixture
def broken(connection, tmp_path):
    """Keys and foreign keys that do not hold: customer 3 is there twice, customer 99, who has a sale, not at all."""
    connection.execute(f"""
        COPY (SELECT i % 40 AS customer, i AS value FROM range(4000) t(i) UNION ALL SELECT 99, 1000000)
            TO '{tmp_path}/sale.parquet' (ROW_GROUP_SIZE 500);
        COPY (SELECT i AS id, 'customer ' || i AS name FROM range(40) t(i) UNION ALL SELECT 3, 'again')
            TO '{tmp_path}/twice.parquet' (ROW_GROUP_SIZE 10);
        COPY (SELECT i AS id, 'customer ' || i AS name FROM range(40) t(i)) TO '{tmp_path}/once.parquet';
        CREATE VIEW sale AS FROM read_parquet('{tmp_path}/sale.parquet');
        CREATE VIEW twice AS FROM read_parquet('{tmp_path}/twice.parquet');
        CREATE VIEW once AS FROM read_parquet('{tmp_path}/once.parquet');
        ALTER VIEW twice ADD PRIMARY KEY (id) NOT ENFORCED RELY;
        ALTER VIEW once ADD PRIMARY KEY (id) NOT ENFORCED RELY""")
    return connection


GUARDED = {
    "SELECT id, name, sum(value) AS s FROM sale JOIN twice ON customer = id GROUP BY ALL ORDER BY s, id LIMIT 10": (
        'Key twice (id) does not hold: "memory.main.twice" has more than one row for a value of it.'
    ),
    "SELECT id, sum(value) AS s FROM sale JOIN twice ON customer = id GROUP BY id, name ORDER BY s DESC LIMIT 50": (
        'Key twice (id) does not hold: "memory.main.twice" has more than one row for a value of it.'
    ),
    "SELECT id, name, sum(value) AS s FROM sale JOIN once ON customer = id GROUP BY ALL ORDER BY s DESC LIMIT 2": (
        'Foreign key sale (customer) references once (id) does not hold: a row found no row of "memory.main.once"'
    ),
}


@pytest.mark.parametrize("query", GUARDED)
def test_a_broken_declaration_is_the_same_error_in_stages(broken, query):
    if "once" in query:
        broken.execute("ALTER VIEW sale ADD FOREIGN KEY (customer) REFERENCES once (id) NOT ENFORCED RELY")
    assert max(tasks for _, tasks, *_ in stages_of(broken, query)) == 4
    for runner in ("", "local"):
        broken.execute(f"SET merganser_runner = '{runner}'")
        with pytest.raises(duckdb.InvalidInputException) as error:
            broken.execute(query).fetchall()
        assert GUARDED[query] in str(error.value), runner
    assert "Staged Query" in broken.execute(f"EXPLAIN {query}").fetchall()[0][1]


EVERY_GROUP = """
    SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, n_name, c_comment
    FROM customer, orders, lineitem, nation
    WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey GROUP BY ALL"""
ABOVE_EVERY_GROUP = [
    "FROM ({}) ORDER BY c_name",
    "SELECT n_name, c_custkey, c_comment FROM ({}) QUALIFY rank() OVER (PARTITION BY n_name ORDER BY revenue DESC) < 4"
    " ORDER BY ALL",
    "SELECT count(*), sum(revenue), max(c_comment) FROM (FROM ({}) LIMIT 100000)",
]


@pytest.mark.parametrize("above", ABOVE_EVERY_GROUP)
@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
def test_every_group_is_fetched_in_the_task_that_has_it(connection, above, broadcast_max_bytes):
    query = above.format(EVERY_GROUP)
    connection.execute("SET merganser_late_materialization = false")
    expected = connection.execute(query).fetchall()
    connection.execute("SET merganser_late_materialization = true")
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    numbering = [tasks for _, tasks, sql, _ in stages_of(connection, query) if "row_number() OVER ()" in sql]
    assert numbering == [4]
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert connection.execute(query).fetchall() == expected


OUTER_JOINED = """
    SELECT {0}, c_name, n_name, c_comment, sum(l_quantity) AS s
    FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey
    LEFT JOIN (FROM customer WHERE c_custkey % 3 > 0 OR {1}) customer ON o_custkey = c_custkey
    LEFT JOIN nation ON c_nationkey = n_nationkey AND n_nationkey > 7 GROUP BY ALL ORDER BY s DESC, {0} {2}"""


@pytest.mark.parametrize("bound", ["", "LIMIT 30"])
@pytest.mark.parametrize("found_by", ["c_custkey", "o_custkey"])
@pytest.mark.parametrize("broadcast_max_bytes", [0, 64 << 20])
def test_rows_an_outer_join_supplies_with_null(connection, bound, found_by, broadcast_max_bytes):
    """The group without a customer, which is the largest, finds none; customers without a nation above 7 find one."""
    query = OUTER_JOINED.format(found_by, "false" if found_by == "c_custkey" else "true", bound)
    if found_by == "o_custkey":
        query = query.replace("(FROM customer WHERE c_custkey % 3 > 0 OR true) customer", "customer")
    connection.execute("SET merganser_late_materialization = false")
    expected = connection.execute(query).fetchall()
    assert any(row[2] is None for row in expected)
    connection.execute("SET merganser_late_materialization = true")
    assert connection.execute(query).fetchall() == expected
    connection.execute(f"SET merganser_broadcast_max_bytes = {broadcast_max_bytes}")
    assert any("JOIN" in sql and "QUALIFY CASE" in sql for _, _, sql, _ in stages_of(connection, query))
    connection.execute("SET merganser_runner = 'local'")
    assert "Staged Query" in connection.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert connection.execute(query).fetchall() == expected


def test_a_broken_key_fails_before_a_limit_is_met(broken):
    query = "SELECT id, name, sum(value) AS s FROM sale JOIN twice ON customer = id GROUP BY ALL LIMIT 1"
    stages = stages_of(broken, query)
    assert max(tasks for _, tasks, *_ in stages) > 1
    assert any("the check of a declared key, before the rows" in reason for *_, reason in stages)
    broken.execute("SET merganser_runner = 'local'")
    with pytest.raises(duckdb.InvalidInputException, match="Key twice .id. does not hold"):
        broken.execute(query).fetchall()
