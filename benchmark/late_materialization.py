"""Measure late materialisation on wide reports over TPC-H: wall and CPU seconds, peak memory, rows compared.

    python benchmark/late_materialization.py --scale 1 [--storage parquet native] [--runs 5] [--memory-limit 2GB]
                                              [--peers PYTHON]

Forms measured, in turn, each run in a process of its own:
    plain       the query in DuckDB without the extension
    any_value   the same, rewritten by hand to group by the key and any_value() of the rest
    merganser   the plain query with primary keys declared
    with_fk     the plain query with foreign keys declared as well
    narrow      the query one would write by hand without knowing the foreign keys, in DuckDB without the extension
    polars, datafusion   the plain query over Parquet, where --peers names a Python that has them
Rows of all forms must be equal; numbers may differ by a relative 1e-9, because engines add up in another order.
The last line is JSON: every median, and for each report and storage the ratios of the plain query to the others.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import duckdb
import merganser
import tpch
from reports import Report, reports
from rich import box
from rich.console import Console
from rich.table import Table

TOLERANCE = 1e-9
RUNNER = Path(__file__).with_name("run_query.py")
PEERS = ("polars", "datafusion")


class Form:
    """One way to run a report: which engine, which text, after which statements."""

    def __init__(self, name: str, engine: str, text: str, statements: list[str] = (), python: str = sys.executable):
        self.name, self.engine, self.text, self.statements, self.python = name, engine, text, statements, python
        self.samples: list[dict] = []

    def run(self, job: dict) -> None:
        job = {**job, "engine": self.engine, "sql": self.text, "statements": list(self.statements)}
        done = subprocess.run([self.python, RUNNER, json.dumps(job)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.name} failed on: {self.text}\n{done.stderr}")
        self.samples.append(json.loads(done.stdout))

    def values(self, measure: str) -> list[float]:
        return [sample[measure] for sample in self.samples]

    def median(self, measure: str) -> float:
        return statistics.median(self.values(measure))


def main() -> None:
    arguments = parsed_arguments()
    console = Console(highlight=False, width=110)
    console.print(machine())
    results = []
    for storage in arguments.storage:
        job = where(storage, arguments.scale)
        for report in reports():
            if arguments.reports and report.name not in arguments.reports:
                continue
            forms = forms_of(report, storage, arguments.peers)
            if arguments.memory_limit:
                limit(forms, arguments.memory_limit)
            for _ in range(arguments.runs):
                for form in forms:
                    form.run(job)
            require_equal_rows(report, forms)
            console.print(as_table(f"{report.name}, {storage}, scale {arguments.scale:g}", forms))
            results.append(as_result(report, storage, forms))
    summary = {
        "machine": machine(),
        "scale": arguments.scale,
        "runs": arguments.runs,
        "memory_limit": arguments.memory_limit,
        "results": results,
    }
    print(json.dumps(summary))


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor (default: 1)")
    parser.add_argument("--storage", nargs="+", choices=("parquet", "native"), default=["parquet", "native"])
    parser.add_argument("--reports", nargs="+", metavar="NAME", help='only these, for example "Q10 unfiltered"')
    parser.add_argument("--runs", type=int, default=5, help="runs of each form (default: 5)")
    parser.add_argument("--quick", action="store_true", help="short form: Q10 and Q10 unfiltered, 3 runs")
    parser.add_argument(
        "--memory-limit", metavar="SIZE", help="DuckDB's memory_limit, such as 2GB; beyond it DuckDB spills"
    )
    parser.add_argument("--peers", metavar="PYTHON", help="a Python interpreter that has polars and datafusion")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.runs, arguments.reports = 3, ["Q10", "Q10 unfiltered"]
    return arguments


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"DuckDB {duckdb.__version__}, Merganser {merganser.__version__}"
    )


def where(storage: str, scale: float) -> dict:
    if storage == "native":
        return {"database": str(tpch.native_database(scale)), "tables": {}}
    folder = tpch.parquet_folder(scale)
    return {"database": "", "tables": {table: str(folder / f"{table}.parquet") for table in tpch.TABLES}}


def forms_of(report: Report, storage: str, peers: str | None) -> list[Form]:
    texts = report.forms()
    kind = "TABLE" if storage == "native" else "VIEW"
    forms = [
        Form("plain", "duckdb", texts["plain"]),
        Form("any_value", "duckdb", texts["any_value"]),
        Form("merganser", "merganser", texts["plain"], tpch.key_statements(kind)),
        Form("with_fk", "merganser", texts["plain"], tpch.key_statements(kind, foreign_keys=True)),
        Form("narrow", "duckdb", texts["narrow"]),
    ]
    if peers and storage == "parquet":
        forms += [Form(peer, peer, texts["plain"], python=peers) for peer in PEERS]
    return forms


def limit(forms: list[Form], memory_limit: str) -> None:
    for form in forms:
        if form.engine in ("duckdb", "merganser"):
            form.statements = [f"SET memory_limit = '{memory_limit}'", *form.statements]


def require_equal_rows(report: Report, forms: list[Form]) -> None:
    expected = forms[0].samples[0]["rows"]
    for form in forms:
        for sample in form.samples:
            if not equal(expected, sample["rows"]):
                raise SystemExit(f"{report.name}: {form.name} returns other rows than the plain query")


def equal(left: object, right: object) -> bool:
    """Rows as JSON gives them; decimals and floats both compare as numbers."""
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equal, left, right))
    if left == right:
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=TOLERANCE)
    except (TypeError, ValueError):
        return str(left) == str(right)


def as_table(title: str, forms: list[Form]) -> Table:
    plain = forms[0]
    table = Table(title=title, title_justify="left", box=box.ASCII2)
    for heading in ("form", "wall s", "min - max", "CPU s", "min - max", "peak MB", "plain / wall", "plain / CPU"):
        table.add_column(heading, justify="left" if heading == "form" else "right")
    for form in forms:
        table.add_row(
            form.name,
            *(cell for measure in ("wall", "cpu") for cell in median_and_spread(form.values(measure))),
            f"{form.median('peak_mb'):.0f}",
            f"{plain.median('wall') / form.median('wall'):.2f}x",
            f"{plain.median('cpu') / form.median('cpu'):.2f}x",
        )
    return table


def median_and_spread(values: list[float]) -> tuple[str, str]:
    return f"{statistics.median(values):.3f}", f"{min(values):.3f} - {max(values):.3f}"


def as_result(report: Report, storage: str, forms: list[Form]) -> dict:
    plain = forms[0]
    return {
        "report": report.name,
        "storage": storage,
        "forms": {
            form.name: {
                **{m: round(form.median(m), 4) for m in ("wall", "cpu", "peak_mb")},
                "ratio_wall": round(plain.median("wall") / form.median("wall"), 3),
                "ratio_cpu": round(plain.median("cpu") / form.median("cpu"), 3),
            }
            for form in forms
        },
    }


if __name__ == "__main__":
    main()
