"""merganser_advise: running what it says makes the rule apply, and the rows stay those of plain DuckDB."""

import duckdb
import pytest

ROWS = 30000
REPORT = """SELECT c.id, c.name, c.comment, sum(price) AS revenue FROM customer c JOIN sale s ON s.customer_id = c.id
            GROUP BY ALL ORDER BY revenue DESC, c.id LIMIT 5"""
COLUMNS = "query, rule, reason, advice, sql, holds, gain"


@pytest.fixture
def shop(connection, tmp_path) -> duckdb.DuckDBPyConnection:
    """Tables, and the same as files in the current folder of the test. No key is proved, unless a test says so."""
    connection.execute(
        f"""
        SET merganser_prove_keys = false;
        CREATE TABLE country AS SELECT i AS id, 'Country ' || i AS name, repeat('c', 60) AS text FROM range(30) r(i);
        CREATE TABLE customer AS
        SELECT i AS id, 'Customer ' || i AS name, repeat('x', 60) AS comment, i % 30 AS country_id
        FROM range(2000) r(i);
        CREATE TABLE sale AS
        SELECT i AS id, i // 3 AS basket, i % 3 AS line, i * 7919 % 2000 AS customer_id, i * i % 9973 AS price,
               repeat('s', 40) || i AS text
        FROM range({ROWS}) r(i);
        COPY customer TO '{tmp_path}/customer.parquet';
        COPY (FROM sale WHERE id < 20000) TO '{tmp_path}/sale-1.parquet';
        COPY (FROM sale WHERE id >= 20000) TO '{tmp_path}/sale-2.parquet'"""
    )
    return connection


def advise(connection: duckdb.DuckDBPyConnection, query: str, *, verify: bool = False) -> list[dict]:
    cursor = connection.execute(f"SELECT {COLUMNS} FROM merganser_advise($1, verify := {verify})", [query])
    names = COLUMNS.split(", ")
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def decisions(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    rows = connection.execute(
        "SELECT split_part(text, ':', 1) FROM merganser_explain(?) "
        "WHERE section = 'decision' AND item = 'late_materialization'",
        [query],
    ).fetchall()
    return [code for (code,) in rows]


def take(connection: duckdb.DuckDBPyConnection, query: str, advice: dict) -> None:
    """Runs the SQL of an advice: the rule did not apply and then does, and the rows are the same."""
    before = decisions(connection, query)
    assert advice["reason"] in before
    expected = connection.execute(query).fetchall()
    assert expected
    connection.execute(advice["sql"])
    assert decisions(connection, query).count("applied") > before.count("applied")
    assert connection.execute(query).fetchall() == expected


def test_a_key_of_a_table(shop):
    (advice,) = advise(shop, REPORT)
    assert (advice["query"], advice["rule"], advice["reason"]) == (1, "late_materialization", "no_determined_column")
    assert advice["advice"] == "declare the key customer (id)"
    assert advice["sql"] == "ALTER TABLE memory.main.customer ADD PRIMARY KEY (id) NOT ENFORCED RELY;"
    assert advice["holds"] is None
    assert advice["gain"].startswith(f"saves {ROWS} rows x 80 bytes")
    take(shop, REPORT, advice)


def test_the_data_agree(shop):
    (advice,) = advise(shop, REPORT, verify=True)
    assert advice["holds"] is True
    take(shop, REPORT, advice)


def test_advising_leaves_nothing_behind(shop):
    query = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    before = shop.execute(query).fetchall()
    advise(shop, REPORT, verify=True)
    assert shop.execute("FROM merganser_declarations()").fetchall() == []
    assert shop.execute(query).fetchall() == before
    assert decisions(shop, REPORT) == ["no_determined_column"]


def test_a_key_that_does_not_hold_is_not_advised(shop):
    shop.execute("INSERT INTO customer VALUES (7, 'twice', 'other', 3), (9999, 'far', 'away', 3)")
    (advice,) = advise(shop, REPORT, verify=True)
    assert (advice["holds"], advice["sql"]) == (False, None)
    assert advice["advice"] == (
        "customer (id) is no key: 1 of its values stand in several rows or are NULL, such as id = 7 (2 rows)"
    )


def test_null_is_no_key(shop):
    shop.execute("INSERT INTO customer VALUES (NULL, 'nobody', 'other', 3), (9999, 'far', 'away', 3)")
    (advice,) = advise(shop, REPORT, verify=True)
    assert (advice["holds"], advice["sql"]) == (False, None)
    assert "id = NULL" in advice["advice"]


def test_rows_of_the_open_transaction_count(shop):
    shop.execute("BEGIN; INSERT INTO customer VALUES (7, 'twice', 'other', 3), (9999, 'far', 'away', 3)")
    assert [advice["holds"] for advice in advise(shop, REPORT, verify=True)] == [False]
    shop.execute("ROLLBACK")
    assert [advice["holds"] for advice in advise(shop, REPORT, verify=True)] == [True]


def test_the_next_candidate_where_the_first_does_not_hold(shop):
    """basket is named like nothing and joined; line alone is no key; both together are."""
    shop.execute("SET merganser_late_materialization_cost = false")
    shop.execute("CREATE TABLE note AS SELECT i // 3 AS basket_id, i % 3 AS line_id, i AS n FROM range(30000) r(i)")
    shop.execute("CREATE VIEW line AS SELECT basket AS basket_id, line AS line_id, text FROM sale")
    query = """SELECT l.basket_id, l.line_id, l.text, sum(n) AS total FROM line l
               JOIN note USING (basket_id, line_id) GROUP BY ALL ORDER BY total DESC LIMIT 5"""
    rows = advise(shop, query, verify=True)
    assert [advice["holds"] for advice in rows][-1] is True
    assert "(basket, line)" in rows[-1]["sql"]
    take(shop, query, rows[-1])


def test_files_behind_a_view(shop, tmp_path):
    shop.execute(f"CREATE VIEW buyer AS SELECT id AS buyer, name, comment AS about FROM '{tmp_path}/customer.parquet'")
    query = """SELECT buyer, name, about, sum(price) AS revenue FROM buyer JOIN sale ON customer_id = buyer
               GROUP BY ALL ORDER BY revenue DESC, buyer LIMIT 5"""
    (advice,) = advise(shop, query, verify=True)
    assert advice["sql"] == "ALTER VIEW memory.main.buyer ADD PRIMARY KEY (buyer) NOT ENFORCED RELY;"
    assert advice["holds"] is True
    take(shop, query, advice)


def test_files_without_a_view(shop, tmp_path):
    query = f"""SELECT c.id, c.name, c.comment, sum(price) AS revenue FROM '{tmp_path}/customer.parquet' c
                JOIN '{tmp_path}/sale-*.parquet' s ON s.customer_id = c.id
                GROUP BY ALL ORDER BY revenue DESC, c.id LIMIT 5"""
    (advice,) = advise(shop, query, verify=True)
    view, key = advice["sql"].split("\n")
    assert view == f"CREATE VIEW customer_2 AS FROM read_parquet('{tmp_path}/customer.parquet');"
    assert key == "ALTER VIEW customer_2 ADD PRIMARY KEY (id) NOT ENFORCED RELY;"
    assert advice["holds"] is True
    take(shop, query, advice)


def test_two_files_of_one_name(shop, tmp_path):
    (tmp_path / "other").mkdir()
    shop.execute(f"COPY country TO '{tmp_path}/other/customer.parquet'")
    query = f"""SELECT s.customer_id, n.name, n.text, sum(price) AS revenue FROM sale s
                JOIN '{tmp_path}/customer.parquet' c ON s.customer_id = c.id
                JOIN '{tmp_path}/other/customer.parquet' n ON c.country_id = n.id
                GROUP BY ALL ORDER BY revenue DESC, s.customer_id LIMIT 5"""
    (advice,) = advise(shop, query, verify=True)
    assert "CREATE VIEW customer_2" in advice["sql"] and "CREATE VIEW customer_3" in advice["sql"]
    take(shop, query, advice)


def test_files_with_options_and_a_pattern(shop, tmp_path):
    shop.execute("SET merganser_late_materialization_cost = false")
    files = f"read_parquet('{tmp_path}/sale-*.parquet', union_by_name = true)"
    query = f"""SELECT s.id, s.text, count(*) AS n FROM {files} s
                JOIN sale other ON other.id = s.id GROUP BY ALL ORDER BY n DESC, s.id LIMIT 5"""
    rows = [advice for advice in advise(shop, query, verify=True) if "read_parquet" in (advice["sql"] or "")]
    assert "union_by_name := true" in rows[0]["sql"] and rows[0]["holds"] is True
    take(shop, query, rows[0])


def test_two_keys_where_one_is_not_enough(shop):
    query = """SELECT s.customer_id, n.name, n.text, sum(price) AS revenue FROM sale s
               JOIN customer c ON s.customer_id = c.id JOIN country n ON c.country_id = n.id
               GROUP BY ALL ORDER BY revenue DESC, s.customer_id LIMIT 5"""
    (advice,) = advise(shop, query, verify=True)
    assert advice["advice"] == "declare the key customer (id) and country (id), which holds now"
    assert advice["sql"].count("ADD PRIMARY KEY") == 2
    take(shop, query, advice)


def test_each_relation_that_can_help(shop):
    shop.execute("SET merganser_late_materialization_cost = false")
    query = """SELECT s.id, s.text, c.id AS customer_id, c.name, sum(price) AS revenue FROM sale s
               JOIN customer c ON s.customer_id = c.id GROUP BY ALL ORDER BY revenue DESC, s.id LIMIT 5"""
    rows = advise(shop, query, verify=True)
    assert {advice["advice"] for advice in rows if advice["holds"]} == {
        "declare the key sale (id), which holds now",
        "declare the key customer (id), which holds now",
    }
    for advice in rows:
        if advice["holds"]:
            shop.execute("BEGIN")
            take(shop, query, advice)
            shop.execute("ROLLBACK")


def test_another_key_than_the_primary(shop):
    shop.execute("ALTER TABLE customer ADD COLUMN code BIGINT; UPDATE customer SET code = 5000 - id")
    shop.execute("ALTER TABLE customer ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    query = """SELECT code, name, comment, sum(price) AS revenue FROM customer JOIN sale ON customer_id = code - 3001
               GROUP BY ALL ORDER BY revenue DESC, code LIMIT 5"""
    (advice,) = advise(shop, query, verify=True)
    assert "SET NOT NULL" in advice["sql"] and "ADD UNIQUE (code)" in advice["sql"]
    take(shop, query, advice)


def test_a_setting(shop):
    shop.execute("ALTER TABLE customer ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    shop.execute("SET merganser_late_materialization = false")
    (advice,) = advise(shop, REPORT)
    assert (advice["reason"], advice["sql"]) == ("switched_off", "SET merganser_late_materialization = true;")
    take(shop, REPORT, advice)
    shop.execute("SET merganser_late_materialization_max_chain = 0")
    (advice,) = advise(shop, REPORT)
    assert (advice["reason"], advice["sql"]) == (
        "chain_too_long",
        "SET merganser_late_materialization_max_chain = 1;",
    )
    take(shop, REPORT, advice)


def test_where_keys_are_proved_nothing_is_advised(shop):
    """The first plan leaves nothing to be declared; a proof that fails leaves the key to be asked about."""
    shop.execute("SET merganser_prove_keys = true")
    expected = shop.execute(REPORT).fetchall()
    assert [(advice["reason"], advice["sql"]) for advice in advise(shop, REPORT)] == [("no_candidate", None)]
    assert decisions(shop, REPORT) == ["applied"]
    assert shop.execute(REPORT).fetchall() == expected
    shop.execute("INSERT INTO customer VALUES (7, 'twice', 'other', 3), (9999, 'far', 'away', 3)")
    (advice,) = advise(shop, REPORT, verify=True)
    assert (advice["holds"], advice["sql"]) == (False, None)


def test_a_key_that_would_not_pay(shop):
    shop.execute("CREATE TABLE few AS FROM sale LIMIT 100")
    query = REPORT.replace("sale s", "few s")
    (advice,) = advise(shop, query)
    assert (advice["reason"], advice["sql"]) == ("no_determined_column", None)
    assert advice["advice"] == "nothing: with a key declared, the join-back is estimated to cost more than it saves"


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("FROM sale", "no rule looks at this query"),
        ("SELECT 1", "no rule looks at this query"),
        (REPORT, "nothing: every rule that looks at this query applies"),
    ],
)
def test_a_query_without_a_candidate_says_so(shop, query, sentence):
    shop.execute("ALTER TABLE customer ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    assert advise(shop, query, verify=True) == [
        dict(query=1, rule=None, reason="no_candidate", advice=sentence, sql=None, holds=None, gain=None)
    ]


def test_a_decline_that_no_key_mends_says_what_to_do(shop):
    query = "SELECT name, comment, sum(price) AS s FROM customer JOIN sale ON customer_id = customer.id + random() " + (
        "GROUP BY ROLLUP (name, comment) ORDER BY s LIMIT 3"
    )
    (advice,) = advise(shop, query)
    assert (advice["reason"], advice["sql"]) == ("grouping_sets", None)
    assert advice["advice"] == "ask for the subtotals in another query"


def test_a_layout_for_a_table_function(shop):
    query = "FROM SESSION(DATA => TABLE(sale) PARTITION BY customer_id ORDER BY id, GAP => 5)"
    (advice,) = advise(shop, query)
    assert (advice["rule"], advice["reason"], advice["sql"]) == ("grouping", "hashed", None)
    assert "PARTITION_BY (customer_id), ORDER_BY (id)" in advice["advice"]


def test_several_queries(shop):
    rows = shop.execute(
        "SELECT query, reason, advice, sql FROM merganser_advise(?)", [[REPORT, "FROM nowhere", "FROM sale", REPORT]]
    ).fetchall()
    assert [(query, reason) for query, reason, _, _ in rows] == [
        (1, "no_determined_column"),
        (2, "cannot_be_planned"),
        (3, "no_candidate"),
        (4, "no_determined_column"),
    ]
    assert "nowhere" in rows[1][2]
    assert rows[0][1:] == rows[3][1:]


def test_a_file_of_queries(shop, tmp_path):
    path = tmp_path / "queries.sql"
    path.write_text(f"-- the report; of the month\n{REPORT};\nSET threads = 2;\nSELECT 'a;b' AS t FROM sale;\n")
    rows = shop.execute(
        "SELECT query, reason, sql FROM merganser_advise(file := $1, verify := true)", [str(path)]
    ).fetchall()
    assert [(query, reason) for query, reason, _ in rows] == [
        (1, "no_determined_column"),
        (2, "cannot_be_planned"),
        (3, "no_candidate"),
    ]
    take(shop, REPORT, {"reason": rows[0][1], "sql": rows[0][2]})


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("merganser_advise()", "takes either queries or file := 'queries.sql'"),
        ("merganser_advise('FROM sale', file := 'a.sql')", "takes either queries or file := 'queries.sql'"),
        ("merganser_advise(NULL::VARCHAR)", "takes the text of queries, not NULL"),
        ("merganser_advise(file := NULL)", "takes either queries or file := 'queries.sql'"),
        ("merganser_advise('SELECT 1; SELECT 2')", "takes exactly one statement"),
        ("merganser_advise('FROM nowhere')", "nowhere"),
        ("merganser_advise('SET threads = 2')", "takes SELECT"),
        ("merganser_advise(file := 'no such file.sql')", "no such file.sql"),
    ],
)
def test_errors_say_what_to_do(shop, call, error):
    with pytest.raises(duckdb.Error, match=error.replace("(", r"\(").replace(".", r"\.")):
        shop.execute(f"FROM {call}").fetchall()
    assert shop.execute("SELECT count(*) FROM sale").fetchone() == (ROWS,)
