"""Two partitions whose keys have the same hash stay two partitions.

The hashed grouping sorts by hash(k1, k2, k3), so keys that collide arrive mixed, row by row. DuckDB's hash of a BIGINT
can be undone, which makes colliding keys easy to find: for any first two columns there is a third.
"""

import pytest

BITS = 1 << 64
MIX = 0xD6E8FEB86659FD93
UNMIX = pow(MIX, -1, BITS)


def hash_of(value: int) -> int:
    value %= BITS
    for _ in range(2):
        value = (value ^ (value >> 32)) * MIX % BITS
    return value ^ (value >> 32)


def value_of(hashed: int) -> int:
    hashed ^= hashed >> 32
    for _ in range(2):
        hashed = hashed * UNMIX % BITS
        hashed ^= hashed >> 32
    return hashed


def combined(first: int, second: int) -> int:
    return (first ^ (first >> 32)) * MIX % BITS ^ second


def colliding_key(first: int, second: int, wanted: int) -> tuple[int, int, int]:
    """The key that starts with these two values and has the wanted hash."""
    before = combined(combined(hash_of(first), hash_of(second)), 0)
    third = value_of(before ^ wanted)
    return first, second, third - BITS if third >= BITS // 2 else third


@pytest.fixture
def collided(connection):
    """Four keys of one hash, their rows mixed by time, among 300 other keys; no layout is looked for."""
    connection.execute("SET merganser_ordered_windows_min_rows = 1000000000000")
    keys = [colliding_key(i, -i, 12345) for i in range(4)]
    connection.execute("CREATE TABLE keys (a BIGINT, b BIGINT, c BIGINT)")
    connection.executemany("INSERT INTO keys VALUES (?, ?, ?)", keys)
    assert connection.execute("SELECT count(DISTINCT hash(a, b, c)), count(*) FROM keys").fetchone() == (1, 4)
    connection.execute("INSERT INTO keys SELECT i, i, i FROM range(1000, 1300) t(i)")
    connection.execute("""
        CREATE TABLE readings AS SELECT a, b, c, i * 7919 % 5000 AS time, i AS value FROM keys, range(5000) t(i)
        WHERE (i + a) % 3 > 0 OR i % 100 = 0""")
    return connection


@pytest.mark.parametrize("threads", [1, 4])
def test_partitions_with_one_hash_are_told_apart(collided, threads):
    collided.execute(f"SET threads = {threads}")
    call = """SELECT * FROM SESSION(DATA => TABLE(readings) PARTITION BY (a, b, c) ORDER BY time, GAP => 1)"""
    assert "Partition By: hash(a, b, c)" in collided.execute(f"EXPLAIN {call}").fetchone()[1]
    windows = """
        SELECT min(time) OVER s AS window_start, max(time) OVER s AS window_end, a, b, c, time, value
        FROM (SELECT *, sum(starts) OVER (PARTITION BY a, b, c ORDER BY time) AS number
              FROM (SELECT *, (time - lag(time) OVER (PARTITION BY a, b, c ORDER BY time) <= 1 IS NOT TRUE)::INT
                              AS starts FROM readings))
        WINDOW s AS (PARTITION BY a, b, c, number)"""
    difference = f"(({call}) EXCEPT ALL ({windows})) UNION ALL (({windows}) EXCEPT ALL ({call}))"
    assert collided.execute(f"SELECT count(*) FROM ({difference})").fetchone() == (0,)
    assert collided.execute(f"SELECT count(*) FROM ({call})").fetchone()[0] > 300 * 3000


def test_partitions_with_one_hash_and_no_order(collided):
    counted = """
        SELECT a, b, c, count(*) FROM CAPACITY(DATA => TABLE(readings) PARTITION BY (a, b, c), SIZE => 10)
        GROUP BY ALL"""
    expected = "SELECT a, b, c, count(*) FROM readings GROUP BY ALL"
    assert collided.execute(f"({counted}) EXCEPT ({expected})").fetchall() == []
