"""M4 against plain SQL; LTTB against exact arithmetic and against DuckDB's aggregate; over random series."""

from fractions import Fraction

import merganser
import pytest


@pytest.fixture(params=[3, 1000])
def connection(request):
    with merganser.connect() as opened:
        opened.execute(
            f"""CREATE TABLE signal AS
            SELECT p, i * 3 AS t,
                CASE WHEN hash(p, i, 1) % 5 > 0 THEN (hash(p, i, 2) % {request.param})::INTEGER - 50 END AS v
            FROM range(5) partitions(p), range(3000) times(i)"""
        )
        yield opened


@pytest.mark.parametrize(("size", "slide"), [(1, 1), (10, 10), (100, 30), (30, 100), (100000, 100000)])
def test_m4_is_four_arg_aggregates(connection, size, slide):
    actual = connection.execute(
        f"""SELECT window_index, p, v_time, v FROM M4(DATA => TABLE(signal) PARTITION BY p ORDER BY t,
            TIMECOL => 't', SIZE => {size}, SLIDE => {slide}) ORDER BY ALL"""
    ).fetchall()
    expected = connection.execute(
        f"""WITH numbered AS (SELECT *, row_number() OVER (PARTITION BY p ORDER BY t) - 1 AS i FROM signal),
            windowed AS (
                SELECT k, p, t, v FROM numbered, LATERAL (SELECT unnest(range(greatest(0, (i - {size}) // {slide} - 1),
                    i // {slide} + 1)) AS k)
                WHERE i BETWEEN k * {slide} AND k * {slide} + {size} - 1 AND v IS NOT NULL),
            picked AS (
                SELECT k, p, unnest([min(t), max(t), arg_min(t, v * 100000 + t), arg_max(t, v * 100000 - t)]) AS t
                FROM windowed GROUP BY k, p)
            SELECT DISTINCT k, picked.p, picked.t, v FROM picked JOIN signal USING (p, t) ORDER BY ALL"""
    ).fetchall()
    assert actual == expected


def largest_triangles(points: list[tuple[int, int]], target: int) -> list[tuple[int, int]]:
    """LTTB without rounding; of equal triangles the earliest."""
    if len(points) <= target:
        return points
    inner = len(points) - 2
    starts = [bucket * inner // (target - 2) + 1 for bucket in range(target - 1)]
    picks = [points[0]]
    for bucket in range(target - 2):
        following = points[starts[bucket + 1] : starts[bucket + 2]] if bucket < target - 3 else points[-1:]
        x, y = (Fraction(sum(point[axis] for point in following), len(following)) - picks[-1][axis] for axis in (0, 1))
        areas = [
            abs(x * (point[1] - picks[-1][1]) - y * (point[0] - picks[-1][0]))
            for point in points[starts[bucket] : starts[bucket + 1]]
        ]
        picks.append(points[starts[bucket] + areas.index(max(areas))])
    return [*picks, points[-1]]


def lttb(connection, points: int) -> list[tuple]:
    return connection.execute(
        f"""SELECT p, v_time, v FROM LTTB(DATA => TABLE(signal) PARTITION BY p ORDER BY t, TIMECOL => 't',
            N => {points}) ORDER BY ALL"""
    ).fetchall()


@pytest.mark.parametrize("points", [3, 4, 50, 1200, 5000])
def test_lttb_is_exact(connection, points):
    expected = []
    for partition in range(5):
        series = connection.execute(
            "SELECT t, v FROM signal WHERE p = ? AND v IS NOT NULL ORDER BY t", [partition]
        ).fetchall()
        expected += [(partition, *point) for point in largest_triangles(series, points)]
    assert lttb(connection, points) == expected


@pytest.mark.parametrize("points", [3, 4, 50, 999, 5000])
@pytest.mark.parametrize("connection", [1000], indirect=True)
def test_lttb_is_the_aggregate(connection, points):
    expected = connection.execute(
        f"""SELECT p, point.x::BIGINT, point.y::INTEGER FROM (SELECT p, unnest(lttb(t, v, {points} ORDER BY t)) AS point
            FROM signal WHERE v IS NOT NULL GROUP BY p) ORDER BY ALL"""
    ).fetchall()
    assert lttb(connection, points) == expected
