"""Measure late materialisation on the shapes in which reports are written, over TPC-H: wall and CPU seconds, medians.

    python benchmark/report_shapes.py --scale 1 [--shapes NAME ...] [--storage parquet parquet8 native] [--runs 3]
                                      [--quick]

Each shape is measured in four forms, in turn, each run in a process of its own:
    off        the query in DuckDB without the extension
    declared   the query with primary and foreign keys declared
    proved     the query with nothing declared: whatever keys the extension finds by itself, their proof included
    by_hand    what one would write by hand, in DuckDB without the extension
over one Parquet file a table, over eight (nation and region stay whole), and over DuckDB's own tables.
A query that returns many rows fills a temporary table, as CREATE TABLE AS would, and its rows are compared by a hash of
each, in order where the query has one. Rows of all forms are equal, or the program fails.
The last line is JSON: every median, the ratios of `off` to the others, and how far `declared` is from `by_hand`.
"""

import argparse
import json
from pathlib import Path

import duckdb
import tpch
from rich import box
from rich.console import Console
from rich.table import Table
from shapes_of_reports import SHAPES, Shape

import late_materialization
from late_materialization import Form, machine

STORAGES = ("parquet", "parquet8", "native")
FORMS = ("off", "declared", "proved", "by_hand")
QUICK = ("no limit", "left join", "order by name")
WHOLE = ("nation", "region")


def main() -> None:
    arguments = parsed_arguments()
    console = Console(highlight=False, width=118)
    console.print(machine())
    results = []
    for storage in arguments.storage:
        job = where(storage, arguments.scale)
        for shape in SHAPES:
            if arguments.shapes and shape.name not in arguments.shapes:
                continue
            forms = forms_of(shape, "TABLE" if storage == "native" else "VIEW")
            for _ in range(arguments.runs):
                for form in forms:
                    form.run({**job, "check": shape.check()})
            require_equal_rows(shape, forms)
            console.print(as_table(f"{shape.name}, {storage}, scale {arguments.scale:g}", forms))
            results.append(as_result(shape, storage, forms))
    summary = {"machine": machine(), "scale": arguments.scale, "runs": arguments.runs, "results": results}
    print(json.dumps(summary))


def parsed_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, help="TPC-H scale factor (default: 1)")
    parser.add_argument("--shapes", nargs="+", metavar="NAME", choices=[shape.name for shape in SHAPES])
    parser.add_argument("--storage", nargs="+", choices=STORAGES, default=list(STORAGES))
    parser.add_argument("--runs", type=int, default=3, help="runs of each form (default: 3)")
    parser.add_argument("--quick", action="store_true", help=f"short form: {', '.join(QUICK)}; over Parquet")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.shapes, arguments.storage = list(QUICK), ["parquet"]
    return arguments


def where(storage: str, scale: float) -> dict:
    if storage != "parquet8":
        return late_materialization.where(storage, scale)
    folder = eight_files(scale)
    return {"database": "", "tables": {table: str(folder / table / "*.parquet") for table in tpch.TABLES}}


def eight_files(scale: float) -> Path:
    """A folder for each table: lineitem/0.parquet to lineitem/7.parquet and so on; nation and region in one file."""
    source = tpch.parquet_folder(scale)

    def generate(folder: Path) -> None:
        with duckdb.connect() as connection:
            for table in tpch.TABLES:
                (folder / table).mkdir(parents=True)
                files = 1 if table in WHOLE else 8
                rows = f"FROM read_parquet('{source / table}.parquet', file_row_number = true)"
                count = connection.execute(f"SELECT count(*) {rows}").fetchone()[0]
                for number in range(files):
                    first, last = number * count // files, (number + 1) * count // files
                    connection.execute(
                        f"COPY (SELECT * EXCLUDE file_row_number {rows} WHERE file_row_number >= {first} "
                        f"AND file_row_number < {last}) TO '{folder / table / str(number)}.parquet'"
                    )

    return tpch.built_once(tpch.DATA / "tpch" / f"sf{scale:g}_8files", generate)


def forms_of(shape: Shape, kind: str) -> list[Form]:
    return [
        Form("off", "duckdb", shape.measured(shape.query)),
        Form("declared", "merganser", shape.measured(shape.query), tpch.key_statements(kind, foreign_keys=True)),
        Form("proved", "merganser", shape.measured(shape.query)),
        Form("by_hand", "duckdb", shape.measured(shape.by_hand)),
    ]


def require_equal_rows(shape: Shape, forms: list[Form]) -> None:
    expected = forms[0].samples[0]["rows"]
    for form in forms:
        for sample in form.samples:
            if sample["rows"] != expected:
                raise SystemExit(f"{shape.name}: {form.name} returns other rows than DuckDB without the extension")


def ratio(forms: list[Form], name: str, measure: str, to: str = "off") -> float:
    medians = {form.name: form.median(measure) for form in forms}
    return medians[to] / medians[name]


def as_table(title: str, forms: list[Form]) -> Table:
    table = Table(title=title, title_justify="left", box=box.ASCII2)
    for heading in ("form", "wall s", "CPU s", "off / wall", "off / CPU"):
        table.add_column(heading, justify="left" if heading == "form" else "right")
    for form in forms:
        table.add_row(
            form.name,
            f"{form.median('wall'):.3f}",
            f"{form.median('cpu'):.3f}",
            f"{ratio(forms, form.name, 'wall'):.2f}x",
            f"{ratio(forms, form.name, 'cpu'):.2f}x",
        )
    return table


def as_result(shape: Shape, storage: str, forms: list[Form]) -> dict:
    return {
        "shape": shape.name,
        "storage": storage,
        "forms": {
            form.name: {
                "wall": round(form.median("wall"), 4),
                "cpu": round(form.median("cpu"), 4),
                "ratio_wall": round(ratio(forms, form.name, "wall"), 3),
                "ratio_cpu": round(ratio(forms, form.name, "cpu"), 3),
            }
            for form in forms
        },
        "declared_to_by_hand_cpu": round(ratio(forms, "by_hand", "cpu", to="declared"), 3),
    }


if __name__ == "__main__":
    main()
