"""Thousands of files: a task has a list of those of its slice, in a variable; few files are in its SQL."""

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
def runner_gets():
    """The plan document of each query and the statements of its first stage; the runner ends it with an error."""
    received: list[tuple[str, str]] = []
    extension = merganser.extension_path()

    def submit(document: bytes, number: int) -> None:
        tasks = native.stage_tasks(extension, number, 1)
        received.append((document.decode(), json.dumps(tasks)))
        native.query_ended(extension, number, {"error": {"type": "Invalid Input", "message": "seen"}})

    native.register_runner(extension, "listens", submit)
    return received


def listed(folder) -> str:
    return "[" + ", ".join(f"'{folder}/p={number}/data_0.parquet'" for number in range(FILES)) + "]"


QUERY = "SELECT i % 10 AS g, count(*), sum(i), max(s) FROM read_parquet({}) GROUP BY g"


@pytest.mark.parametrize("source", ["glob", "list"])
def test_rows_are_right(connection, many, source):
    files = f"'{many}/p=*/*.parquet'" if source == "glob" else listed(many)
    assert check(connection, QUERY.format(files)) == 4


def test_a_task_has_its_own_files(connection, many, runner_gets):
    """Not in its SQL, and no others; each file goes to one task, in the order of the scan."""
    connection.execute("SET merganser_runner = 'listens'")
    for files in (f"'{many}/p=*/*.parquet'", listed(many)):
        expected = connection.execute(f"SELECT list(file ORDER BY 1) FROM glob('{many}/p=*/*.parquet')").fetchone()[0]
        with pytest.raises(Exception, match="seen"):
            connection.execute(QUERY.format(files)).fetchall()
        document, decision = runner_gets.pop()
        tasks = json.loads(decision)
        assert len(document) < 20_000 and "/p=" not in document
        assert len(tasks["tasks"]) == 4 and len(tasks["lists"]) == 4
        assert "/p=" not in json.dumps(tasks["tasks"]) and len(json.dumps(tasks["tasks"])) < 10_000
        lists = [[file["filename"] for file in files] for task in tasks["lists"] for files in task.values()]
        assert [len(files) for files in lists] == [FILES / 4] * 4
        paths = [path for files in lists for path in files]
        assert paths == (paths_in_order(files) if files.startswith("[") else expected)


def paths_in_order(files: str) -> list[str]:
    return [path.strip("'") for path in files.strip("[]").split(", ")]


def test_partitions_are_pruned_before_the_list_is_made(connection, many, runner_gets):
    connection.execute("SET merganser_runner = 'listens'")
    with pytest.raises(Exception, match="seen"):
        connection.execute(f"SELECT sum(i) FROM read_parquet('{many}/p=*/*.parquet') WHERE p < 1000").fetchall()
    lists = json.loads(runner_gets.pop()[1])["lists"]
    assert sum(len(files) for task in lists for files in task.values()) == 1000
    check(connection, f"SELECT s, sum(i) FROM read_parquet('{many}/p=*/*.parquet') WHERE p < 100 GROUP BY s")


def test_few_files_stay_in_sql(connection, many, runner_gets):
    connection.execute("SET merganser_runner = 'listens'")
    with pytest.raises(Exception, match="seen"):
        connection.execute(f"SELECT sum(i) FROM read_parquet('{many}/p=1?/*.parquet')").fetchall()
    tasks = json.loads(runner_gets.pop()[1])
    assert tasks["lists"] == [{}] * 4
    texts = [json.dumps(task) for task in tasks["tasks"]]
    for number in range(10, 20):
        assert sum(f"/p={number}/data_0.parquet" in text for text in texts) == 1


def test_columns_are_those_of_all_files_in_every_task(connection, many):
    files = f"['{many}/first.parquet', " + listed(many)[1:]
    assert check(connection, f"SELECT s, count(*), sum(i) FROM read_parquet({files}) GROUP BY s") == 4


def test_text_files(connection, tmp_path):
    for number in range(100):
        (tmp_path / f"f{number:03}.csv").write_text(f"a,b\n{number},x\n{number},y\n")
    for files in (f"'{tmp_path}/*.csv'", "[" + ", ".join(f"'{tmp_path}/f{n:03}.csv'" for n in range(100)) + "]"):
        assert check(connection, f"SELECT b, count(*), sum(a) FROM read_csv({files}) GROUP BY b") == 4
