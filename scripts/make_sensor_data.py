"""Generate sensor data as Parquet regions: data/sensor/<rows>_<devices>_<regions>/region_0.parquet and so on.

Columns: plant, device, tag1, tag2, tag3 (text), time, temperature, pressure, status.
(tag1, tag2, tag3) is one device, as is `device`; a plant has many. Every region holds whole devices and is sorted by
(device, time), which is also (tag1, tag2, tag3, time); a plant may span two regions.

Two in forty steps from one reading to the next are special: one is longer than the gap and starts a new session, one
is exactly the gap, which tells a closed comparison from a half-open one. The same arguments give the same data.
"""

import argparse
from pathlib import Path

import duckdb
import numpy
import pyarrow
from built_once import DATA, built_once

SPECIAL_STEPS = 40  # one step in so many breaks a session, and one in so many is exactly the gap
START = "TIMESTAMP '2026-01-01'"
REGION_QUERY = f"""
    SELECT format('plant{{:03d}}', device // 1000) AS plant,
           format('device{{:07d}}', device) AS device,
           format('a{{:03d}}', device // 10000) AS tag1,
           format('b{{:02d}}', device // 100 % 100) AS tag2,
           format('c{{:02d}}', device % 100) AS tag3,
           {START} + to_seconds(seconds) AS time,
           temperature, pressure, status
    FROM readings
"""


def readings(devices: range, rows_per_device: int, gap_seconds: int, seed: int) -> pyarrow.Table:
    """The rows of some devices, in order; the same for a device whichever region it is in."""

    def random(stream: int) -> numpy.ndarray:
        generator = numpy.random.PCG64([seed, stream]).advance(devices.start * rows_per_device)
        return numpy.random.Generator(generator).random((len(devices), rows_per_device))

    kind, length, temperature, pressure = map(random, range(4))
    steps = 1 + (length * (gap_seconds - 1)).astype(numpy.int64)
    steps = numpy.where(kind < 2 / SPECIAL_STEPS, gap_seconds, steps)
    steps = numpy.where(
        kind < 1 / SPECIAL_STEPS, gap_seconds + 1 + (length * 10 * gap_seconds).astype(numpy.int64), steps
    )
    columns = {
        "device": numpy.repeat(numpy.asarray(devices, dtype=numpy.int64), rows_per_device),
        "seconds": steps.cumsum(axis=1).ravel(),
        "temperature": (15 + 10 * temperature).round(2).ravel(),
        "pressure": (950 + 100 * pressure).round(1).ravel(),
        "status": (kind * 8).astype(numpy.int32).ravel(),
    }
    return pyarrow.table(columns)


def make_sensor_data(
    rows: int, devices: int, regions: int, *, gap_seconds: int = 60, seed: int = 42, data: Path = DATA
) -> Path:
    """Return the folder with the region files; generated only the first time.

    Raises ValueError where the rows cannot be spread evenly over the devices, or a region would have no device.
    """
    if devices < 1 or rows % devices or not 1 <= regions <= devices:
        raise ValueError(
            f"{rows} rows of {devices} devices in {regions} regions: rows must be a multiple of devices, "
            "and every region needs a device"
        )

    def generate(folder: Path) -> None:
        folder.mkdir()
        bounds = [devices * i // regions for i in range(regions + 1)]
        with duckdb.connect() as connection:
            for region in range(regions):
                owned = range(bounds[region], bounds[region + 1])
                connection.register("readings", readings(owned, rows // devices, gap_seconds, seed))
                connection.execute(f"COPY ({REGION_QUERY}) TO '{folder}/region_{region}.parquet' (FORMAT parquet)")

    name = f"{rows}_{devices}_{regions}" + (f"_gap{gap_seconds}" if gap_seconds != 60 else "")
    return built_once(data / "sensor" / (name + (f"_seed{seed}" if seed != 42 else "")), generate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--regions", type=int, default=8)
    parser.add_argument("--gap-seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    print(make_sensor_data(**vars(arguments)))


if __name__ == "__main__":
    main()
