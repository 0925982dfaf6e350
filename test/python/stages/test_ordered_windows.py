"""Windows over data in order, in stages: tasks compute them, and rows are those of plain DuckDB."""

import merganser
import pytest
from staged import check, cut_everything, reasons

CALLS = "lag(v) OVER w AS a, sum(v) OVER w AS b, row_number() OVER w AS c, max(v) OVER (PARTITION BY k) AS d"
OVER = "WINDOW w AS (PARTITION BY k ORDER BY time)"


@pytest.fixture
def connection(tmp_path):
    with merganser.connect() as opened:
        opened.execute("SET merganser_ordered_windows_min_rows = 0")
        opened.execute(
            "CREATE TABLE t AS SELECT i // 100 AS k, i % 100 * 7 AS time, hash(i) % 50 AS v FROM range(20000) r(i)"
        )
        opened.execute(
            f"COPY t TO '{tmp_path}/regions' (FORMAT merganser_regions, PARTITION_BY (k), ORDER_BY (time), REGIONS 6)"
        )
        opened.execute(f"CREATE VIEW sensor AS FROM read_parquet('{tmp_path}/regions/*.parquet')")
        cut_everything(opened)
        yield opened


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("sensor", "rows by PARTITION BY of the windows"),
        ("SESSION(DATA => sensor PARTITION BY k ORDER BY time, GAP => 7)", "reads whole regions"),
        (f"(SELECT k, time, v, {CALLS.replace(' AS ', ' AS of_')} FROM sensor {OVER})", "rows by PARTITION BY"),
    ],
)
def test_tasks_compute_windows(connection, rows, reason):
    query = f"SELECT *, {CALLS} FROM {rows} {OVER}"
    assert check(connection, query) > 1
    assert reason in reasons(connection, query)
