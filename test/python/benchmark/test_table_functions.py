"""The benchmark and the demo of table functions compare the same rows, run by the groupings that their names say."""

import io

import demo_table_functions
import pytest
from make_sensor_data import make_sensor_data
from rich.console import Console

import table_functions

REGIONS = 4
DECISIONS = """
    SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision' AND item = 'grouping'"""
GROUPINGS = {
    "session, region-local": ["region_local"],
    "nested, region-local": ["region_local", "fused"],
    "variation over session, region-local": ["region_local", "fused"],
    "aggregate over session, region-local": ["region_local"],
    "session, each region sorted": ["region_local"],
    "session, hashed, shuffled rows": ["hashed"],
}


@pytest.fixture(scope="module")
def folder():
    result = make_sensor_data(20_000, 100, REGIONS)
    table_functions.shuffle(result, REGIONS)
    return result


def test_calls_and_window_functions_give_equal_rows(folder, capsys):
    table_functions.compare_rows(folder, threads=2)
    assert capsys.readouterr().out.count("20000 rows equal") == len(table_functions.EQUAL)


@pytest.mark.parametrize("case", GROUPINGS)
def test_cases_run_as_their_names_say(folder, case):
    with table_functions.connect(folder, threads=2) as connection:
        table_functions.declare(connection, "unsorted" if "each region sorted" in case else "sensor")
        found = connection.execute(DECISIONS, [table_functions.CASES[case]]).fetchall()
        assert [name for (name,) in found] == GROUPINGS[case]


def test_the_demo_shows_both_sides_and_why():
    shown = io.StringIO()
    demo_table_functions.show(Console(file=shown, width=100), 0.005)
    text = shown.getvalue()
    assert text.count("20,000 rows, equal") == 2
    assert "sorted by [tag1, tag2,\n" in text or "sorted by [tag1, tag2, tag3, time]" in text
    assert "fused: same partition set {tag1, tag2, tag3} as SESSION." in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_the_demo_says_so_where_rows_differ(monkeypatch):
    monkeypatch.setattr(
        demo_table_functions, "ONE_IN_WINDOWS", demo_table_functions.WINDOWS.format(gap=2, table="sensor")
    )
    with pytest.raises(SystemExit, match="different rows"):
        demo_table_functions.show(Console(quiet=True), 0.005)
