"""An error of a task is worded as DuckDB words it for the query: its columns, its place, none of the SQL of a stage."""

import re

import duckdb
import merganser
import pytest
from staged import cut_everything, most_tasks

SAME = """
INSERT INTO times SELECT number FROM r
INSERT INTO times SELECT word FROM r
SELECT word::INT FROM r
SELECT number::UTINYINT FROM r
SELECT l::INT[3] FROM r
SELECT hex::BLOB FROM r
SELECT largest + 1 FROM r
SELECT largest * largest FROM r
SELECT largest::INT FROM r
SELECT number // zero FROM r
SELECT number % zero FROM r
SELECT sum(number % zero) FROM r GROUP BY word
SELECT error('x' || word) FROM r
SELECT regexp_matches(word, word || '(') FROM r
SELECT strptime(word, '%Y') FROM r
SELECT word::DATE FROM r
SELECT word::TIMESTAMPTZ FROM r
SELECT word::INTERVAL FROM r
SELECT word::UUID FROM r
SELECT word::BOOLEAN FROM r
SELECT word::JSON FROM r
SELECT word::INT[] FROM r
SELECT CAST(word AS ENUM ('a', 'b')) FROM r
SELECT ('a' || number)::TIMESTAMP FROM r
SELECT number::DECIMAL(3, 1) FROM r
SELECT array_value(number)::INT[2] FROM r
SELECT make_date(number, number::INT, number) FROM r
SELECT chr(-number::INT) FROM r
SELECT json_extract(word, '$.a') FROM r
SELECT date_part(word, DATE '2020-01-01') FROM r
SELECT sum(word::INT) FROM r GROUP BY number
SELECT max(a.word::UUID) FROM r a JOIN r b ON a.number <> b.zero
SELECT count(*) FROM r WHERE word::INT > 3
SELECT (SELECT unnest([number, 2])) FROM r
"""
#: Several columns, or several divisions: what failed cannot be told apart.
SHORTER = """
SELECT word::INT, hex::INT FROM r
SELECT number // zero, number % zero FROM r
"""
OF_STAGES = re.compile(r"\b(c\d|r\d|column\d|merganser_\w+|COPY \(|exchange)\b")


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errors")
    with merganser.connect() as connection:
        connection.execute("CREATE TABLE times (t TIMESTAMP)")
        connection.execute(f"""
            COPY (SELECT 'hello' AS word, 1000 AS number, [1] AS l, '\\x' AS hex, 0 AS zero,
                         9223372036854775807 AS largest FROM range(200)) TO '{folder}/r.parquet' (ROW_GROUP_SIZE 64)""")
        connection.execute(f"CREATE VIEW r AS FROM '{folder}/r.parquet'")
        cut_everything(connection)
        yield connection


def error_of(connection, query: str, runner: str) -> tuple[type, str]:
    connection.execute(f"SET merganser_runner = '{runner}'")
    try:
        with pytest.raises(duckdb.Error) as caught:
            connection.execute(query).fetchall()
    finally:
        connection.execute("SET merganser_runner = ''")
    return type(caught.value), str(caught.value).rstrip()


@pytest.mark.parametrize("query", SAME.strip().splitlines())
def test_the_same_words_at_the_same_place(connection, query):
    select = query[query.index("SELECT") :]
    assert most_tasks(connection, select) == 4
    assert error_of(connection, query, "local") == error_of(connection, query, "")


@pytest.mark.parametrize("query", SHORTER.strip().splitlines())
def test_fewer_words(connection, query):
    assert most_tasks(connection, query) == 4
    kind, text = error_of(connection, query, "local")
    wanted, longer = error_of(connection, query, "")
    assert kind is wanted
    assert longer.startswith(text.partition(". Use")[0])
    assert not OF_STAGES.search(text)


def test_rows_of_a_file_that_cannot_be_read(connection, tmp_path):
    for part in range(3):
        (tmp_path / f"r_{part}.csv").write_text("a\n1\n2\nx\n")
    query = f"SELECT sum(a) FROM read_csv('{tmp_path}/r_*.csv', columns = {{'a': 'INTEGER'}}, header = true)"
    assert most_tasks(connection, query) == 4
    assert shape(error_of(connection, query, "local")) == shape(error_of(connection, query, ""))


def shape(error: tuple[type, str]) -> tuple[type, str]:
    return error[0], re.sub(r"r_\d\.csv", "r.csv", error[1])
