"""How far late materialisation reaches: TPC-H, TPC-DS and the shapes of `shapes/`, by what is known of keys.

Each file of `shapes/` has queries in the form one kind of tool writes them, over the shop of `data.sql`:
    -- shape: <name>
    -- wide: yes      whether a key among the group columns, or of the rows shown, determines a wide column
    <query>;
A shape counts as applied where some decision about it is. Its rows must be those of the rule switched off. The test
prints what was decided, by tool and by reason, and asserts how many it is at least; whoever widens the rule raises it.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import merganser
import pytest
from tpc_declarations import (
    TPCDS_PRIMARY_KEYS,
    TPCH_FOREIGN_KEYS,
    TPCH_PRIMARY_KEYS,
    foreign_key_statements,
    primary_key_statements,
    tpcds_foreign_keys,
)

HERE = Path(__file__).parent
SHAPE = re.compile(r"^-- shape: (?P<name>.*)\n-- wide: (?P<wide>yes|no)\n(?P<sql>[^;]*);$", re.MULTILINE)
#: What is known of keys: nothing; nothing, but they may be proved; what the tables' owner declares.
KNOWN = ("nothing", "proved", "declared")
#: The least number of queries the rule applies to.
LEAST = {
    "shapes": {"nothing": 1, "proved": 54, "declared": 53},
    "TPC-H": {"nothing": 0, "proved": 3, "declared": 3},
    "TPC-DS": {"nothing": 4, "proved": 19, "declared": 10},
}


@dataclass(frozen=True)
class Shape:
    tool: str
    name: str
    wide: bool
    sql: str


def all_shapes() -> list[Shape]:
    shapes = []
    for path in sorted((HERE / "shapes").glob("*.sql")):
        text = path.read_text()
        found = [Shape(path.stem, m["name"], m["wide"] == "yes", m["sql"].strip()) for m in SHAPE.finditer(text)]
        assert len(found) == text.count("-- shape:"), f"{path.name}: a shape that is not in the form above"
        shapes += found
    return shapes


SHAPES = all_shapes()


def set_up(connection: duckdb.DuckDBPyConnection, known: str) -> None:
    connection.execute(f"SET merganser_prove_keys = {known == 'proved'}")
    connection.execute("SET merganser_late_materialization_cost = false")


def shop(known: str) -> duckdb.DuckDBPyConnection:
    connection = merganser.connect()
    connection.execute((HERE / "data.sql").read_text())
    if known == "declared":
        connection.execute((HERE / "keys.sql").read_text())
    set_up(connection, known)
    return connection


@pytest.fixture(scope="module", params=KNOWN)
def known(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def asked(known: str) -> Iterator[duckdb.DuckDBPyConnection]:
    with shop(known) as connection:
        yield connection


def decision(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """applied, the reasons against it, or that no rule looked at the query."""
    reasons = connection.execute(
        "SELECT split_part(text, ':', 1) FROM merganser_explain(?) "
        "WHERE section = 'decision' AND item = 'late_materialization'",
        [query],
    ).fetchall()
    codes = {code for (code,) in reasons}
    return "applied" if "applied" in codes else " and ".join(sorted(codes)) or "not looked at"


def rows_of(connection: duckdb.DuckDBPyConnection, query: str, rule: bool) -> list[tuple]:
    """In SQL's order where the query asks for one."""
    connection.execute(f"SET merganser_late_materialization = {rule}")
    rows = connection.execute(query).fetchall()
    tree = json.loads(connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()[0])
    modifiers = [modifier["type"] for modifier in tree["statements"][0]["node"]["modifiers"]]
    return rows if "ORDER_MODIFIER" in modifiers else sorted(rows, key=repr)


def show(title: str, decisions: list[tuple[str, str]]) -> None:
    """A line for each group and reason, the commonest reason first."""
    print(f"\n{title}")
    for group in dict.fromkeys(group for group, _ in decisions):
        reasons = Counter(reason for g, reason in decisions if g == group)
        print(f"  {group:<18} {reasons['applied']:>3} of {reasons.total():<3}", end="")
        print(", ".join(f"{count} {reason}" for reason, count in reasons.most_common() if reason != "applied"))


def count_applied(decisions: list[tuple[str, str]]) -> int:
    return sum(reason == "applied" for _, reason in decisions)


def test_there_are_enough_shapes():
    assert len(SHAPES) >= 60
    assert len({(shape.tool, shape.name) for shape in SHAPES}) == len(SHAPES)
    assert sum(shape.wide for shape in SHAPES) >= 55


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape.tool}: {shape.name}")
def test_rows_of_a_shape(shape, asked):
    expected = rows_of(asked, shape.sql, rule=False)
    assert rows_of(asked, shape.sql, rule=True) == expected
    assert expected or "uniqueness" in shape.name


def test_reach_of_shapes(asked, known):
    asked.execute("SET merganser_late_materialization = true")
    for shape in SHAPES:
        # what a proof has found is remembered, and EXPLAIN takes none that is long
        asked.execute(shape.sql)
    decided = [(shape, decision(asked, shape.sql)) for shape in SHAPES]
    show(
        f"shapes with a wide determined column, of keys is known: {known}",
        [(shape.tool, reason) for shape, reason in decided if shape.wide],
    )
    for shape, reason in decided:
        print(f"    {shape.tool:<18} {'wide  ' if shape.wide else 'narrow'} {shape.name}: {reason}")
    assert count_applied([(shape.tool, reason) for shape, reason in decided if shape.wide]) >= LEAST["shapes"][known]


def take_advice(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    """Each declaration that is advised makes the rule apply by itself, and keeps the rows. Returns how many it is."""
    connection.execute("SET merganser_late_materialization = true")
    statements = connection.execute(
        "SELECT sql FROM merganser_advise(?, verify := true) WHERE holds", [query]
    ).fetchall()
    expected = rows_of(connection, query, rule=False) if statements else []
    connection.execute("SET merganser_late_materialization = true")
    for (statement,) in statements:
        connection.execute(f"BEGIN; {statement}")
        assert decision(connection, query) == "applied", statement
        assert rows_of(connection, query, rule=True) == expected, statement
        connection.execute("ROLLBACK")
    return len(statements)


def test_advice_is_the_inverse_of_a_decline():
    """What is advised makes the rule apply; and where it would apply with the shop's keys, something is advised."""
    with shop("nothing") as connection, shop("declared") as knowing:
        advised = {}
        for shape in SHAPES:
            if decision(connection, shape.sql) != "applied":
                advised[shape] = take_advice(connection, shape.sql)
                assert advised[shape] or decision(knowing, shape.sql) != "applied", shape
    print(f"\n{sum(advised.values())} declarations advised for {sum(map(bool, advised.values()))} shapes")
    assert sum(advised.values()) >= 20


def test_advice_on_tpch(connection, tpch_parquet, tpch_queries):
    """Nothing is declared, and the tables are files behind views."""
    for table in TPCH_PRIMARY_KEYS:
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{tpch_parquet(0.01) / table}.parquet')")
    set_up(connection, "nothing")
    advised = {number for number, query in tpch_queries.items() if take_advice(connection, query)}
    assert advised >= {3, 10, 18}


@pytest.mark.parametrize("benchmark", ["TPC-H", "TPC-DS"])
def test_reach_of_benchmarks(benchmark, known, connection, request):
    if benchmark == "TPC-H":
        keys, queries = TPCH_PRIMARY_KEYS, request.getfixturevalue("tpch_queries")
        folder = request.getfixturevalue("tpch_parquet")(0.01)
        for table in keys:
            connection.execute(f"CREATE TABLE {table} AS FROM read_parquet('{folder / table}.parquet')")
        foreign_keys = TPCH_FOREIGN_KEYS
    else:
        keys, queries = TPCDS_PRIMARY_KEYS, request.getfixturevalue("tpcds_queries")
        connection.execute(f"ATTACH '{request.getfixturevalue('tpcds_database')(0.01)}' AS source (READ_ONLY)")
        for table in keys:
            connection.execute(f"CREATE TABLE {table} AS FROM source.{table}")
        foreign_keys = tpcds_foreign_keys(
            connection.execute(
                "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = 'memory' ORDER BY ALL"
            ).fetchall()
        )
    statements = primary_key_statements("TABLE", keys) + foreign_key_statements("TABLE", foreign_keys)
    for statement in statements if known == "declared" else []:
        connection.execute(statement)
    set_up(connection, known)
    decided = [(benchmark, decision(connection, query)) for query in queries.values()]
    show(f"{benchmark}, of keys is known: {known}", decided)
    assert count_applied(decided) >= LEAST[benchmark][known]
