"""Random queries over random data, split at random into files: the same rows in stages and without them.

The data is null-heavy and skewed, with empty files, both zeros, NaN and infinities. Values that are summed are integers
or decimals, so that the order of rows cannot change a sum.
"""

import hypothesis
import merganser
import pytest
from hypothesis import strategies as st
from staged import assert_same_rows, cut_everything, most_tasks, rows_or_error

LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])

FLOATS = ("0.0", "-0.0", "'nan'", "'inf'", "'-inf'", "1.5", "-2.25", "NULL", "NULL")
COLUMNS = {"k": "INTEGER", "g": "BIGINT", "x": "DOUBLE", "s": "VARCHAR", "d": "DECIMAL(9,2)"}

values = {
    "k": st.one_of(st.none(), st.just(7), st.integers(-20, 20)),
    "g": st.one_of(st.none(), st.integers(0, 3)),
    "x": st.sampled_from(FLOATS),
    "s": st.one_of(st.none(), st.sampled_from(["", "a", "A", "b", "bb", "Ω"])),
    "d": st.one_of(st.none(), st.integers(-999, 999)),
}
rows = st.lists(st.tuples(*values.values()), max_size=40)
#: Each table is a list of files.
tables = st.lists(rows, min_size=1, max_size=5)


def literal(column: str, value) -> str:
    if value is None:
        return "NULL"
    if column == "s":
        return f"'{value}'"
    return f"{value}::DOUBLE" if column == "x" else str(value / 100 if column == "d" else value)


def write_table(connection, folder, name: str, files: list[list[tuple]]) -> None:
    for number, file in enumerate(files):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE file ({', '.join(f'{c} {t}' for c, t in COLUMNS.items())})")
        if file:
            tuples = [", ".join(map(literal, COLUMNS, row)) for row in file]
            connection.execute(f"INSERT INTO file VALUES {', '.join(f'({row})' for row in tuples)}")
        connection.execute(f"COPY file TO '{folder}/{name}_{number}.parquet' (ROW_GROUP_SIZE 2048)")
    names = ", ".join(f"'{folder}/{name}_{number}.parquet'" for number in range(len(files)))
    connection.execute(f"CREATE OR REPLACE VIEW {name} AS FROM read_parquet([{names}])")


column = st.sampled_from(list(COLUMNS))
aggregate = st.sampled_from(
    [
        "count(*)", "count({0}.x)", "sum({0}.k)", "sum({0}.d)", "avg({0}.d)", "min({0}.s)", "max({0}.x)", "min({0}.x)",
        "count(DISTINCT {0}.s)", "sum(DISTINCT {0}.g)", "count(*) FILTER ({0}.k > 0)", "bool_or({0}.k > 3)",
        "list({0}.k ORDER BY {0}.k NULLS FIRST)", "string_agg({0}.s, '|' ORDER BY {0}.s)", "median({0}.k)",
        "approx_count_distinct({0}.k) >= 0", "max({0}.d, 2)",
    ]
)  # fmt: skip
predicate = st.sampled_from(
    [
        "true", "{0}.k > 0", "{0}.g IS NOT NULL", "{0}.x = 0", "{0}.x <> 'nan'::DOUBLE", "{0}.s LIKE 'b%'", "false",
        "{0}.k IN (SELECT k FROM b)", "{0}.k NOT IN (SELECT g FROM b)", "{0}.k NOT IN (SELECT k FROM b WHERE k > 0)",
        "EXISTS (SELECT 1 FROM b z WHERE z.g = {0}.g AND z.k > {0}.k)",
        "NOT EXISTS (SELECT 1 FROM b z WHERE z.x = {0}.x)",
        "{0}.d > (SELECT avg(d) FROM b)", "{0}.k >= ALL (SELECT g FROM b WHERE g < 2)",
    ]
)  # fmt: skip
join_kind = st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
join_condition = st.sampled_from(
    [
        "a.k = b.k", "a.x = b.x", "a.s = b.s AND a.g = b.g", "a.k IS NOT DISTINCT FROM b.k", "a.g = b.k", "a.d = b.k",
        "a.k = b.k AND a.d < b.d", "a.k < b.g", "a.s = b.s OR a.g = b.g", "upper(a.s) = upper(b.s)",
    ]
)  # fmt: skip


@st.composite
def relations(draw) -> tuple[str, list[str]]:
    """A FROM clause and the names of the tables whose columns it delivers."""
    shape = draw(st.sampled_from(["a", "a", "join", "join", "union", "subquery"]))
    if shape == "a":
        return "a", ["a"]
    if shape == "join":
        kind = draw(join_kind)
        names = ["a"] if kind in ("SEMI JOIN", "ANTI JOIN") else ["a", "b"]
        return f"a {kind} b ON {draw(join_condition)}", names
    if shape == "union":
        operation = draw(st.sampled_from(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]))
        columns = ", ".join(COLUMNS)
        return f"(SELECT {columns} FROM a {operation} SELECT {columns} FROM b) u", ["u"]
    aggregates = "g AS k, count(*) AS g, max(x) AS x, min(s) AS s, sum(d)::DECIMAL(9,2) AS d"
    return f"(SELECT {aggregates} FROM a GROUP BY {draw(column)}, g) u", ["u"]


@st.composite
def queries(draw) -> str:
    source, names = draw(relations())
    where = draw(predicate).format(names[0])
    qualified = st.builds("{}.{}".format, st.sampled_from(names), column)
    shape = draw(st.sampled_from(["rows", "group", "group", "rollup", "total", "distinct", "window", "top", "sorted"]))
    keys = draw(st.lists(qualified, min_size=1, max_size=2, unique=True))
    aggregates = ", ".join(item.format(names[-1]) for item in draw(st.lists(aggregate, min_size=1, max_size=3)))
    everything = ", ".join(f"{name}.{c}" for name in names for c in COLUMNS)
    ordered = ", ".join(f"{item} {draw(st.sampled_from(['ASC', 'DESC NULLS FIRST']))}" for item in keys)
    tail = f"FROM {source} WHERE {where}"
    if shape == "rows":
        return f"SELECT {everything} {tail}"
    if shape == "group":
        having = draw(st.sampled_from(["", " HAVING count(*) > 1"]))
        return f"SELECT {', '.join(keys)}, {aggregates} {tail} GROUP BY {', '.join(keys)}{having}"
    if shape == "rollup":
        sets = draw(st.sampled_from(["ROLLUP", "CUBE"]))
        return f"SELECT {', '.join(keys)}, grouping({keys[0]}), {aggregates} {tail} GROUP BY {sets} ({', '.join(keys)})"
    if shape == "total":
        return f"SELECT {aggregates} {tail}"
    if shape == "distinct":
        return f"SELECT DISTINCT {', '.join(keys)} {tail}"
    if shape == "window":
        over = f"PARTITION BY {keys[0]} ORDER BY {everything}"
        return f"SELECT {everything}, rank() OVER ({over}), count(*) OVER (PARTITION BY {keys[0]}) {tail}"
    if shape == "top":
        return f"SELECT {ordered.split(' ')[0]} {tail} ORDER BY {ordered} LIMIT 7 OFFSET 2"
    return f"SELECT {everything} {tail} ORDER BY {ordered}, {everything}"


@pytest.fixture(scope="module")
def connection():
    with merganser.connect() as connection:
        cut_everything(connection)
        yield connection


@LANES
def test_random_queries(connection, tmp_path_factory, lane):
    folder = tmp_path_factory.mktemp("random")
    seen = {"all": 0, "in several tasks": 0}

    several = st.lists(queries(), min_size=4, max_size=4)
    limits = st.tuples(st.sampled_from([0, 1000, 64 << 20]), st.sampled_from([0, 400]))

    @hypothesis.given(tables, tables, several, limits)
    @hypothesis.settings(max_examples=hypothesis.settings().max_examples // 4)
    def compare(left, right, texts, limits):
        connection.execute("SET merganser_runner = ''")
        connection.execute(f"SET merganser_broadcast_max_bytes = {limits[0]}")
        connection.execute(f"SET merganser_task_bytes = {limits[1]}")
        write_table(connection, folder, "a", left)
        write_table(connection, folder, "b", right)
        for query in texts:
            connection.execute("SET merganser_runner = ''")
            expected = rows_or_error(connection, query)
            hypothesis.note(query)
            seen["all"] += 1
            if not isinstance(expected, str):
                seen["in several tasks"] += most_tasks(connection, query) > 1
            connection.execute("SET merganser_runner = 'local'")
            actual = rows_or_error(connection, query)
            if isinstance(expected, str) or isinstance(actual, str):
                assert actual == expected
            else:
                assert_same_rows(actual, expected, ordered=False)

    compare()
    assert seen["in several tasks"] * 3 > seen["all"]
