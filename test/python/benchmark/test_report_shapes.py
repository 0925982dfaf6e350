"""The shapes that are measured: what stands for them by hand returns the same rows, and so does the rule."""

import duckdb
import merganser
import pytest
import report_shapes
import tpch
from shapes_of_reports import SHAPES, Shape

SCALE = 0.01


def kept(connection: duckdb.DuckDBPyConnection, shape: Shape, query: str) -> list[tuple]:
    connection.execute(shape.measured(query))
    rows = connection.execute(shape.check()).fetchall()
    connection.execute("DROP TABLE result")
    return rows


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_by_hand_returns_the_same_rows(shape, tpch_parquet):
    with duckdb.connect() as plain, merganser.connect() as ours:
        for connection in (plain, ours):
            tpch.create_views(connection, tpch_parquet(SCALE))
        expected = kept(plain, shape, shape.query)
        assert expected[0][0] > 0
        assert kept(plain, shape, shape.by_hand) == expected
        for statement in tpch.key_statements("VIEW", foreign_keys=True):
            ours.execute(statement)
        ours.execute("SET merganser_late_materialization_cost = false")
        assert kept(ours, shape, shape.query) == expected


def test_the_rule_applies_to_what_is_measured(tpch_parquet):
    with merganser.connect() as ours:
        tpch.create_views(ours, tpch_parquet(SCALE))
        for statement in tpch.key_statements("VIEW", foreign_keys=True):
            ours.execute(statement)
        ours.execute("SET merganser_late_materialization_cost = false")
        applied = {
            shape.name
            for shape in SHAPES
            if ours.execute(
                "SELECT count(*) > 0 FROM merganser_explain(?) WHERE section = 'decision' AND text LIKE 'applied%'",
                [shape.query],
            ).fetchone()[0]
        }
        assert applied >= {"limit 20", "one customer"}


def test_names_are_names():
    names = [shape.name for shape in SHAPES]
    assert len(set(names)) == len(names)
    assert set(report_shapes.QUICK) <= set(names)


def test_eight_files_hold_the_tables(tpch_parquet):
    folder = report_shapes.eight_files(SCALE)
    for table in tpch.TABLES:
        assert len(list((folder / table).glob("*.parquet"))) == (1 if table in report_shapes.WHOLE else 8)
        with duckdb.connect() as plain:
            rows = plain.execute(
                f"(FROM '{folder}/{table}/*.parquet' EXCEPT ALL FROM '{tpch_parquet(SCALE)}/{table}.parquet') "
                f"UNION ALL (FROM '{tpch_parquet(SCALE)}/{table}.parquet' EXCEPT ALL FROM '{folder}/{table}/*.parquet')"
            ).fetchall()
        assert rows == []
