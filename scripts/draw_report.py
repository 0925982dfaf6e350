"""Draws docs/report.png: the page of merganser.report() on TPC-H Q10 without its filters, as a browser shows it.

Needs Chromium (Debian: apt-get install chromium). `--phone` and `--dark` show the page as it is there; `--page` another
page than the picture's.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import merganser
from make_tpch import make_tpch

ROOT = Path(__file__).parents[1]
QUERY = """-- TPC-H Q10 without its filters
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone,
       c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey
GROUP BY ALL ORDER BY revenue DESC LIMIT 20"""
DESKTOP = (1280, 1850)
PHONE = (390, 3000)


def make_page(path: Path) -> None:
    with merganser.connect(runner="") as connection:
        for file in sorted(make_tpch(0.1).glob("*.parquet")):
            connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")
        for table, key in (("customer", "c_custkey"), ("nation", "n_nationkey")):
            connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY ({key}) NOT ENFORCED RELY")
        connection.execute(QUERY).fetchall()  # so that the figures are not those of a cold start
        merganser.report(connection, QUERY, path)


def draw(page: Path, picture: Path, size: tuple[int, int], dark: bool) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("a browser is needed to draw the page; run: apt-get install chromium")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    options += [f"--window-size={size[0]},{size[1]}", f"--screenshot={picture.resolve()}"]
    options += ["--blink-settings=preferredColorScheme=0"] if dark else []
    subprocess.run([browser, *options, page.resolve().as_uri()], check=True, timeout=120, stderr=subprocess.DEVNULL)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--page", type=Path, help="a page to draw; without it, that of the documentation is made")
    arguments.add_argument("--output", type=Path, default=ROOT / "docs" / "report.png")
    arguments.add_argument("--phone", action="store_true")
    arguments.add_argument("--dark", action="store_true")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.page or Path(folder) / "report.html"
        if options.page is None:
            make_page(page)
        draw(page, options.output, PHONE if options.phone else DESKTOP, options.dark)


if __name__ == "__main__":
    main()
