"""SESSION in Polars, by hand: right only while every partition's rows stand together, in order, in the files' order.

    PYTHON_WITH_POLARS benchmark/polars_sessions.py FOLDER GAP_SECONDS

Numbers the sessions by shifts and a running sum, then aggregates as the other cases of table_functions.py do: Polars is
not asked for the window's bounds, nor for the rows. Prints one JSON object: wall, cpu, peak_mb, version and the result.
"""

import json
import re
import sys
import time
from pathlib import Path

import polars

KEYS = ("tag1", "tag2", "tag3")


def sessions(folder: Path, gap_seconds: int) -> polars.LazyFrame:
    same = polars.all_horizontal(polars.col(key) == polars.col(key).shift() for key in KEYS)
    near = polars.col("time") - polars.col("time").shift() <= polars.duration(seconds=gap_seconds)
    starts = ~(same & near).fill_null(value=False)
    rows = polars.scan_parquet(f"{folder}/*.parquet").select(*KEYS, "time", "temperature")
    return rows.with_columns(number=starts.cum_sum())


def main() -> None:
    folder, gap_seconds = Path(sys.argv[1]), int(sys.argv[2])
    wall, cpu = time.perf_counter(), time.process_time()
    seen = sessions(folder, gap_seconds).select(
        polars.len(), *(polars.col(column).max() for column in (*KEYS, "time", "number"))
    )
    row = seen.collect(engine="streaming").row(0)
    result = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024
    print(json.dumps({**result, "peak_mb": peak, "version": polars.__version__, "row": row}, default=str))


if __name__ == "__main__":
    main()
