"""Thousands of files: the list is written once for the query; the SQL of a task has its slice of it by position."""

import json

import merganser
import pytest
from merganser import native
from staged import check, cut_everything

FILES = 3000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """3000 files of two rows; the first has the columns the scan has."""
    folder = tmp_path_factory.mktemp("many")
    with merganser.connect() as connection:
        connection.execute(f"COPY (SELECT 0 AS i, 'only text' AS s) TO '{folder}/first.parquet'")
        connection.execute(
            f"""COPY (SELECT i // 2 AS i, 'text' AS s, i // 2 AS p FROM range({2 * FILES}) r(i))
                TO '{folder}' (FORMAT parquet, PARTITION_BY (p), OVERWRITE_OR_IGNORE)"""
        )
    return folder


@pytest.fixture
def connection():
    with merganser.connect() as connection:
        cut_everything(connection)
        yield connection


@pytest.fixture
def plan_documents():
    """What a runner gets; it ends each query with an error."""
    received: list[str] = []

    def submit(document: bytes, number: int) -> None:
        received.append(document.decode())
        native.query_ended(merganser.extension_path(), number, {"error": {"type": "Invalid Input", "message": "seen"}})

    native.register_runner(merganser.extension_path(), "listens", submit)
    return received


def listed(folder) -> str:
    return "[" + ", ".join(f"'{folder}/p={number}/data_0.parquet'" for number in range(FILES)) + "]"


QUERY = "SELECT i % 10 AS g, count(*), sum(i), max(s) FROM read_parquet({}) GROUP BY g"


@pytest.mark.parametrize("source", ["glob", "list"])
def test_rows_are_right(connection, many, source):
    files = f"'{many}/p=*/*.parquet'" if source == "glob" else listed(many)
    assert check(connection, QUERY.format(files)) == 4


def test_the_list_is_written_once(connection, many, plan_documents):
    connection.execute("SET merganser_runner = 'listens'")
    for files in (f"'{many}/p=*/*.parquet'", listed(many)):
        with pytest.raises(Exception, match="seen"):
            connection.execute(QUERY.format(files)).fetchall()
        document = plan_documents.pop()
        for number in (0, 1234, FILES - 1):
            assert document.count(f"/p={number}/data_0.parquet") == 1
        plan = json.loads(document)
        paths = sum(len(path) + 4 for paths in plan["lists"].values() for path in paths)
        assert len(document) < paths + 20_000


def test_partitions_are_pruned_before_the_list_is_made(connection, many, plan_documents):
    connection.execute("SET merganser_runner = 'listens'")
    with pytest.raises(Exception, match="seen"):
        connection.execute(f"SELECT sum(i) FROM read_parquet('{many}/p=*/*.parquet') WHERE p < 100").fetchall()
    [paths] = json.loads(plan_documents.pop())["lists"].values()
    assert len(paths) == 100
    check(connection, f"SELECT s, sum(i) FROM read_parquet('{many}/p=*/*.parquet') WHERE p < 100 GROUP BY s")


def test_few_files_stay_in_sql(connection, many, plan_documents):
    connection.execute("SET merganser_runner = 'listens'")
    with pytest.raises(Exception, match="seen"):
        connection.execute(f"SELECT sum(i) FROM read_parquet('{many}/p=1?/*.parquet')").fetchall()
    document = plan_documents.pop()
    assert json.loads(document)["lists"] == {}
    assert "/p=13/data_0.parquet" in document


def test_columns_are_those_of_all_files_in_every_task(connection, many):
    files = f"['{many}/first.parquet', " + listed(many)[1:]
    assert check(connection, f"SELECT s, count(*), sum(i) FROM read_parquet({files}) GROUP BY s") == 4


def test_text_files(connection, tmp_path):
    for number in range(100):
        (tmp_path / f"f{number:03}.csv").write_text(f"a,b\n{number},x\n{number},y\n")
    for files in (f"'{tmp_path}/*.csv'", "[" + ", ".join(f"'{tmp_path}/f{n:03}.csv'" for n in range(100)) + "]"):
        assert check(connection, f"SELECT b, count(*), sum(a) FROM read_csv({files}) GROUP BY b") == 4
