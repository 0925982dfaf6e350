"""Generate a TPC-DS database, data/tpcds/sf<scale>.duckdb, with the tpcds extension compiled from DuckDB's sources."""

import argparse
from pathlib import Path

import duckdb
from built_once import DATA, ROOT, built_once


def benchmark_extension(name: str, build: Path = ROOT / "build" / "release") -> Path:
    """Path of DuckDB's tpch or tpcds extension, compiled against the wheel; raises FileNotFoundError if it is not."""
    path = build / f"{name}.duckdb_extension"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; run `make test-programs` first")
    return path


def make_tpcds(scale: float, data: Path = DATA) -> Path:
    """Return the path of the database file of this scale factor; generated only the first time."""

    def generate(database: Path) -> None:
        with duckdb.connect(database, config={"allow_unsigned_extensions": "true"}) as connection:
            connection.load_extension(str(benchmark_extension("tpcds")))
            connection.execute(f"CALL dsdgen(sf = {scale:g})")

    return built_once(data / "tpcds" / f"sf{scale:g}.duckdb", generate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="scale factor (default: 1)")
    print(make_tpcds(parser.parse_args().scale))


if __name__ == "__main__":
    main()
