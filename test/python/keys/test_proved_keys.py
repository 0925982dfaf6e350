"""Keys that nobody has declared: proved where they hold, and forgotten where the data change."""

import os
import threading

import duckdb
import merganser
import pytest
from undeclared import EVERY_GROUP, REPORT, ROWS, check, create, create_sales, decision, facts, plain, proofs, report

INSERT_TWICE = "INSERT INTO dim VALUES (3, 'twice', 'wrong', 1000)"


def write(connection: duckdb.DuckDBPyConnection, path: os.PathLike, rows: str) -> None:
    """Replaces the file, as a job does that writes beside it."""
    connection.execute(f"COPY ({rows}) TO '{path}.new' (FORMAT parquet)")
    os.replace(f"{path}.new", path)


def test_a_key_is_proved_once(connection):
    create(connection)
    assert proofs(connection) == []
    check(connection, applied=True)
    assert proofs(connection) == [("memory.main.dim", ["id"], True, 40)]
    (proof,) = facts(connection, report(), "proof")
    assert proof.startswith("dim (id) is known: holds, 40 rows read in ")
    assert facts(connection, report(), "key") == ["dim (id) proved"]


def test_a_proof_is_shared_by_connections(connection):
    create(connection)
    connection.execute(report())
    with connection.cursor() as other:
        other.execute("SET merganser_late_materialization_cost = false")
        check(other, applied=True)
    assert len(proofs(connection)) == 1


@pytest.mark.parametrize(
    ("breach", "found"), [(INSERT_TWICE, "a value stands twice"), ("INSERT INTO dim (name) VALUES ('x')", "has NULL")]
)
def test_what_does_not_hold_is_remembered(connection, breach, found):
    create(connection)
    connection.execute(breach)
    check(connection, applied=False)
    assert proofs(connection) == [("memory.main.dim", ["id"], False, 41)]
    (proof,) = facts(connection, report(), "proof")
    assert proof.startswith(f"dim (id) is known: {found}, 41 rows read in ")


@pytest.mark.parametrize(
    "breach",
    [INSERT_TWICE, "UPDATE dim SET id = 4 WHERE id = 3", "UPDATE dim SET id = NULL WHERE id = 3",
     "INSERT INTO dim SELECT id, name || '!', note, weight FROM dim", "MERGE INTO dim USING (SELECT 3 AS id) n ON "
     "dim.id = n.id WHEN MATCHED THEN UPDATE SET id = 5"],
)  # fmt: skip
def test_a_change_voids_a_proof(connection, breach):
    create(connection)
    check(connection, applied=True)
    connection.execute(breach)
    check(connection, applied=False)


def test_a_key_that_is_mended_is_proved_again(connection):
    create(connection)
    connection.execute(INSERT_TWICE)
    check(connection, applied=False)
    connection.execute("DELETE FROM dim WHERE name = 'twice'")
    check(connection, applied=True)


def test_rows_deleted_do_no_harm(connection):
    create(connection)
    check(connection, applied=True)
    connection.execute("DELETE FROM dim WHERE id > 30")
    check(connection, applied=True)
    assert len(proofs(connection)) == 1


def test_a_checkpoint_between_two_runs(connection):
    create(connection)
    check(connection, applied=True)
    connection.execute("DELETE FROM dim WHERE id = 3")
    connection.execute("FORCE CHECKPOINT")
    check(connection, applied=True)
    connection.execute(INSERT_TWICE)
    check(connection, applied=True)
    connection.execute(INSERT_TWICE)
    connection.execute("FORCE CHECKPOINT")
    check(connection, applied=False)


def test_a_duplicate_that_is_not_committed(connection):
    create(connection)
    check(connection, applied=True)
    connection.execute("BEGIN")
    connection.execute(INSERT_TWICE)
    check(connection, applied=False)
    connection.execute("ROLLBACK")
    check(connection, applied=True)
    assert len(proofs(connection)) == 1


def test_a_proof_with_rows_that_are_not_committed_is_not_kept(connection):
    create(connection)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO dim VALUES (1000, 'new', 'new', 9)")
    connection.execute("INSERT INTO sale VALUES (1000, 100000)")
    check(connection, applied=True)
    assert proofs(connection) == []
    connection.execute("ROLLBACK")


def test_a_duplicate_of_another_transaction(connection):
    create(connection)
    check(connection, applied=True)
    with connection.cursor() as other:
        other.execute("BEGIN")
        other.execute(INSERT_TWICE)
        check(connection, applied=True)
        connection.execute("BEGIN")
        connection.execute("FROM dim LIMIT 1")
        other.execute("COMMIT")
        check(connection, applied=True)
        connection.execute("COMMIT")
    check(connection, applied=False)


def test_an_old_snapshot_shows_a_duplicate_that_is_gone(connection):
    create(connection)
    connection.execute(INSERT_TWICE)
    connection.execute("BEGIN")
    connection.execute("FROM dim LIMIT 1")
    with connection.cursor() as other:
        other.execute("SET merganser_late_materialization_cost = false")
        other.execute("DELETE FROM dim WHERE id = 3")
        check(other, applied=True)
        check(connection, applied=False)
        connection.execute("COMMIT")
        other.execute("CHECKPOINT")
        check(connection, applied=True)


def test_an_update_of_another_transaction(connection):
    create(connection)
    check(connection, applied=True)
    with connection.cursor() as other:
        other.execute("BEGIN")
        other.execute("UPDATE dim SET id = 4 WHERE id = 3")
        check(connection, applied=True)
        other.execute("COMMIT")
        check(connection, applied=False)


def test_a_prepared_statement_is_planned_anew(connection):
    create(connection)
    connection.execute(f"PREPARE report AS {report()}")
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, report())
    assert len(proofs(connection)) == 1
    connection.execute(INSERT_TWICE)
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, report())
    connection.execute("BEGIN")
    connection.execute("DELETE FROM dim WHERE id = 3")
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, report())
    connection.execute("ROLLBACK")
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, report())


def test_a_statement_prepared_when_the_key_was_known_is_planned_anew(connection):
    create(connection)
    check(connection, applied=True)
    connection.execute(f"PREPARE report AS {report()}")
    connection.execute(INSERT_TWICE)
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, report())


@pytest.mark.parametrize("query", EVERY_GROUP)
def test_every_group(connection, query):
    create(connection)
    check(connection, applied=True, query=query)
    assert facts(connection, query, "key") == ["dim (id) proved"]
    connection.execute(INSERT_TWICE)
    check(connection, applied=False, query=query)


def test_an_order_that_needs_the_name(connection):
    """No top-N by the key alone, and nobody has declared the key: every group is fetched."""
    create(connection)
    query = report().replace("revenue DESC, d.id, d.name", "d.name")
    check(connection, applied=True, query=query)
    assert len(proofs(connection)) == 1


def test_a_proved_key_is_checked_too(connection):
    """What the statement reads is looked at as if somebody had declared the key."""
    create(connection)
    check(connection, applied=True)
    plan = "".join(text for _, text in connection.execute(f"EXPLAIN {report()}").fetchall())
    assert "Key check" in plan or "KEY_CHECK" in plan


def test_a_statement_with_parameters_is_planned_anew(connection):
    create(connection)
    query = REPORT.format(dimension="dim", limit=5).replace("GROUP BY", "WHERE s.price <> $1 GROUP BY")
    wanted = query.replace("$1", "7")
    assert connection.execute(query, [7]).fetchall() == plain(connection, wanted)
    assert len(proofs(connection)) == 1
    connection.execute(INSERT_TWICE)
    assert connection.execute(query, [7]).fetchall() == plain(connection, wanted)


def test_files_that_nobody_has_named(connection, tmp_path):
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    path = tmp_path / "dim.parquet"
    write(connection, path, ROWS.format(40))
    query = report(f"'{path}'")
    check(connection, applied=True, query=query)
    assert facts(connection, query, "key") == ["dim (id) proved"]
    twice = ROWS.format(40) + " UNION ALL SELECT 3, 'twice', 'wrong', 1000"
    write(connection, path, twice)
    check(connection, applied=False, query=query)
    write(connection, path, ROWS.format(40))
    check(connection, applied=True, query=query)
    assert [holds for _, _, holds, _ in proofs(connection)] == [True, False, True]


@pytest.mark.parametrize("reader", ["read_csv", "read_parquet"])
def test_several_files(connection, tmp_path, reader):
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    kind = reader.removeprefix("read_")
    for half in range(2):
        rows = f"SELECT * FROM ({ROWS.format(40)}) WHERE id % 2 = {half}"
        connection.execute(f"COPY ({rows}) TO '{tmp_path}/{half}.{kind}' (FORMAT {kind})")
    query = report(f"{reader}('{tmp_path}/*.{kind}')")
    check(connection, applied=True, query=query)
    connection.execute(
        f"COPY (SELECT * FROM ({ROWS.format(40)}) WHERE id = 3) TO '{tmp_path}/2.{kind}' (FORMAT {kind})"
    )
    check(connection, applied=False, query=query)
    os.remove(tmp_path / f"2.{kind}")
    check(connection, applied=True, query=query)


def test_a_prepared_statement_over_files_is_planned_anew(connection, tmp_path):
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    connection.execute(f"COPY sale TO '{tmp_path}/sale.parquet'")
    path = tmp_path / "dim.parquet"
    write(connection, path, ROWS.format(40))
    query = report(f"'{path}'").replace("JOIN sale", f"JOIN '{tmp_path}/sale.parquet'")
    connection.execute(f"PREPARE report AS {query}")
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, query)
    assert len(proofs(connection)) == 1
    write(connection, path, ROWS.format(40) + " UNION ALL SELECT 3, 'twice', 'wrong', 1000")
    assert connection.execute("EXECUTE report").fetchall() == plain(connection, query)


def test_a_file_that_is_replaced_while_the_query_runs(connection, tmp_path):
    """The narrow plan may have read either file: no row of it may be returned."""
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    path = tmp_path / "dim.parquet"
    write(connection, path, ROWS.format(40))
    with merganser.connect() as writer:
        write(writer, tmp_path / "next.parquet", ROWS.format(40) + " UNION ALL SELECT 3, 'twice', 'wrong', 1000")

    def replace(price: int) -> int:
        if (tmp_path / "next.parquet").exists():
            os.replace(tmp_path / "next.parquet", path)
        return price

    connection.create_function("replacing", replace, ["BIGINT"], "BIGINT")
    query = report(f"'{path}'").replace("s.price *", "replacing(s.price) *")
    with pytest.raises(duckdb.Error, match="Run the query again"):
        connection.execute(query).fetchall()
    assert connection.execute(query).fetchall() == plain(connection, query)


def test_a_file_of_many_that_is_replaced_while_the_query_runs(connection, tmp_path):
    """By another one whose rows have the key too: the key check finds nothing, but the guard another file."""
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    (tmp_path / "dim").mkdir()
    for half in range(2):
        write(connection, tmp_path / f"dim/{half}.parquet", f"FROM ({ROWS.format(40)}) WHERE id % 2 = {half}")
    query = report(f"'{tmp_path}/dim/*.parquet'")
    check(connection, applied=True, query=query)
    with merganser.connect() as writer:
        writer.execute(f"COPY (SELECT id, 'other' AS name, note, weight FROM ({ROWS.format(40)}) WHERE id % 2 = 1) "
                       f"TO '{tmp_path}/next.parquet'")  # fmt: skip

    def replace(price: int) -> int:
        if (tmp_path / "next.parquet").exists():
            os.replace(tmp_path / "next.parquet", tmp_path / "dim/1.parquet")
        return price

    connection.create_function("replacing", replace, ["BIGINT"], "BIGINT")
    replacing = query.replace("s.price *", "replacing(s.price) *")
    with pytest.raises(duckdb.IOException, match=r'1.parquet" changed while the query ran.*prove_keys = false'):
        connection.execute(replacing).fetchall()
    assert connection.execute(replacing).fetchall() == plain(connection, query)
    check(connection, applied=True, query=query)


def test_a_proof_that_a_run_finds_wrong_is_forgotten(connection, tmp_path):
    """The file is changed in place and given its time back, so that it looks as it did when the key was proved."""
    connection.execute("SET enable_external_file_cache = false")
    connection.execute("SET merganser_late_materialization_cost = false")
    create_sales(connection, 40)
    path = tmp_path / "dim.csv"
    connection.execute(f"COPY ({ROWS.format(40)}) TO '{path}'")
    query = report(f"'{path}'")
    check(connection, applied=True, query=query)
    before = path.stat()
    text = path.read_text().replace("\n12,", "\n13,")
    with path.open("r+") as file:
        file.write(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(duckdb.InvalidInputException, match="more than one row for a value of it.*Run the query again"):
        connection.execute(query).fetchall()
    assert proofs(connection) == []
    check(connection, applied=False, query=query)
    assert [holds for _, _, holds, _ in proofs(connection)] == [False]


def test_several_columns_and_other_types(connection):
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute(
        "CREATE TABLE part AS SELECT i // 3 AS order_id, i % 3 AS line_no, uuid() AS token_uuid, 'n' || i AS name, "
        "i * 1000000007 AS far_id FROM range(300) t(i)"
    )
    by = {
        "order_id, line_no": "order_id, line_no",
        "token_uuid": "token_uuid",
        "far_id": "far_id",
    }
    for key, shown in by.items():
        query = f"SELECT {shown}, name, count(*) FROM part GROUP BY ALL ORDER BY count(*) DESC, {key} LIMIT 5"
        check(connection, applied=True, query=query)
        assert facts(connection, query, "key") == [f"part ({key}) proved"]
    connection.execute(
        "INSERT INTO part SELECT order_id, line_no, token_uuid, 'other', far_id FROM part WHERE order_id = 7"
    )
    for key, shown in by.items():
        query = f"SELECT {shown}, name, count(*) FROM part GROUP BY ALL ORDER BY count(*) DESC, {key}, name LIMIT 5"
        assert decision(connection, query) in ("no_determined_column", "order_needs_column")
        assert connection.execute(query).fetchall() == plain(connection, query)


def test_integers_of_every_kind(connection):
    """Those kept as bits, those that lie too far apart for it, and those that only become so."""
    connection.execute("SET merganser_late_materialization_cost = false")
    values = {
        "near": ("BIGINT", "i - 2500"),
        "unsigned": ("UBIGINT", "18446744073709551615::UBIGINT - i::UBIGINT"),
        "far": ("BIGINT", "(i - 2500) * 3000000000000"),
        "late": ("BIGINT", "CASE WHEN i < 4000 THEN i ELSE i * 5000000000 END"),
        "pages": ("BIGINT", "i * 65536"),
        "falling": ("INTEGER", "2000000000 - i * 400000"),
        "date": ("DATE", "DATE '1900-01-01' + i::INTEGER"),
        "decimal": ("DECIMAL(9, 2)", "i / 100"),
        "huge": ("HUGEINT", "i::HUGEINT * 100000000000000000000"),
    }
    columns = ", ".join(f"({value})::{type_} AS {name}_id" for name, (type_, value) in values.items())
    connection.execute(f"CREATE TABLE wide AS SELECT {columns}, 'n' || i AS name FROM range(5000) t(i)")
    for name in values:
        query = f"SELECT {name}_id, name, count(*) FROM wide GROUP BY ALL ORDER BY count(*), {name}_id LIMIT 5"
        check(connection, applied=True, query=query)
    assert [rows for _, _, holds, rows in proofs(connection) if holds] == [5000] * len(values)
    connection.execute("INSERT INTO wide FROM wide WHERE name = 'n4321'")
    for name in values:
        query = f"SELECT {name}_id, name, count(*) FROM wide GROUP BY ALL ORDER BY count(*), {name}_id LIMIT 5"
        check(connection, applied=False, query=query)


def test_nothing_is_proved_where_it_is_switched_off(connection, tmp_path):
    create(connection)
    connection.execute("SET merganser_prove_keys = false")
    check(connection, applied=False)
    connection.execute(f"COPY dim TO '{tmp_path}/dim.parquet'")
    check(connection, applied=False, query=report(f"'{tmp_path}/dim.parquet'"))
    assert proofs(connection) == []
    connection.execute("SET merganser_prove_keys = true")
    check(connection, applied=True)
    connection.execute("SET merganser_prove_keys = false")
    check(connection, applied=False)


def test_a_table_the_statement_writes_is_not_proved(connection):
    create(connection)
    insert = f"INSERT INTO dim SELECT id + 1000, name, note, 1 FROM ({report()})"
    assert decision(connection, insert) == "no_determined_column"
    assert proofs(connection) == []
    connection.execute(insert)
    assert connection.execute("SELECT count(*) FROM dim").fetchall() == [(45,)]
    into_another = f"CREATE TABLE result AS {report()}"
    assert decision(connection, into_another) == "applied"
    wanted = plain(connection, report())
    connection.execute(into_another)
    assert connection.execute("FROM result").fetchall() == wanted


def test_a_declared_key_is_not_proved_too(connection):
    create(connection)
    connection.execute("ALTER TABLE dim ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    check(connection, applied=True)
    assert facts(connection, report(), "key") == ["dim (id) declared"]
    assert proofs(connection) == []


def test_a_chain_of_a_declared_and_a_proved_key(connection):
    create(connection)
    connection.execute("CREATE TABLE region AS SELECT i AS id, 'region ' || i AS title FROM range(7) t(i)")
    connection.execute("ALTER TABLE dim ADD PRIMARY KEY (id) NOT ENFORCED RELY")
    query = """SELECT d.id, d.name, r.title, sum(price)
        FROM dim d JOIN sale ON dim_id = d.id JOIN region r ON r.id = weight - 1
        GROUP BY ALL ORDER BY sum(price) DESC, d.id LIMIT 5"""
    connection.execute("ALTER TABLE dim ALTER weight TYPE BIGINT")
    rows = connection.execute(query).fetchall()
    assert rows == plain(connection, query)
    assert decision(connection, query) == "applied"


def test_the_proof_has_to_be_worth_it(connection):
    """By cost: a proof is taken where much is gained, and not where its table is most of what is read."""
    connection.execute(f"CREATE TABLE dim AS {ROWS.format(1000)}")
    connection.execute(
        "CREATE TABLE sale AS SELECT (i % 1000)::INTEGER AS dim_id, i % 13 AS price FROM range(200000) t(i)"
    )
    check(connection, applied=True)
    assert len(proofs(connection)) == 1
    connection.execute(
        "CREATE TABLE flat AS SELECT i // 2 AS a_id, i % 2 AS b_id, 'n' || i AS name, 'o' || i AS other, 'p' || i AS "
        "third FROM range(30000) t(i)"
    )
    query = (
        "SELECT a_id, b_id, name, other, third, count(*) FROM flat GROUP BY ALL ORDER BY count(*), a_id, b_id LIMIT 5"
    )
    assert decision(connection, query) == "proof_not_worth_it"
    assert connection.execute(query).fetchall() == plain(connection, query)
    assert all(columns != ["a_id", "b_id"] for _, columns, _, _ in proofs(connection))


def test_a_proof_can_be_interrupted(connection):
    """Interrupted before it begins, so the first thing it reads is that."""
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute("CREATE TABLE big AS SELECT i AS id, 'n' || i AS name FROM range(3000000) t(i)")
    query = "SELECT id, name, count(*) FROM big GROUP BY ALL ORDER BY count(*), id LIMIT 5"
    stop = threading.Event()

    def interrupt() -> None:
        while not stop.wait(0.001):
            connection.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(duckdb.InterruptException):
            connection.execute(query)
    finally:
        stop.set()
        thread.join()
    assert proofs(connection) == []
    assert connection.execute(query).fetchall() == plain(connection, query)


def test_proofs_of_dropped_tables_are_forgotten(connection):
    create(connection)
    check(connection, applied=True)
    connection.execute("DROP TABLE dim")
    connection.execute("CHECKPOINT")
    assert proofs(connection) == []


def test_an_attached_database(connection, tmp_path):
    connection.execute(f"ATTACH '{tmp_path}/other.db' AS other")
    connection.execute("SET merganser_late_materialization_cost = false")
    connection.execute(f"CREATE TABLE other.dim AS {ROWS.format(40)}")
    create_sales(connection, 40)
    check(connection, applied=True, query=report("other.dim"))
    connection.execute("INSERT INTO other.dim VALUES (3, 'twice', 'wrong', 1000)")
    check(connection, applied=False, query=report("other.dim"))
    connection.execute("DELETE FROM other.dim WHERE name = 'twice'")
    connection.execute("DETACH other")
    connection.execute(f"ATTACH '{tmp_path}/other.db' AS other (READ_ONLY)")
    check(connection, applied=True, query=report("other.dim"))
