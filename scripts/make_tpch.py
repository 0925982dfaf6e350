"""Generate TPC-H tables as Parquet files, one per table: data/tpch/sf<scale>/customer.parquet and so on."""

import argparse
import subprocess
import sysconfig
from pathlib import Path

from built_once import DATA, built_once

GENERATOR = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"


def make_tpch(scale: float, data: Path = DATA) -> Path:
    """Return the folder with the eight Parquet files of this scale factor; generated only the first time."""

    def generate(folder: Path) -> None:
        command = [GENERATOR, "parquet", "--scale-factor", f"{scale:g}", "--output-dir", folder]
        subprocess.run(command, check=True, capture_output=True)

    return built_once(data / "tpch" / f"sf{scale:g}", generate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="scale factor; 1 is about 1 GB of raw data (default: 1)")
    print(make_tpch(parser.parse_args().scale))


if __name__ == "__main__":
    main()
