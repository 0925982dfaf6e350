"""Relations, as Python has them: those that write have no query of their own; what they read is found all the same."""


def test_relations_that_write_or_explain(connection, tmp_path):
    connection.execute(f"COPY (SELECT i AS a FROM range(3) r(i)) TO '{tmp_path}/a.parquet'")
    connection.execute(
        f"CREATE VIEW v AS FROM '{tmp_path}/a.parquet'; ALTER VIEW v ADD PRIMARY KEY (a) NOT ENFORCED RELY"
    )
    relation = connection.view("v").filter("a > 0")
    relation.create("made")
    relation.insert_into("made")
    relation.create_view("shown")
    relation.to_parquet(f"{tmp_path}/b.parquet")
    relation.to_csv(f"{tmp_path}/b.csv")
    assert "a>0" in relation.explain().replace(" ", "")
    rows = {name: sorted(connection.sql(f"FROM {name}").fetchall()) for name in ("made", "shown")}
    assert rows == {"made": [(1,), (1,), (2,), (2,)], "shown": [(1,), (2,)]}
    for name in ("b.parquet", "b.csv"):
        assert connection.sql(f"FROM '{tmp_path}/{name}'").fetchall() == [(1,), (2,)]
    assert connection.values([1, 2]).fetchall() == [(1, 2)]
    assert connection.table_function("range", [2]).aggregate("sum(range)").fetchall() == [(1,)]
    assert connection.read_csv(f"{tmp_path}/b.csv").order("a DESC").fetchall() == [(2,), (1,)]
