"""What Merganser does, shown on data made here: run by `make demo`, size by `make demo SCALE=0.1`.

Each part is a module with a function `show(console, scale)`; PARTS is the order they run in.
"""

import argparse
import os

import demo_late_materialization
import demo_stages
import demo_table_functions
import duckdb
import merganser
from rich.console import Console

PARTS = (demo_late_materialization, demo_table_functions, demo_stages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scale", type=float, default=1, help="size; 1 is 6 million rows of TPC-H and 4 million readings (default: 1)"
    )
    scale = parser.parse_args().scale
    console = Console(highlight=False, soft_wrap=False)
    console.print(
        f"Merganser {merganser.__version__} in DuckDB {duckdb.__version__} from PyPI, {os.cpu_count()} cores, "
        f"size {scale:g}"
    )
    for part in PARTS:
        part.show(console, scale)


if __name__ == "__main__":
    main()
