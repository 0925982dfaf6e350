"""PATTERN_MATCH against brute force: sections from a rewritten list, readings by backtracking over groups."""

import math
import re
from collections.abc import Callable

import merganser
import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# ---------------------------------------------------------------- sections: (direction, first, last)


def height(values: numpy.ndarray, first: int, last: int) -> float:
    return numpy.ptp(values[first : last + 1])


def raw_sections(values: numpy.ndarray) -> list[tuple]:
    result = []
    for i, direction in enumerate(numpy.sign(numpy.diff(values))):
        if result and result[-1][0] == direction:
            result[-1] = (direction, result[-1][1], i + 1)
        else:
            result.append((direction, i, i + 1))
    return result


def is_short_level(section: tuple) -> bool:
    return section[0] == 0 and section[2] - section[1] < 4


def smooth_sections(values: numpy.ndarray, smooth: float, join_tail: bool) -> list[tuple]:
    done = []

    def join_last(level: tuple, section: tuple) -> None:
        direction, first, _ = done[-1]
        done[-1] = (direction, first, level[2])
        if direction == section[0]:
            done[-1] = (direction, first, section[2])
        else:
            done.append(section)

    for direction, first, last in raw_sections(values):
        now = (0.0 if height(values, first, last) <= smooth else direction, first, last)
        if not done or done[-1][0] != 0:
            done.append(now)
            continue
        level = done.pop()
        if now[0] != 0:
            if done and is_short_level(level):
                join_last(level, now)
            else:
                done += [level, now]
        elif height(values, level[1], last) <= smooth:
            done.append((0.0, level[1], last))
        else:
            before, after = values[level[1] : level[2] + 1], values[first : last + 1]
            if after.max() > before.max():
                slope = (1.0, level[1] + before.argmin(), first + after.argmax())
            else:
                slope = (-1.0, level[1] + before.argmax(), first + after.argmin())
            head = (0.0, level[1], slope[1])
            if done and is_short_level(head):
                join_last(head, slope)
            else:
                done += [head, slope]
            done.append((0.0, slope[2], last))
    if join_tail and len(done) > 1 and is_short_level(done[-1]):
        tail = done.pop()
        done[-1] = (*done[-1][:2], tail[2])
    return [section for section in done if section[1] < section[2]]


# ---------------------------------------------------------------- pattern
# A node is ("atom", number, direction, xs, ys) or (repeat sign, nodes).


def parse(pattern: str, smooth: float, smooth_on_pattern: bool) -> list:
    items, piece, before, x = [], None, None, 0
    for token in re.findall(r"\{|\}[+*]|[-+.\deE]+", pattern):
        if token[0] in "{}":
            before, piece = piece or before, None
            items.append(token)
            continue
        if piece is None:
            if before is not None:
                before.append((x, float(token)))
            piece = []
            items.append(piece)
        piece.append((x, float(token)))
        x += 1
    numbers = iter(range(10**6))

    def build(position: int) -> tuple[list, int]:
        nodes = []
        while position < len(items):
            item = items[position]
            position += 1
            if item == "{":
                inner, position = build(position)
                nodes.append((items[position - 1][1], inner))
            elif item in ("}+", "}*"):
                break
            else:
                xs, ys = (numpy.array(axis, dtype=float) for axis in zip(*item, strict=True))
                cut = smooth_sections(ys, smooth, False) if smooth_on_pattern else raw_sections(ys)
                nodes += [("atom", next(numbers), d, xs[b : e + 1], ys[b : e + 1]) for d, b, e in cut]
        return nodes, position

    return build(0)[0]


def readings(nodes: list, directions: list[float]) -> list[list[tuple]]:
    """Every sequence of atoms the groups allow whose joined sections have exactly these directions."""
    found = {}

    def walk(rest: list, path: tuple, runs: int, joined: tuple, then: Callable) -> None:
        if not rest:
            then(path, runs, joined)
            return
        node, rest = rest[0], rest[1:]
        if node[0] == "atom":
            if path and path[-1][2] == node[2]:
                if joined.count(node[1]) < 2:
                    walk(rest, (*path, node), runs, (*joined, node[1]), then)
            elif runs < len(directions) and directions[runs] == node[2]:
                walk(rest, (*path, node), runs + 1, (node[1],), then)
            return

        def again(path: tuple, runs: int, joined: tuple, first: bool) -> None:
            def after(new_path: tuple, new_runs: int, new_joined: tuple) -> None:
                if first or len(new_path) > len(path):
                    walk(rest, new_path, new_runs, new_joined, then)
                    if len(new_path) > len(path):
                        again(new_path, new_runs, new_joined, False)

            walk(node[1], path, runs, joined, after)

        if node[0] == "*":
            walk(rest, path, runs, joined, then)
        again(path, runs, joined, True)

    def done(path: tuple, runs: int, joined: tuple) -> None:
        if path and runs == len(directions):
            found[tuple(atom[1] for atom in path)] = path

    walk(nodes, (), 0, (), done)
    return [join(path) for path in found.values()]


def join(path: tuple) -> list[tuple]:
    result = []
    for _, _, direction, xs, ys in path:
        if result and result[-1][0] == direction:
            _, old_xs, old_ys = result[-1]
            xs = numpy.concatenate([old_xs, old_xs[-1] + numpy.arange(1, len(xs))])
            ys = numpy.concatenate([old_ys, ys[1:] + old_ys[-1] - ys[0]])
            result[-1] = (direction, xs, ys)
        else:
            result.append((direction, xs, ys))
    return [(xs, ys) for _, xs, ys in result]


# ---------------------------------------------------------------- distance


def span(times) -> float:
    """From the first to the last; the distance of two BIGINT need not fit into one."""
    return float(int(max(times)) - int(min(times)))


def distance(run: list[tuple], reading: list[tuple], smooth: float) -> float:
    times, values, xs, ys = (numpy.concatenate([s[i] for s in side]) for side in (run, reading) for i in (0, 1))
    run_height = numpy.ptp(values)
    scale = smooth if run_height == 0 else run_height
    factor = smooth if run_height == 0 else numpy.ptp(ys)
    result = 0.0
    with numpy.errstate(all="ignore"):
        for (t, v), (x, y) in zip(run, reading, strict=True):
            width = span(t) / (numpy.ptp(x) * (span(times) / numpy.ptp(xs)))
            up, down = max(numpy.ptp(v), smooth), max(numpy.ptp(y) * factor, smooth)
            ratio = 1.0 if up == down == 0 else numpy.float64(up) / down
            places = numpy.arange(1, len(v)) * (len(y) - 1) / (len(v) - 1)
            expected = (numpy.interp(places, numpy.arange(len(y)), y) - y[0]) * factor * ratio
            error = 0.0 if scale == 0 else numpy.abs(expected - (v[1:] - v[0])).mean() / scale
            result += numpy.log(width) ** 2 + numpy.log(ratio) ** 2 + error
    return result


def matches(
    rows: list[tuple], pattern: str, smooth: float, threshold: float, width: float, top: float, smooth_on_pattern: bool
) -> list[tuple]:
    """(distance, row numbers) of every match, of rows (time, value)."""
    points = [(row, time, v) for row, (time, v) in enumerate(rows) if v is not None and math.isfinite(v)]
    nodes = parse(pattern, smooth, smooth_on_pattern)
    result, series, step = [], [], 0
    for point in [*points, None]:
        gap = point and series and point[1] - series[-1][1]
        if point and not (step and gap > 2 * step):
            step = step or gap or 0
            series.append(point)
            continue
        result += matches_of_series(series, nodes, smooth, threshold, width, top)
        series, step = [point], 0
    return result


def matches_of_series(series, nodes, smooth, threshold, width, top) -> list[tuple]:
    if len(series) < 2:
        return []
    times = numpy.array([time - series[0][1] for _, time, _ in series], dtype=object)
    values = numpy.array([value for _, _, value in series])
    sections = smooth_sections(values, smooth, True)
    result = []
    for i in range(len(sections)):
        for j in range(i, len(sections)):
            first, last = sections[i][1], sections[j][2]
            if times[last] - times[first] > width or height(values, first, last) > top:
                break
            run = [(times[f : n + 1], values[f : n + 1]) for _, f, n in sections[i : j + 1]]
            found = [distance(run, reading, smooth) for reading in readings(nodes, [s[0] for s in sections[i : j + 1]])]
            covered = [row for row, _, _ in series[first : last + 1]]
            result += [(d, covered) for d in sorted(found) if math.isfinite(d) and d <= threshold]
    return result


# ---------------------------------------------------------------- tests


@pytest.fixture(scope="module")
def connection():
    with merganser.connect() as opened:
        opened.execute("CREATE TABLE t(p INTEGER, r INTEGER, time BIGINT, value DOUBLE)")
        yield opened


PATTERNS = [
    "1,2",
    "2,1",
    "1,1",
    "1,2,1",
    "1,2,3,2,1",
    "1,1.2,1,3,1,1,1,1,1",
    "1,{2,3,2}+,1,1",
    "1,{2,1}*,3",
    "{1,2,1}+",
    "{1,2}+",
    "{1,2}*,{2,1}*,1,1",
    "{1,1}*,{2}*,3",
    "{{1,2}*,3,1}+",
    "{{1,2,1}+,2}+,1",
    "1,3,{2,4}*,1",
    "-1,{-2,-5}+,0.5,1e1",
    "{1,2}*{2,3,2}+1",
    "{{{1,2}+}+}+,0",
]
VALUES = st.one_of(
    st.integers(-3, 3), st.floats(-2, 2), st.sampled_from([None, math.nan, math.inf, -math.inf, 1e300, -1e300])
)
STEPS = st.sampled_from([1, 1, 1, 1, 2, 3, 0, 9, 2**61])
SERIES = st.lists(st.tuples(STEPS, VALUES), max_size=14)
LIMITS = st.sampled_from([math.inf, 4, 10])


@pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    partitions=st.lists(SERIES, min_size=1, max_size=4),
    begin=st.sampled_from([0, -100, -(2**62), 2**40]),
    pattern=st.sampled_from(PATTERNS),
    smooth=st.sampled_from([0, 0.5, 1, 0.3]),
    threshold=st.sampled_from([0.777, 3.33, 11.1, 1234.5]),
    width=LIMITS,
    top=LIMITS,
    smooth_on_pattern=st.booleans(),
    threads=st.integers(1, 8),
)
def test_matches_are_those_of_brute_force(
    lane, connection, partitions, begin, pattern, smooth, threshold, width, top, smooth_on_pattern, threads
):
    series, table = [], []
    for p, steps in enumerate(partitions):
        time, rows = begin, []
        for step, value in steps:
            time = min(time + step, 2**63 - 1)
            rows.append((time, value))
        series.append(rows)
        table += [(p, r, *row) for r, row in enumerate(rows)]
    columns = [list(column) for column in zip(*table, strict=True)] or [[]] * 4
    connection.execute("TRUNCATE t")
    connection.execute(
        "INSERT INTO t SELECT unnest($1::INT[]), unnest($2::INT[]), unnest($3::BIGINT[]), unnest($4::DOUBLE[])",
        columns,
    )
    connection.execute(f"SET threads = {threads}")
    limits = "".join(f", {name} => {value}" for name, value in (("WIDTH", width), ("HEIGHT", top)) if value < math.inf)
    call = f"""SELECT p, match_index, similarity, r FROM PATTERN_MATCH(DATA => t PARTITION BY p ORDER BY (time, r),
        DATA_COL => 'value', PATTERN => '{pattern}', SMOOTH => {smooth}, THRESHOLD => {threshold}{limits},
        SMOOTH_ON_PATTERN => {smooth_on_pattern})"""
    actual = {}
    for p, match, similarity, row in connection.execute(call).fetchall():
        actual.setdefault((p, match), (similarity, []))[1].append(row)
    for p, rows in enumerate(series):
        expected = matches(rows, pattern, smooth, threshold, width, top, smooth_on_pattern)
        found = [actual.pop((p, match)) for match in range(len(expected))]
        assert [covered for _, covered in found] == [covered for _, covered in expected]
        assert [d for d, _ in found] == pytest.approx([d for d, _ in expected], rel=1e-9, abs=1e-9)
    assert not actual


def test_a_long_series_is_matched_while_it_streams(tmp_path):
    """A million rows in one partition, with little memory: rows behind the open matches are let go."""
    config = {"memory_limit": "100MB", "threads": "1", "temp_directory": str(tmp_path / "spill")}
    with merganser.connect(config=config) as small:
        [result] = small.execute("""
            SELECT count(*), count(DISTINCT match_index), max(similarity), sum(length(s))
            FROM PATTERN_MATCH(DATA => (SELECT i AS time, abs(i % 10 - 5) AS v, repeat('x', 200) AS s
                                        FROM range(1000000) r(i)) ORDER BY time,
                               DATA_COL => 'v', PATTERN => '0,1,0', SMOOTH => 0, THRESHOLD => 10)""").fetchall()
    # rises from 10 k + 5 to 10 k + 10 and falls to 10 k + 15; the last rise has no fall
    assert result == (99999 * 11, 99999, 2 * math.log(5) ** 2, 99999 * 11 * 200)


def test_a_shape_that_repeats_is_found_wherever_it_begins(connection):
    """Every run of whole waves is a match of {wave}+, however it overlaps others."""
    found = connection.execute("""
        SELECT match_index, min(time), max(time)
        FROM PATTERN_MATCH(DATA => (SELECT i AS time, [0, 1][i % 2 + 1] AS v FROM range(9) r(i)) ORDER BY time,
                           DATA_COL => 'v', PATTERN => '{0,1,0}+', SMOOTH => 0, THRESHOLD => 1000)
        GROUP BY ALL ORDER BY ALL""").fetchall()
    runs = [(begin, end) for begin in range(0, 8, 2) for end in range(begin + 2, 9, 2)]
    assert found == [(match, *run) for match, run in enumerate(runs)]
