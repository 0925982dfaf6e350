"""Random calls of every table function against plain Python and numpy, for random tables, groupings and threads."""

import math
from bisect import bisect
from collections import Counter
from pathlib import Path

import merganser
import numpy
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

# Few examples in the fast lane, as many as the profile says in the slow one.
RANDOM = settings(
    max_examples=30 if settings.default.derandomize else settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LANES = pytest.mark.parametrize("lane", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
DECISIONS = "SELECT split_part(text, ':', 1) FROM merganser_explain(?) WHERE section = 'decision'"

# A time type: from the integer in its unit to the type, back, and how a span is written.
TIMES = {
    "BIGINT": ("{}::BIGINT", "{}", "{}"),
    "INTEGER": ("{}::INTEGER", "{}", "{}"),
    "SMALLINT": ("{}::SMALLINT", "{}", "{}"),
    "DATE": ("DATE '1970-01-01' + {}::INTEGER", "{} - DATE '1970-01-01'", "{}d"),
    "TIMESTAMP": ("make_timestamp({}::BIGINT)", "epoch_us({})", "{}us"),
    "TIMESTAMP_S": ("make_timestamp({}::BIGINT * 1000000)::TIMESTAMP_S", "epoch_us({}::TIMESTAMP) // 1000000", "{}s"),
    "TIMESTAMP_MS": ("make_timestamp({}::BIGINT * 1000)::TIMESTAMP_MS", "epoch_us({}::TIMESTAMP) // 1000", "{}ms"),
    "TIMESTAMP_NS": ("make_timestamp_ns({}::BIGINT)", "epoch_ns({})", "INTERVAL '{} microsecond'"),
    "TIMESTAMPTZ": ("make_timestamp({}::BIGINT) AT TIME ZONE 'UTC'", "epoch_us({})", "{}us"),
}
# Units in one microsecond, where spans are written as INTERVAL.
SCALE = {"TIMESTAMP_NS": 1000}
# Where times lie: around the epoch, an hour of a clock change in New York and in Lord Howe, far ahead and long ago.
BEGINNINGS = {
    "BIGINT": [0, 2**62, -(2**62)],
    "INTEGER": [0, 2**30, -(2**30)],
    "SMALLINT": [0, 20000, -20000],
    "DATE": [0, 100_000_000, -700_000],
    "TIMESTAMP": [0, 9_000_000_000_000_000_000, -62_135_596_800_000_000],
    "TIMESTAMP_S": [0, 9_000_000_000_000, -62_135_596_800],
    "TIMESTAMP_MS": [0, 9_000_000_000_000_000, -62_135_596_800_000],
    "TIMESTAMP_NS": [0, 9_000_000_000_000_000_000, -9_000_000_000_000_000_000],
    "TIMESTAMPTZ": [0, 1_730_613_600_000_000 - 500, 1_712_415_600_000_000 - 500, 9_000_000_000_000_000_000],
}
ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]
TEXTS = ["a", "b", "", "a longer text than fits inline", None]
NUMBERS = [1, -1, None]
VALUES = [None, math.nan, math.inf, -math.inf, 0.0, -0.0]


class Table:
    """Rows (r, k, n, time, v): r numbers them, k and n are keys, time is an integer in the type's unit."""

    def __init__(self, seed: int, shape: tuple[int, int], time_type: str, special: bool, distinct_times: bool):
        random = numpy.random.default_rng(seed)
        partitions, size = shape
        begin = BEGINNINGS[time_type][random.integers(len(BEGINNINGS[time_type]))]
        self.time_type = time_type
        self.rows = []
        for p in range(partitions):
            k = TEXTS[random.integers(len(TEXTS))]
            n = NUMBERS[p] if p < len(NUMBERS) else p
            length = int(random.integers((min(size, 200) if time_type == "SMALLINT" else size) + 1))
            steps = random.choice([1, 2, 5, 50] if distinct_times else [0, 1, 2, 5, 50], length)
            times = begin + numpy.cumsum(steps * (SCALE.get(time_type, 1)))
            values = numpy.round(random.normal(scale=3, size=length), 1)
            odd = random.random(length) < (0.3 if special else 0)
            for time, value, is_odd in zip(times.tolist(), values.tolist(), odd, strict=True):
                v = VALUES[random.integers(len(VALUES))] if is_odd else value
                self.rows.append((len(self.rows), k, n, time, v))
        self.random = random

    def create(self, connection) -> None:
        write = TIMES[self.time_type][0].format("time")
        connection.execute("SET TimeZone = 'UTC'")
        columns = [list(column) for column in zip(*self.rows, strict=True)] or [[]] * 5
        connection.execute(
            f"""CREATE OR REPLACE TABLE t AS SELECT r, k, n, {write} AS time, v, {{'row': r, 'texts': [k]}} AS nested
            FROM (SELECT unnest($1::INTEGER[]) AS r, unnest($2::VARCHAR[]) AS k, unnest($3::INTEGER[]) AS n,
                         unnest($4::BIGINT[]) AS time, unnest($5::DOUBLE[]) AS v) ORDER BY hash(r)""",
            columns,
        )
        connection.execute(f"SET TimeZone = '{ZONES[self.random.integers(len(ZONES))]}'")

    def partitions(self) -> list[list[tuple]]:
        result: dict[tuple, list[tuple]] = {}
        for row in self.rows:
            result.setdefault(row[1:3], []).append(row)
        return [sorted(rows, key=lambda row: (row[3], row[0])) for rows in result.values()]

    def span(self, length: int) -> str:
        return TIMES[self.time_type][2].format(length)

    def units(self, length: int) -> int:
        return length * SCALE.get(self.time_type, 1)


# (partitions, most rows in one)
SHAPES = [(0, 0), (1, 0), (1, 1), (1, 9), (3, 2), (3, 60), (40, 9), (40, 60)]
BIG_SHAPES = [(3000, 2), (1, 6000), (3, 3000)]


def tables(shapes: list[tuple[int, int]], distinct_times: bool = False) -> st.SearchStrategy[Table]:
    return st.builds(
        Table,
        seed=st.integers(0, 2**32),
        shape=st.sampled_from(shapes),
        time_type=st.sampled_from(list(TIMES)),
        special=st.booleans(),
        distinct_times=st.just(distinct_times),
    )


TABLES = tables(SHAPES)
BIG_TABLES = tables(SHAPES * 2 + BIG_SHAPES)
SERIES = tables(SHAPES, distinct_times=True)
THREADS = st.integers(1, 8)
KEYS = st.permutations(["k", "n"])


@pytest.fixture(scope="module")
def connection():
    with merganser.connect() as opened:
        yield opened


def text(value) -> str:
    """Values that == does not tell apart, or apart from themselves."""
    return repr(value)


def check(connection, table: Table, call: str, columns: str, expected: list[tuple], decisions: list[str]) -> None:
    """The call gives the expected rows, in any order, by the right groupings."""
    query = f"SELECT {columns} FROM {call}"
    assert [name for (name,) in connection.execute(DECISIONS, [query]).fetchall()] == decisions
    actual = connection.execute(query).fetchall()
    assert Counter(map(text, actual)) == Counter(map(text, expected))


def back(table: Table, *columns: str) -> str:
    return ", ".join(TIMES[table.time_type][1].format(column) for column in columns)


def source(connection, table: Table, regions: int, folder_of) -> tuple[str, str]:
    """The table's rows as a table argument, and the grouping it leads to."""
    if regions == 0 or not table.rows:
        return "t", "hashed"
    folder = Path(folder_of("regions")) / "written"
    connection.execute(
        f"COPY t TO '{folder}' (FORMAT merganser_regions, PARTITION_BY (k, n), ORDER_BY (time, r), REGIONS {regions})"
    )
    return f"(FROM read_parquet('{folder}/*.parquet'))", "region_local"


# ---------------------------------------------------------------- pass-through functions, set semantics


def sessions(rows: list[tuple], gap: int) -> list[tuple]:
    groups: list[list[tuple]] = []
    for row in rows:
        if groups and row[3] - groups[-1][-1][3] <= gap:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [(group[0][3], group[-1][3], *row) for group in groups for row in group]


@LANES
@RANDOM
@given(
    table=BIG_TABLES,
    gaps=st.lists(st.sampled_from([0, 1, 5, 50, 60]), min_size=1, max_size=5),
    data=st.data(),
    threads=THREADS,
    regions=st.sampled_from([0, 0, 1, 3]),
)
def test_sessions(lane, connection, tmp_path_factory, table, gaps, data, threads, regions):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    call, grouping = source(connection, table, regions, tmp_path_factory.mktemp)
    partitions = [[("", "", *row) for row in rows] for rows in table.partitions()]
    for depth, gap in enumerate(gaps):
        keys = ", ".join(data.draw(KEYS))
        call = f"SESSION(DATA => {call} PARTITION BY ({keys}) ORDER BY (time, r), GAP => {table.span(gap)})"
        if depth < len(gaps) - 1:
            call = f"(SELECT nested, time, v, n, k, r FROM {call})"
        partitions = [sessions([row[2:] for row in rows], table.units(gap)) for rows in partitions]
    expected = [(*row, {"row": row[2], "texts": [row[3]]}) for rows in partitions for row in rows]
    columns = f"{back(table, 'window_start', 'window_end')}, r, k, n, {back(table, 'time')}, v, nested"
    check(connection, table, call, columns, expected, [grouping] + ["fused"] * (len(gaps) - 1))


def is_far(value: float, base: float, delta: float) -> bool:
    if math.isnan(value) or math.isnan(base):
        return math.isnan(value) != math.isnan(base)
    return value != base and not abs(value - base) <= delta


def variations(rows: list[tuple], delta: float, ignore_null: bool) -> list[tuple]:
    window, base, result = -1, None, []
    for row in rows:
        value = row[4]
        if value is None:
            starts = window < 0 or (not ignore_null and base is not None)
            base = None if starts else base
        else:
            starts = window < 0 or (is_far(value, base, delta) if base is not None else not ignore_null)
            base = value if starts or base is None else base
        window += starts
        result.append((window, *row))
    return result


@LANES
@RANDOM
@given(
    table=BIG_TABLES,
    delta=st.sampled_from([0, 0.1, 2, 1e300]),
    ignore_null=st.booleans(),
    keys=KEYS,
    threads=THREADS,
    regions=st.sampled_from([0, 0, 1, 3]),
)
def test_variations(lane, connection, tmp_path_factory, table, delta, ignore_null, keys, threads, regions):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    data, grouping = source(connection, table, regions, tmp_path_factory.mktemp)
    call = f"""VARIATION(DATA => {data} PARTITION BY ({", ".join(keys)}) ORDER BY (time, r), COL => 'v',
        DELTA => {delta}, IGNORE_NULL => {ignore_null})"""
    expected = [row for rows in table.partitions() for row in variations(rows, delta, ignore_null)]
    check(connection, table, call, f"window_index, r, k, n, {back(table, 'time')}, v", expected, [grouping])


@LANES
@RANDOM
@given(
    table=BIG_TABLES,
    size=st.integers(1, 9),
    slide=st.integers(1, 9),
    keys=KEYS,
    threads=THREADS,
    regions=st.sampled_from([0, 0, 1, 3]),
)
def test_capacities(lane, connection, tmp_path_factory, table, size, slide, keys, threads, regions):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    data, grouping = source(connection, table, regions, tmp_path_factory.mktemp)
    call = f"""CAPACITY(DATA => {data} PARTITION BY ({", ".join(keys)}) ORDER BY (time, r), SIZE => {size},
        SLIDE => {slide})"""
    expected = [row for rows in table.partitions() for row in capacities(rows, size, slide)]
    check(connection, table, call, f"window_index, r, k, n, {back(table, 'time')}, v", expected, [grouping])


# ---------------------------------------------------------------- row semantics


def windows_of(function: str, time: int, size: int, step: int, origin: int) -> list[tuple[int, int]]:
    if time < origin:
        return []
    start = origin + (time - origin) // size * size
    if function == "TUMBLE":
        return [(start, start + size)]
    if function == "CUMULATE":
        return [(start, end) for end in range(start + step, start + size + 1, step) if end > time]
    last = origin + (time - origin) // step * step
    return [(begin, begin + size) for begin in range(last - size // step * step, last + 1, step) if time < begin + size]


@LANES
@RANDOM
@given(
    table=BIG_TABLES,
    function=st.sampled_from(["TUMBLE", "HOP", "CUMULATE"]),
    step=st.sampled_from([1, 3, 10, 60]),
    times=st.integers(1, 4),
    hop=st.sampled_from([1, 7, 25]),
    near=st.booleans(),
    threads=THREADS,
)
def test_windows_of_time(lane, connection, table, function, step, times, hop, near, threads):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    size = step * times
    step = {"TUMBLE": size, "HOP": hop, "CUMULATE": step}[function]
    # with ORIGIN in the middle of the rows some are before it; else it is the first row's, or 0
    times_of_rows = sorted(row[3] for row in table.rows)
    origin = times_of_rows[len(times_of_rows) // 3 if near else 0] if times_of_rows else 0
    argument = {"TUMBLE": "", "HOP": f", SLIDE => {table.span(step)}", "CUMULATE": f", STEP => {table.span(step)}"}
    connection.execute(f"SET VARIABLE origin = {TIMES[table.time_type][0].format(f'({origin})')}")
    call = f"""{function}(DATA => t, SIZE => {table.span(size)}{argument[function]}, ORIGIN => getvariable('origin'))"""
    expected = [
        (*window, *row)
        for row in table.rows
        for window in windows_of(function, row[3], table.units(size), table.units(step), origin)
    ]
    columns = f"{back(table, 'window_start', 'window_end')}, r, k, n, {back(table, 'time')}, v"
    check(connection, table, call, columns, expected, ["rows"])


# ---------------------------------------------------------------- M4 and LTTB


def sliding(rows: list[tuple], size: int, slide: int, by_count: bool) -> list[tuple[int, list[tuple]]]:
    """(window, rows) of every window with rows, windows in order."""
    found: dict[int, list[tuple]] = {}
    for i, row in enumerate(rows):
        place = i if by_count else row[3]
        for window in range((place - size) // slide + 1, place // slide + 1):
            if window >= 0 or not by_count:
                found.setdefault(window, []).append(row)
    return sorted(found.items())


def larger(a: float, b: float) -> bool:
    return (math.isnan(a) and not math.isnan(b)) or a > b


def four_points(rows: list[tuple]) -> list[tuple]:
    points = [row for row in rows if row[4] is not None]
    if not points:
        return []
    least = most = points[0]
    for point in points:
        least = point if larger(least[4], point[4]) else least
        most = point if larger(point[4], most[4]) else most
    picked = {id(point): point for point in (points[0], points[-1], least, most)}
    return [point for point in points if id(point) in picked]


@LANES
@RANDOM
@given(
    table=TABLES,
    size=st.sampled_from([1, 3, 10, 100]),
    slide=st.sampled_from([1, 4, 10, 70]),
    by_count=st.booleans(),
    keys=KEYS,
    threads=THREADS,
    regions=st.sampled_from([0, 0, 1, 3]),
)
def test_m4(lane, connection, tmp_path_factory, table, size, slide, by_count, keys, threads, regions):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    table.rows = [row for row in table.rows if row == next(r for r in table.rows if r[1:4] == row[1:4])]
    connection.execute("DELETE FROM t WHERE NOT list_contains($1::INTEGER[], r)", [[row[0] for row in table.rows]])
    data, grouping = source(connection, table, regions, tmp_path_factory.mktemp)
    spans = [str(length) if by_count else table.span(length) for length in (size, slide)]
    if not by_count:
        size, slide = table.units(size), table.units(slide)
        assume(not table.time_type.endswith("INT") and table.time_type != "INTEGER")
    call = f"""M4(DATA => (SELECT k, n, time, v FROM {data}) PARTITION BY ({", ".join(keys)}) ORDER BY time,
        TIMECOL => 'time', SIZE => {spans[0]}, SLIDE => {spans[1]})"""
    expected = []
    for rows in table.partitions():
        for window, inside in sliding(rows, size, slide, by_count):
            head = (window,) if by_count else (window * slide, window * slide + size)
            expected += [(*head, *row[1:5]) for row in four_points(inside)]
    head = "window_index" if by_count else back(table, "window_start", "window_end")
    check(connection, table, call, f"{head}, k, n, {back(table, 'v_time')}, v", expected, [grouping])


def triangles(points: list[tuple], target: int) -> list[tuple]:
    if len(points) <= target:
        return points
    inner = len(points) - 2
    starts = [bucket * inner // (target - 2) + 1 for bucket in range(target - 1)]
    picks = [points[0]]
    for bucket in range(target - 2):
        following = points[starts[bucket + 1] : starts[bucket + 2]] if bucket < target - 3 else points[-1:]
        x = math.fsum(p[3] - picks[-1][3] for p in following) / len(following)
        y = math.fsum(p[4] - picks[-1][4] for p in following) / len(following)
        bucket_points = points[starts[bucket] : starts[bucket + 1]]
        areas = [abs(x * (p[4] - picks[-1][4]) - y * (p[3] - picks[-1][3])) for p in bucket_points]
        picks.append(bucket_points[areas.index(max(areas))])
    return [*picks, points[-1]]


@LANES
@RANDOM
@given(table=SERIES, target=st.sampled_from([3, 4, 10, 100]), keys=KEYS, threads=THREADS)
def test_lttb(lane, connection, table, target, keys, threads):
    # whole numbers, so that areas are exact
    table.rows = [
        (*row[:4], row[4] and (math.floor(row[4]) if math.isfinite(row[4]) else row[4])) for row in table.rows
    ]
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    call = f"""LTTB(DATA => (SELECT k, n, time, v FROM t) PARTITION BY ({", ".join(keys)}) ORDER BY time,
        TIMECOL => 'time', N => {target})"""
    query = f"SELECT k, n, {back(table, 'v_time')}, v::VARCHAR FROM {call} WHERE v_time IS NOT NULL"
    actual = connection.execute(query).fetchall()
    counted = connection.execute(f"SELECT count(*) FROM {call}").fetchone()[0]
    expected, rows_expected = [], 0
    for rows in table.partitions():
        points = [row for row in rows if row[4] is not None and math.isfinite(row[4])]
        picked = triangles(points, target)
        rows_expected += max(len(picked), 1)
        expected += [(row[1], row[2], row[3], str(float(row[4]))) for row in picked]
    assert counted == rows_expected
    assert len(actual) == len(expected)
    assert Counter(map(text, actual)) == Counter(map(text, expected))


# ---------------------------------------------------------------- RESAMPLE


def filled(points: dict[int, object], times: list[int], at: int, rule: str, reach: float) -> object:
    """What a column has at a grid point, from its values by time that are not NULL."""
    if at in points:
        return points[at]
    place = bisect(times, at)
    before = times[place - 1] if place > 0 else -math.inf
    after = times[place] if place < len(times) else math.inf
    if rule == "locf" and at - before <= reach:
        return points.get(before)
    if rule == "next" and after - at <= reach:
        return points.get(after)
    if rule == "linear" and after - before <= reach and before in points and after in points:
        return points[before] + (points[after] - points[before]) * ((at - before) / (after - before))
    return None


def resampled(rows: list[tuple], size: int, rule: str, reach: float, bounds: tuple[int | None, int | None]):
    if not rows:
        return
    start, finish = bounds
    numbers = {row[3]: row[4] for row in rows if row[4] is not None}
    numbered = {row[3]: row[0] for row in rows}
    text_rule = "locf" if rule == "linear" else rule
    end = rows[-1][3] if finish is None else finish
    for at in range(-(-rows[0][3] // size) * size if start is None else start, end + 1, size):
        number = filled(numbers, list(numbers), at, rule, reach)
        yield (*rows[0][1:3], at, number, filled(numbered, list(numbered), at, text_rule, reach))


@LANES
@RANDOM
@given(
    table=TABLES,
    size=st.sampled_from([1, 3, 10, 60]),
    rule=st.sampled_from(["locf", "next", "linear", "null"]),
    max_gap=st.sampled_from([None, 0, 1, 5, 40]),
    # where START and FINISH lie among the rows, in hundredths
    bounds=st.tuples(st.sampled_from([None, 0, 30, 120]), st.sampled_from([None, 120, 130, 200])),
    keys=KEYS,
    threads=THREADS,
    regions=st.sampled_from([0, 0, 1, 3]),
)
def test_resample(lane, connection, tmp_path_factory, table, size, rule, max_gap, bounds, keys, threads, regions):
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    data, grouping = source(connection, table, regions, tmp_path_factory.mktemp)
    times = sorted(row[3] for row in table.rows) or [0]
    arguments = f", FILL => '{rule}'" + (f", MAX_GAP => {table.span(max_gap)}" if max_gap is not None else "")
    limits: list[int | None] = []
    for name, share in zip(["START", "FINISH"], bounds, strict=True):
        limits.append(None if share is None else times[0] + (times[-1] - times[0]) * share // 100)
        if share is not None:
            connection.execute(f"SET VARIABLE {name} = {TIMES[table.time_type][0].format(f'({limits[-1]})')}")
            arguments += f", {name} => getvariable('{name}')"
    call = f"""RESAMPLE(DATA => (SELECT k, n, r, time, v, repeat('r', 20) || r AS named FROM {data}) PARTITION BY
        ({", ".join(keys)}) ORDER BY (time, r), TIMECOL => 'time', SIZE => {table.span(size)}{arguments})"""
    reach = math.inf if max_gap is None else table.units(max_gap)
    expected = [
        row
        for rows in table.partitions()
        for row in resampled(rows, table.units(size), rule, reach, (limits[0], limits[1]))
    ]
    columns = f"k, n, {back(table, 'time')}, v, substr(named, 21)::INTEGER"
    check(connection, table, call, columns, expected, [grouping])


# ---------------------------------------------------------------- spectra


def spectra(connection, table: Table, call: str, keys: list[str]) -> dict[tuple, numpy.ndarray]:
    result: dict[tuple, list] = {}
    for row in connection.execute(
        f"SELECT COLUMNS(lambda c: c NOT IN ('k', 'n', 'time')), k, n FROM {call}"
    ).fetchall():
        result.setdefault(row[-2:], []).append(row[:-2])
    return {key: numpy.array(rows, dtype=float) for key, rows in result.items()}


def close(actual, expected) -> None:
    scale = max(1.0, numpy.nanmax(numpy.abs(expected), initial=0))
    numpy.testing.assert_allclose(actual, expected, rtol=0, atol=1e-11 * scale)


@LANES
@RANDOM
@given(
    table=SERIES,
    function=st.sampled_from(["FFT", "LOWPASS", "HIGHPASS", "XCORR"]),
    length=st.sampled_from([None, 1, 5, 64]),
    edge=st.sampled_from([0.1, 0.5, 0.9]),
    keys=KEYS,
    threads=THREADS,
)
def test_spectra(lane, connection, table, function, length, edge, keys, threads):
    if function == "FFT":
        table.rows = [(*row[:4], row[4] if row[4] is not None and math.isfinite(row[4]) else 7.0) for row in table.rows]
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    columns = "k, n, time, v, coalesce(v, 1) * r AS w" if function == "XCORR" else "k, n, time, v"
    arguments = {
        "FFT": f", SAMPLE_INTERVAL => {table.span(3)}" + (f", N => {length}" if length else ""),
        "LOWPASS": f", WPASS => {edge}",
        "HIGHPASS": f", WPASS => {edge}",
        "XCORR": "",
    }
    call = f"""{function}(DATA => (SELECT {columns} FROM t) PARTITION BY ({", ".join(keys)}) ORDER BY time,
        TIMECOL => 'time'{arguments[function]})"""
    if function == "FFT":
        call = f"(SELECT * EXCLUDE (frequency) FROM {call} ORDER BY k, n, frequency_index)"
    actual = spectra(connection, table, call, keys)
    assert set(actual) == {rows[0][1:3] for rows in table.partitions()}
    for rows in table.partitions():
        found = actual[rows[0][1:3]]
        values = numpy.array([math.nan if row[4] is None else row[4] for row in rows])
        finite = numpy.isfinite(values)
        if function == "FFT":
            expected = numpy.fft.fft(values, length)
            close(found[:, 1], expected.real)
            close(found[:, 2], expected.imag)
        elif function == "XCORR":
            other = numpy.array([(1.0 if row[4] is None else row[4]) * row[0] for row in rows])
            both = numpy.isfinite(other)
            with numpy.errstate(all="ignore"):
                sums = numpy.correlate(numpy.where(finite, values, 0), numpy.where(both, other, 0), "full")
                pairs = numpy.correlate(finite.astype(float), both.astype(float), "full")
            pairs = numpy.round(pairs)
            assert (numpy.isnan(found[:, 0]) == (pairs == 0)).all()
            close(found[pairs > 0, 0], sums[pairs > 0] / pairs[pairs > 0])
        else:
            spectrum = numpy.fft.fft(values[finite]) if finite.any() else numpy.array([])
            count = len(spectrum)
            if function == "LOWPASS":
                first = math.ceil(edge * count / 2)
                spectrum[first : count - first + 1] = 0
            else:
                last = math.floor(edge * count / 2)
                spectrum[: last + 1] = 0
                spectrum[max(count - last, 0) :] = 0
            assert (numpy.isnan(found[:, 0]) == ~finite).all()
            if count:
                close(found[finite, 0], numpy.fft.ifft(spectrum).real)


# ---------------------------------------------------------------- functions in each other


def capacities(rows: list[tuple], size: int, slide: int) -> list[tuple]:
    return [
        (window, *row)
        for i, row in enumerate(rows)
        for window in range(i // slide + 1)
        if window * slide <= i < window * slide + size
    ]


STEPS = st.one_of(
    st.tuples(st.just("SESSION"), st.sampled_from([0, 1, 5, 50])),
    st.tuples(st.just("VARIATION"), st.sampled_from([0, 0.5, 4])),
    st.tuples(st.just("CAPACITY"), st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.just("HOP"), st.integers(1, 6), st.integers(2, 6)),
)


@LANES
@RANDOM
@given(table=TABLES, steps=st.lists(STEPS, min_size=2, max_size=5), data=st.data(), threads=THREADS)
def test_functions_in_each_other(lane, connection, table, steps, data, threads):
    """Functions of every kind in one pipeline; a row function may lie between and takes nothing of it apart."""
    table.create(connection)
    connection.execute(f"SET threads = {threads}")
    call, decisions = "t", []
    partitions = [[("", *row) for row in rows] for rows in table.partitions()]
    origin = min((row[3] for row in table.rows), default=0)
    connection.execute(f"SET VARIABLE origin = {TIMES[table.time_type][0].format(f'({origin})')}")
    for function, *numbers in steps:
        if decisions:
            call = f"(SELECT r, n, time, k, v FROM {call})"
        partitions = [[row[-5:] for row in rows] for rows in partitions]
        column = "window_index"
        if function == "HOP":
            size, slide = numbers
            column = back(table, "window_start")
            call = f"""HOP(DATA => {call}, SIZE => {table.span(size)}, SLIDE => {table.span(slide)},
                ORIGIN => getvariable('origin'))"""
            lengths = table.units(size), table.units(slide)
            partitions = [
                [(window[0], *row) for row in rows for window in windows_of("HOP", row[3], *lengths, origin)]
                for rows in partitions
            ]
            decisions.append("rows")
            continue
        decisions.append("fused" if set(decisions) & {"hashed", "fused"} else "hashed")
        argument = f"{call} PARTITION BY ({', '.join(data.draw(KEYS))}) ORDER BY (time, r)"
        if function == "SESSION":
            column = back(table, "window_start")
            call = f"SESSION(DATA => {argument}, GAP => {table.span(numbers[0])})"
            partitions = [
                [(row[0], *row[2:]) for row in sessions(rows, table.units(numbers[0]))] for rows in partitions
            ]
        elif function == "VARIATION":
            call = f"VARIATION(DATA => {argument}, COL => 'v', DELTA => {numbers[0]})"
            partitions = [variations(rows, numbers[0], True) for rows in partitions]
        else:
            call = f"CAPACITY(DATA => {argument}, SIZE => {numbers[0]}, SLIDE => {numbers[1]})"
            partitions = [capacities(rows, *numbers) for rows in partitions]
    expected = [row for rows in partitions for row in rows]
    check(connection, table, call, f"{column}, r, k, n, {back(table, 'time')}, v", expected, decisions)
