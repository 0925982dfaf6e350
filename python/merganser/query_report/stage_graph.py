"""Stages and the exchanges between them as a graph, laid out in layers from left to right.

A node stands as far right as the longest path to it is long. An exchange that skips layers passes through each of
them, so that nodes make room for it. The order within a layer is that of what its nodes read, by barycentres, from left
to right and back; equal places keep the order of the stages. So the same plan always gives the same picture.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from merganser.query_report.carried_columns import table_of
from merganser.query_report.document import Document
from merganser.query_report.planned import Stage, sent_inputs
from merganser.query_report.quantities import amount, seconds, shortened, size

FILES = re.compile(r"^(\d+) files? (in slices|in ranges of .*)$")
EXCHANGE = re.compile(r"^(all of )?stage (\d+)$")

NODE_WIDTH = 180
SOURCE_WIDTH = 130
LAYER_GAP = 170
NODE_GAP = 26
PASSING_HEIGHT = 26
PORT_GAP = 16
MARGIN = 12
SWEEPS = 8


@dataclass
class Node:
    key: str
    kind: str
    title: str
    lines: list[str]
    stage: int | None = None
    #: What all its readers read: rows, and bytes of the exchange; what is known.
    writes: list[str] = field(default_factory=list)
    inputs: int = 0
    layer: int = 0
    x: float = 0
    y: float = 0

    @property
    def width(self) -> int:
        return NODE_WIDTH if self.kind == "stage" else SOURCE_WIDTH

    @property
    def height(self) -> int:
        if self.kind == "passing":
            return PASSING_HEIGHT
        return max(18 + 16 * (1 + len(self.lines)), PORT_GAP * (self.inputs + 1))


@dataclass
class Edge:
    source: str
    target: str
    #: "to all 8 tasks", where each of them reads all of it.
    readers: str = ""
    bytes: int = 0
    #: Keys of the nodes it passes, source and target included.
    path: list[str] = field(default_factory=list)
    #: Where it comes in at its target.
    end_y: float = 0


@dataclass
class Graph:
    nodes: dict[str, Node]
    edges: list[Edge]
    width: float = 0
    height: float = 0

    @property
    def most_bytes(self) -> int:
        return max((edge.bytes for edge in self.edges), default=0)


def stage_graph(document: Document) -> Graph:
    graph = Graph({}, [])
    for stage in document.stages.stages:
        add_stage(graph, document, stage)
    add_result(graph, document)
    lay_out(graph)
    return graph


def add_stage(graph: Graph, document: Document, stage: Stage) -> None:
    taken = taken_by(document, stage.number)
    node = Node(f"stage{stage.number}", "stage", f"Stage {stage.number}", stage_lines(stage, taken), stage.number)
    if taken and taken["tasks"]:
        node.writes = [amount(taken["rows_out"], "row"), size(taken["bytes_out"])]
    elif taken:
        node.writes = ["not exchanged"]
    parts = stage.reads.split(", ") if stage.reads else []
    add_files(graph, document, stage, [(int(match[1]), match[2]) for match in map(FILES.match, parts) if match])
    for number in sent_inputs(stage):
        add_sent(graph, document, number, node.key)
    graph.nodes[node.key] = node
    for exchange in filter(None, map(EXCHANGE.match, parts)):
        graph.edges.append(exchange_edge(document, int(exchange[2]), stage, bool(exchange[1])))


def taken_by(document: Document, number: int) -> dict[str, Any] | None:
    return document.run.stage(number) if document.run else None


def stage_lines(stage: Stage, taken: dict[str, Any] | None) -> list[str]:
    if taken is None:
        return [amount(stage.tasks, "task"), stage.partitioning]
    if taken["tasks"] == 0:
        return ["no task of its own", stage.partitioning]
    return [f"{amount(taken['tasks'], 'task')}, {seconds(taken['task_seconds'])}", stage.partitioning]


def exchange_edge(document: Document, source: int, stage: Stage, whole: bool) -> Edge:
    taken = taken_by(document, stage.number)
    written = taken_by(document, source)
    edge = Edge(f"stage{source}", f"stage{stage.number}", bytes=written["bytes_out"] if written else 0)
    tasks = taken["tasks"] if taken else stage.tasks
    if whole and tasks > 1:
        edge.readers = f"to all {tasks} tasks"
    return edge


def add_files(graph: Graph, document: Document, stage: Stage, scans: list[tuple[int, str]]) -> None:
    """`scans` are the files of each, and how the tasks divide them."""
    if not scans:
        return
    files = sum(count for count, _ in scans)
    divisions = list(dict.fromkeys(division for _, division in scans))
    key = f"files{stage.number}"
    rows = scanned_rows(document, stage)
    graph.nodes[key] = Node(
        key, "source", amount(files, "file"), divisions, writes=[] if rows is None else [amount(rows, "row")]
    )
    graph.edges.append(Edge(key, f"stage{stage.number}"))


def add_sent(graph: Graph, document: Document, number: int, reader: str) -> None:
    key = f"sent{number}"
    sent = document.run.sent if document.run else []
    node = Node(key, "source", "this session", ["sends rows"])
    if number <= len(sent):
        read = sent[number - 1]
        node.writes = [amount(read.rows or 0, "row")]
        node.title = shortened(table_of(read) or node.title, 16)
    graph.nodes.setdefault(key, node)
    graph.edges.append(Edge(key, reader))


def add_result(graph: Graph, document: Document) -> None:
    last = document.stages.stages[-1].number
    taken = taken_by(document, last)
    graph.nodes["result"] = Node("result", "source", "this session", ["the query's rows"])
    graph.edges.append(Edge(f"stage{last}", "result", bytes=taken["bytes_out"] if taken else 0))


def scanned_rows(document: Document, stage: Stage) -> int | None:
    """Rows a stage read from files: what it read, less what it read from exchanges; None where that is not known."""
    taken = taken_by(document, stage.number)
    if taken is None or taken.get("decisions"):
        return None
    rows = taken["rows_in"]
    for exchange in filter(None, map(EXCHANGE.match, stage.reads.split(", "))):
        rows -= taken_by(document, int(exchange[2]))["rows_out"] * (taken["tasks"] if exchange[1] else 1)
    return rows if rows > 0 else None


# ---------------------------------------------------------------- layout


def lay_out(graph: Graph) -> None:
    set_layers(graph)
    add_passing_nodes(graph)
    for edge in graph.edges:
        graph.nodes[edge.target].inputs += 1
    layers = ordered_layers(graph)
    place(graph, layers)
    set_ports(graph)


def set_layers(graph: Graph) -> None:
    """Stages are numbered in the order they can run, and stand in the graph in that order."""
    for node in graph.nodes.values():
        above = [graph.nodes[edge.source].layer for edge in graph.edges if edge.target == node.key]
        node.layer = max(above, default=-1) + 1
    for node in graph.nodes.values():
        readers = [graph.nodes[edge.target].layer for edge in graph.edges if edge.source == node.key]
        if node.kind == "source" and readers:
            node.layer = min(readers) - 1


def add_passing_nodes(graph: Graph) -> None:
    for index, edge in enumerate(graph.edges):
        first, last = graph.nodes[edge.source].layer, graph.nodes[edge.target].layer
        edge.path = [edge.source]
        for layer in range(first + 1, last):
            key = f"passing{index}-{layer}"
            graph.nodes[key] = Node(key, "passing", "", [], layer=layer)
            edge.path.append(key)
        edge.path.append(edge.target)


def ordered_layers(graph: Graph) -> list[list[Node]]:
    count = max(node.layer for node in graph.nodes.values()) + 1
    layers: list[list[Node]] = [[] for _ in range(count)]
    for node in graph.nodes.values():
        layers[node.layer].append(node)
    neighbours: dict[str, dict[str, list[str]]] = {key: {"left": [], "right": []} for key in graph.nodes}
    for edge in graph.edges:
        for left, right in zip(edge.path, edge.path[1:], strict=False):
            neighbours[left]["right"].append(right)
            neighbours[right]["left"].append(left)
    for sweep in range(SWEEPS):
        side = "left" if sweep % 2 == 0 else "right"
        for layer in layers if side == "left" else reversed(layers):
            sort_layer(layer, layers, neighbours, side)
    return layers


def sort_layer(layer: list[Node], layers: list[list[Node]], neighbours: dict, side: str) -> None:
    position = {node.key: index / max(len(of), 1) for of in layers for index, node in enumerate(of)}

    def barycentre(node: Node) -> float:
        beside = [position[key] for key in neighbours[node.key][side]]
        return sum(beside) / len(beside) if beside else position[node.key]

    layer.sort(key=barycentre)


def place(graph: Graph, layers: list[list[Node]]) -> None:
    heights = [sum(node.height for node in layer) + NODE_GAP * (len(layer) - 1) for layer in layers]
    graph.height = max(heights) + 2 * MARGIN
    x = float(MARGIN)
    for layer, height in zip(layers, heights, strict=True):
        width = max(node.width for node in layer if node.kind != "passing" or len(layer) == 1)
        y = (graph.height - height) / 2
        for node in layer:
            node.x = x + (width - node.width) / 2
            node.y = y
            y += node.height + NODE_GAP
        x += width + LAYER_GAP
    graph.width = x - LAYER_GAP + MARGIN


def set_ports(graph: Graph) -> None:
    """What comes into a node comes in from top to bottom in the order it comes from."""
    for node in graph.nodes.values():
        coming = [edge for edge in graph.edges if edge.target == node.key]
        coming.sort(key=lambda edge: graph.nodes[edge.path[-2]].y + graph.nodes[edge.path[-2]].height / 2)
        for number, edge in enumerate(coming, 1):
            edge.end_y = node.y + node.height * number / (len(coming) + 1)
