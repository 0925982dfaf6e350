"""Random tables whose keys hold or almost hold: what merganser_advise says of the data is so, and taking it is safe."""

import re
from collections import Counter
from dataclasses import dataclass

import duckdb
import merganser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
RANDOM = settings(max_examples=40 if settings.default.derandomize else settings.default.max_examples // 10)


@dataclass(frozen=True)
class Case:
    #: Values of the dimension's columns a and b; c is wide.
    keys: list[tuple[int | None, int | None]]
    #: Rows of the fact, which point to a and b.
    facts: list[tuple[int, int]]
    joined: str
    grouped: str
    limit: int


NUMBERS = st.integers(0, 12)
CASES = st.builds(
    Case,
    keys=st.lists(st.tuples(st.one_of(NUMBERS, st.none()), st.integers(0, 3)), min_size=1, max_size=14)
    | st.lists(st.tuples(NUMBERS, st.integers(0, 3)), min_size=1, max_size=14, unique=True)
    | st.lists(st.tuples(NUMBERS, st.integers(0, 3)), min_size=1, max_size=14, unique_by=lambda row: row[0]),
    facts=st.lists(st.tuples(NUMBERS, st.integers(0, 3)), min_size=1, max_size=30),
    joined=st.sampled_from(["f.a_id = d.a_id", "f.a_id = d.a_id AND f.b_id = d.b_id"]),
    grouped=st.sampled_from(["d.a_id", "d.a_id, d.b_id", "f.a_id, f.b_id", "d.b_id, f.a_id"]),
    limit=st.integers(1, 20),
)


def query_of(case: Case) -> str:
    """Where a key of d determines c, the group columns before c order the rows totally."""
    return f"""SELECT {case.grouped}, d.c, count(*) AS n FROM f JOIN d ON {case.joined}
               GROUP BY {case.grouped}, d.c ORDER BY n DESC, {case.grouped} LIMIT {case.limit}"""


def is_key(connection: duckdb.DuckDBPyConnection, columns: str) -> bool:
    """By plain SQL: no value twice, none NULL."""
    rows = connection.execute(f"SELECT {columns} FROM d").fetchall()
    return len(set(rows)) == len(rows) and all(None not in row for row in rows)


def check(case: Case) -> list[bool]:
    """Whether each key of d that was looked at holds."""
    outcomes = []
    with merganser.connect() as connection:
        connection.execute("SET merganser_late_materialization_cost = false; SET merganser_prove_keys = false")
        connection.execute("CREATE TABLE d (a_id INTEGER, b_id INTEGER, c VARCHAR)")
        connection.execute("CREATE TABLE f (a_id INTEGER, b_id INTEGER)")
        connection.executemany("INSERT INTO d VALUES ($1, $2, concat('text of ', $1, ' ', $2))", case.keys)
        connection.executemany("INSERT INTO f VALUES (?, ?)", case.facts)
        query = query_of(case)
        expected = connection.execute(query).fetchall()
        for advice, sql, holds in connection.execute(
            "SELECT advice, sql, holds FROM merganser_advise(?, verify := true) WHERE holds IS NOT NULL", [query]
        ).fetchall():
            named = re.search(r"\bd \(([\w, ]+)\)", advice)
            if named:
                assert is_key(connection, named[1]) == holds, advice
                outcomes.append(holds)
            if holds:
                connection.execute(f"BEGIN; {sql}")
                decisions = connection.execute(
                    "SELECT text FROM merganser_explain(?) WHERE section = 'decision'", [query]
                ).fetchall()
                assert decisions[0][0].startswith("applied"), (sql, decisions)
                assert connection.execute(query).fetchall() == expected
                connection.execute("ROLLBACK")
    return outcomes


@LANES
def test_advice_is_true_and_safe(lane):
    outcomes = Counter()

    @RANDOM
    @given(case=CASES)
    def run(case):
        outcomes.update(check(case))

    run()
    assert outcomes[True] > 5 and outcomes[False] > 5
