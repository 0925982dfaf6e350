"""Draws docs/pictures: rows on a line, and the windows that a table function puts them into.

.venv/bin/python scripts/draw_windows.py

Rows and windows are what the calls return, so the pictures are as right as the functions. A colour is a partition.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import merganser

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, LEFT, RIGHT, TOP, POINTS, BAR = 680, 24, 656, 22, 96, 24

ROWS = """
CREATE TABLE sensor(device VARCHAR, time BIGINT, value BIGINT);
INSERT INTO sensor VALUES
  ('a', 2, 2), ('a', 4, 3), ('a', 5, 2), ('a', 15, 6), ('a', 17, 7), ('a', 18, 6), ('a', 20, 7),
  ('a', 33, 3), ('a', 35, 2),
  ('b', 6, 4), ('b', 8, 5), ('b', 11, 4), ('b', 13, 5), ('b', 24, 8), ('b', 26, 9), ('b', 29, 8)
"""


@dataclass
class Picture:
    name: str
    call: str
    #: What one window is, and from where to where it is drawn.
    window: str
    start: str
    end: str
    devices: str = "'a', 'b'"
    #: Whether a row at a window's end is inside.
    inclusive: bool = True


PER_DEVICE = "TABLE(shown) PARTITION BY device ORDER BY time"
TIMES = ("device, window_start, window_end", "window_start", "window_end")
OF_ROWS = ("device, window_index", "min(time)", "max(time)")
PICTURES = [
    Picture("session", f"SESSION(DATA => {PER_DEVICE}, GAP => 4)", *TIMES),
    Picture("variation", f"VARIATION(DATA => {PER_DEVICE}, COL => 'value', DELTA => 1.0)", *OF_ROWS),
    Picture("capacity", f"CAPACITY(DATA => {PER_DEVICE}, SIZE => 3, SLIDE => 2)", *OF_ROWS, devices="'a'"),
    Picture("tumble", "TUMBLE(DATA => TABLE(shown), SIZE => 10)", *TIMES, devices="'a'", inclusive=False),
    Picture("hop", "HOP(DATA => TABLE(shown), SIZE => 10, SLIDE => 5)", *TIMES, devices="'a'", inclusive=False),
    Picture(
        "cumulate", "CUMULATE(DATA => TABLE(shown), SIZE => 12, STEP => 4)", *TIMES, devices="'a'", inclusive=False
    ),
]

STYLE = """
.page { fill: #ffffff } text { font: 13px sans-serif; fill: #333333 } .axis { stroke: #888888 }
.a { fill: #00796b } .b { fill: #c2560c } rect.a, rect.b { fill-opacity: 0.3; stroke-width: 1.5 }
rect.a { stroke: #00796b } rect.b { stroke: #c2560c }
@media (prefers-color-scheme: dark) {
  .page { fill: #1e2129 } text { fill: #dddddd }
  .a { fill: #4db6ac } .b { fill: #ffab70 } rect.a { stroke: #4db6ac } rect.b { stroke: #ffab70 }
}
"""


def rows_of_bars(windows: list[tuple[str, int, int]], inclusive: bool) -> list[list[tuple[str, int, int]]]:
    """Windows that overlap stand below each other; those of one partition before those of the next."""
    lines: list[list[tuple[str, int, int]]] = []
    for _, of_device in itertools.groupby(windows, key=lambda window: window[0]):
        own: list[list[tuple[str, int, int]]] = []
        for window in of_device:
            free = next((line for line in own if line[-1][2] + inclusive <= window[1]), None)
            if free is None:
                own.append([window])
            else:
                free.append(window)
        lines += own
    return lines


def draw(connection, picture: Picture) -> str:
    connection.execute(
        f"CREATE OR REPLACE TABLE shown AS FROM sensor WHERE device IN ({picture.devices}) ORDER BY time"
    )
    points = connection.execute("SELECT device, time, value FROM shown ORDER BY ALL").fetchall()
    windows = connection.execute(
        f"SELECT device, {picture.start} AS s, {picture.end} AS e FROM {picture.call} "
        f"GROUP BY {picture.window} ORDER BY device, s, e"
    ).fetchall()
    last = max([end for _, _, end in windows] + [time for _, time, _ in points]) + 1

    first = min([0] + [start for _, start, _ in windows])
    margin = 3 if picture.inclusive else -1

    def x(time: int) -> float:
        return round(LEFT + (RIGHT - LEFT) * (time - first) / (last - first), 1)

    shapes = [
        f'<circle class="{device}" cx="{x(time)}" cy="{TOP + (10 - value) * 7}" r="4.5"/>'
        for device, time, value in points
    ]
    lines = rows_of_bars(windows, picture.inclusive)
    for place, line in enumerate(lines):
        y = TOP + POINTS + place * BAR
        shapes += [
            f'<rect class="{device}" x="{round(x(start) - margin, 1)}" y="{y}" rx="4" '
            f'width="{round(x(end) - x(start) + 2 * margin, 1)}" height="{BAR - 7}"/>'
            for device, start, end in line
        ]
    axis = TOP + POINTS + len(lines) * BAR + 6
    shapes.append(f'<line class="axis" x1="{LEFT}" y1="{axis}" x2="{RIGHT}" y2="{axis}"/>')
    shapes += [
        f'<text x="{x(time)}" y="{axis + 18}" text-anchor="middle">{time}</text>' for time in range(first, last + 1, 5)
    ]
    height = axis + 30
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">\n'
        f'<style>{STYLE}</style>\n<rect class="page" width="{WIDTH}" height="{height}"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def pictures() -> dict[str, str]:
    """Every picture by the name of its file."""
    with merganser.connect() as connection:
        connection.execute(ROWS)
        return {f"{picture.name}.svg": draw(connection, picture) for picture in PICTURES}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text)
