"""The stages of a query as Mermaid text, which many viewers of Markdown draw."""

from merganser.query_report.document import Document
from merganser.query_report.stage_graph import Graph, stage_graph


def as_mermaid(document: Document) -> str:
    lines = ["flowchart LR"]
    if document.stages.stages:
        lines += graph_lines(stage_graph(document))
    else:
        lines.append(f'    query["{escaped("One DuckDB: " + document.stages.reason)}"]')
    return "\n".join(lines) + "\n"


def graph_lines(graph: Graph) -> list[str]:
    lines = []
    for node in graph.nodes.values():
        if node.kind == "passing":
            continue
        text = "<br>".join(escaped(line) for line in [node.title, *node.lines])
        lines.append(f'    {node.key}["{text}"]' if node.kind == "stage" else f'    {node.key}(["{text}"])')
    for edge in graph.edges:
        labels = [*graph.nodes[edge.source].writes, *filter(None, [edge.readers])]
        text = "<br>".join(escaped(label) for label in labels)
        lines.append(f"    {edge.source} -->" + (f'|"{text}"| ' if text else " ") + edge.target)
    return lines


def escaped(text: str) -> str:
    """Mermaid's own entities, for what it or HTML would take for markup."""
    return "".join(f"#{ord(character)};" if character in '#&<>"`\\' else character for character in text)
