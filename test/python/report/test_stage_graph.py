"""The drawing of stages: nothing overlaps, exchanges lead to the right, and the same plan gives the same picture."""

import re
from itertools import combinations

import merganser
import pytest
from merganser.query_report import quantities
from merganser.query_report.document import Document
from merganser.query_report.page import curve
from merganser.query_report.planned import Operator, Plans, Stage, Stages, stages_of
from merganser.query_report.stage_graph import stage_graph
from merganser.query_report.stage_tree import read_by, stage_tree
from merganser.query_report.surroundings import Surroundings


@pytest.fixture(scope="module")
def tpch(tpch_parquet):
    """TPC-H's tables as views, with a runner set and every query cut into stages."""
    folder = tpch_parquet(0.01)
    with merganser.connect(runner="local") as connection:
        for file in sorted(folder.glob("*.parquet")):
            connection.execute(f"CREATE VIEW {file.stem} AS FROM '{file}'")
        connection.execute("SET merganser_distribute_min_bytes = 0")
        connection.execute("SET merganser_broadcast_max_bytes = 0")
        yield connection


def planned(connection, query) -> Document:
    """What a report knows of the stages of a query that has not run."""
    nothing = Operator("", {})
    return Document(
        query=query,
        title="",
        written="",
        runner="local",
        decisions=[],
        untold="",
        plans=Plans(nothing, nothing),
        stages=stages_of(connection, query),
        run=None,
        run_before=None,
        surroundings=Surroundings(),
    )


def overlap(one, other) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


@pytest.mark.parametrize("number", range(1, 23))
def test_layout_of_tpch(tpch, tpch_queries, number):
    document = planned(tpch, tpch_queries[number])
    graph = stage_graph(document)
    stages = [node for node in graph.nodes.values() if node.kind == "stage"]
    assert len(stages) == len(document.stages.stages) >= 2
    assert not [(a.key, b.key) for a, b in combinations(graph.nodes.values(), 2) if overlap(a, b)]
    for node in graph.nodes.values():
        assert node.x >= 0 and node.x + node.width <= graph.width
        assert node.y >= 0 and node.y + node.height <= graph.height
    for edge in graph.edges:
        passed = [graph.nodes[key] for key in edge.path]
        assert (passed[0].key, passed[-1].key) == (edge.source, edge.target)
        assert [node.layer for node in passed] == list(range(passed[0].layer, passed[-1].layer + 1))
        target = graph.nodes[edge.target]
        assert target.y < edge.end_y < target.y + target.height
        assert re.fullmatch(r"M[\d. ]+(C[\d. ]+(L[\d. ]+)?)+", curve(graph, edge))
    again = stage_graph(planned(tpch, tpch_queries[number]))
    assert again == graph


def test_inputs_are_those_of_the_plan(tpch, tpch_queries):
    document = planned(tpch, tpch_queries[10])
    edges = {(edge.source, edge.target) for edge in stage_graph(document).edges}
    for stage in document.stages.stages:
        read = {f"stage{number}" for number in re.findall(r"stage (\d+)", stage.reads)}
        read |= {f"files{stage.number}"} if " files in " in stage.reads else set()
        assert read == {source for source, target in edges if target == f"stage{stage.number}"}
    assert (f"stage{len(document.stages.stages)}", "result") in edges


@pytest.mark.parametrize("number", [2, 5, 15, 21])
def test_the_tree_has_every_stage_once_below_what_reads_it(tpch, tpch_queries, number):
    document = planned(tpch, tpch_queries[number])
    stages = {stage.number: stage for stage in document.stages.stages}
    tree = stage_tree(document)
    assert sorted(box.number for box in tree.all()) == sorted(stages)
    assert tree.chain[0].number == max(stages)

    def check(branch):
        assert sum(of.is_deepest for of in branch.inputs) == (1 if branch.inputs else 0)
        below = [box.number for box in branch.chain]
        for upper, lower in zip(below, below[1:], strict=False):
            assert lower in read_by(stages[upper])
        for of in branch.inputs:
            assert of.chain[0].number in read_by(stages[below[-1]])
            check(of)

    check(tree)


def test_a_stage_that_two_read_stands_in_the_tree_once():
    def stage(number, reads):
        return Stage(number, "gather", reads, 1, f"SQL {number}", "")

    read_twice = [
        stage(1, "2 files in slices"),
        stage(2, "stage 1"),
        stage(3, "all of stage 1"),
        stage(4, "stage 2, stage 3"),
    ]
    nothing = Operator("", {})
    tree = stage_tree(
        Document("", "", "", "local", [], "", Plans(nothing, nothing), Stages(read_twice), None, None, Surroundings())
    )
    assert [box.number for box in tree.chain] == [4]
    assert [[box.number for box in branch.chain] for branch in tree.inputs] == [[2, 1], [3]]
    assert "reads all of stage 1" in tree.inputs[1].chain[0].lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (quantities.size(0), "0 B"),
        (quantities.size(999), "999 B"),
        (quantities.size(1234), "1.23 kB"),
        (quantities.size(12_107_509), "12.1 MB"),
        (quantities.size(3_500_000_000_000_000), "3,500 TB"),
        (quantities.count(1234567), "1,234,567"),
        (quantities.amount(1, "row"), "1 row"),
        (quantities.amount(0, "row"), "0 rows"),
        (quantities.seconds(0), "0.00 ms"),
        (quantities.seconds(0.000123), "0.12 ms"),
        (quantities.seconds(0.0449), "44.9 ms"),
        (quantities.seconds(12.345), "12.3 s"),
        (quantities.seconds(119), "119 s"),
        (quantities.seconds(1234.5), "20 min 34 s"),
        (quantities.seconds(9000), "2 h 30 min"),
        (quantities.amount(2, "retry"), "2 retries"),
        (quantities.percent(0.4567), "46 %"),
        (quantities.percent(0.001), "<1 %"),
        (quantities.percent(0), "0 %"),
        (quantities.factor(1.26), "1.3x"),
        (quantities.factor(4321.9), "4,322x"),
        (quantities.estimate_against(5, 5), "as estimated"),
        (quantities.estimate_against(1000, 1010), "about as estimated"),
        (quantities.estimate_against(100, 290), "2.9x more"),
        (quantities.estimate_against(75071, 120), "626x fewer"),
        (quantities.estimate_against(0, 7), "7.0x more"),
    ],
)
def test_quantities(text, expected):
    assert text == expected
