"""Sources that workers read themselves, and those the session sends."""

import duckdb
import merganser
import pandas
import pyarrow
import pytest
from merganser.ray import query as query_module

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("default")]


def inputs(session, query: str) -> str:
    return session.execute("SELECT inputs FROM merganser_stages($1)", [query]).fetchall()[0][0]


@pytest.fixture
def tasks(monkeypatch) -> list:
    """What is sent to workers."""
    sent: list = []
    message = query_module.Query.message

    def keep(query, *arguments):
        sent.append(message(query, *arguments))
        return sent[-1]

    monkeypatch.setattr(query_module.Query, "message", keep)
    return sent


def test_many_files(session, tasks, within, tmp_path):
    session.execute("SET merganser_runner = ''")
    session.execute(
        f"COPY (SELECT i, i AS p FROM range(300) r(i)) TO '{tmp_path}/many' (FORMAT parquet, PARTITION_BY (p))"
    )
    session.execute("SET merganser_runner = 'ray'")
    files = ", ".join(f"'{path}'" for path in sorted((tmp_path / "many").glob("*/*.parquet")))
    assert within(session.execute(f"SELECT count(*), sum(p) FROM read_parquet([{files}])").fetchall) == [(300, 44850)]
    scans = [task for task in tasks if task.stage == 1]
    assert len(scans) == 4
    for task in scans:
        text = "".join(part for part in task.sql if isinstance(part, str))
        assert "getvariable(" in text and len(text) < 1500


DATABASE_ROWS = "SELECT i, i % 5 AS g FROM range(400000) r(i)"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "other.duckdb"
    with duckdb.connect(path) as other:
        other.execute(f"CREATE TABLE t AS {DATABASE_ROWS}")
    return path


def test_workers_attach_databases_for_reading(session, database, tasks, within):
    session.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    query = "SELECT g, count(*), sum(i) FROM other.t GROUP BY g ORDER BY g LIMIT 9"
    assert inputs(session, query) == "a table in slices"
    expected = [(g, 80000, 15999800000 + g * 80000) for g in range(5)]
    for _ in range(2):
        assert within(session.execute(query).fetchall) == expected
    scans = [task for task in tasks if task.databases and task.stage == 1]
    assert len(scans) == 8
    assert all("rowid BETWEEN" in "".join(p for p in task.sql if isinstance(p, str)) for task in scans)


def test_another_version_of_the_database_is_refused(session, database, within, monkeypatch):
    session.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    start = query_module.Query.start

    def start_after_a_change(query) -> None:
        start(query)
        database.touch()

    monkeypatch.setattr(query_module.Query, "start", start_after_a_change)
    with pytest.raises(duckdb.IOException, match="sees another version of the attached database"):
        within(session.execute("SELECT sum(i) FROM other.t").fetchall)


def test_without_shared_storage_tables_are_sent(session, database, within):
    session.execute("SET merganser_exchange_shared = false")
    session.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    query = "SELECT count(*), sum(i) FROM other.t"
    assert inputs(session, query) == "rows sent by the session"
    assert within(session.execute(query).fetchall) == [(400000, 79999800000)]


@pytest.mark.parametrize("kind", ["pandas", "arrow"])
def test_objects_of_the_process(session, kind):
    columns = {"i": list(range(5000)), "s": ["x" + str(i % 7) for i in range(5000)]}
    rows = pandas.DataFrame(columns) if kind == "pandas" else pyarrow.table(columns)
    assert len(rows) == 5000
    query = "SELECT s, count(*), sum(i) FROM rows GROUP BY s ORDER BY s LIMIT 3"
    plan = session.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert "Staged Query" in plan
    expected = [("x0", 715, 1786785), ("x1", 715, 1787500), ("x2", 714, 1783215)]
    assert session.execute(query).fetchall() == expected
    assert merganser.last_query()["runner"] == "ray"
    session.execute("SET merganser_send_max_bytes = 1000")
    plan = session.execute(f"EXPLAIN {query}").fetchall()[0][1]
    assert "Staged Query" not in plan
    assert session.execute(query).fetchall() == expected


def reasons(session, query: str) -> str:
    return "; ".join(row[0] for row in session.execute("SELECT reason FROM merganser_stages($1)", [query]).fetchall())


def test_a_function_of_this_process(session, within):
    session.create_function("half", lambda number: number // 2, ["BIGINT"], "BIGINT", type="native")
    query = "SELECT sum(half(i)) FROM t"
    assert within(session.execute(query).fetchall) == [(sum(i // 2 for i in range(10000)),)]
    assert "the function half was registered in this process only" in reasons(session, query)
    assert "registered in this process" not in reasons(session, "SELECT sum(i // 2) FROM t")


def test_the_time_zone_of_this_machine(session, tasks, within):
    (zone,) = session.execute("SELECT current_setting('TimeZone')").fetchone()
    query = "SELECT count(*), max(strftime(make_timestamptz(i), '%H:%M')) FROM t"
    session.execute("SET merganser_runner = ''")
    expected = session.execute(query).fetchall()
    session.execute("SET merganser_runner = 'ray'")
    assert within(session.execute(query).fetchall) == expected
    assert tasks and all(task.settings["TimeZone"] == f"'{zone}'" for task in tasks)


@pytest.fixture
def long_texts(session):
    """A table of the session with more bytes than DuckDB expects, and than may be sent."""
    session.execute("CREATE TABLE long AS SELECT i, repeat('x', 10000) || i AS s FROM range(5000) r(i)")
    session.execute("SET merganser_send_max_bytes = 1000000")
    return "SELECT g, count(*), max(s[9990:]) FROM t JOIN long USING (i) GROUP BY g ORDER BY g"


def test_what_may_not_be_sent_stays_in_this_process(session, long_texts, tasks, within, tmp_path):
    """Tasks over it, and over files, run here; files of a COPY to a folder are written here, too."""
    expected = [(0, 1667, "x" * 11 + "999"), (1, 1667, "x" * 11 + "997"), (2, 1666, "x" * 11 + "998")]
    (tasks_of_first,) = session.execute("SELECT tasks FROM merganser_stages($1)", [long_texts]).fetchone()
    assert tasks_of_first == 4
    tasks.clear()  # of CREATE TABLE
    assert within(session.execute(long_texts).fetchall) == expected
    report = merganser.last_query()
    assert report["runner"] == "local"
    assert "the tasks ran in this process: a scan of the session has 5" in str(report["stages"])
    statement = f"COPY ({long_texts}) TO '{tmp_path}/out' (FORMAT parquet, PARTITION_BY (g))"
    assert within(session.execute(statement).fetchall) == [(3,)]
    assert merganser.last_query()["runner"] == "local"
    assert not tasks
    written = duckdb.execute(f"SELECT count(*), sum(g) FROM '{tmp_path}/out/*/*.parquet'").fetchall()
    assert written == [(3, 3)]
    session.execute("RESET merganser_send_max_bytes")
    assert within(session.execute(long_texts).fetchall) == expected
    assert merganser.last_query()["runner"] == "ray"


def test_what_may_not_be_sent_beside_a_database_that_workers_attach(session, long_texts, database, within):
    session.execute(f"ATTACH '{database}' AS other (READ_ONLY)")
    query = "SELECT t.g, count(*), max(s[9990:]) FROM other.t JOIN long USING (i) GROUP BY ALL"
    with pytest.raises(duckdb.InvalidInputException, match="more than merganser_send_max_bytes .*DuckDB alone"):
        within(session.execute(query).fetchall)
