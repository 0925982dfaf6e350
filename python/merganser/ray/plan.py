"""The plan document (src/runners/plan_document.hpp) as objects, and the SQL of a task."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Input:
    """A relation in the SQL of a stage that stands for an exchange: of another stage, or one the session wrote."""

    name: str
    stage: int | None
    sent: int | None
    all: bool


@dataclass(frozen=True)
class Scan:
    """A relation in the SQL of a stage that stands for a slice of files; one SELECT for each task."""

    name: str
    rows: int
    slices: list[str]


@dataclass(frozen=True)
class Database:
    """A database file that workers attach for reading; `changed` is its time in nanoseconds."""

    name: str
    path: str
    bytes: int
    changed: int


@dataclass(frozen=True)
class FilesOf:
    """Stands in SQL for the list of the exchange files of an input."""

    input: str


@dataclass(frozen=True)
class Stage:
    number: int
    sql: str
    tasks: int
    partitions: int
    write: str
    inputs: list[Input]
    scans: list[Scan]
    partitioning: str
    reads: str
    estimated_rows: int

    def task_sql(self, task: int, target: str) -> "list[str | FilesOf]":
        """The statement of one task in parts: text, and where the list of an input's exchange files goes."""
        relations: list[list[str | FilesOf]] = []
        for scan in self.scans:
            relations.append([f"{scan.name} AS NOT MATERIALIZED ({scan.slices[task]})"])
        for source in self.inputs:
            partitions = "" if source.all else f", partitions := [{task}]"
            before = f"{source.name} AS NOT MATERIALIZED (FROM merganser_exchange("
            relations.append([before, FilesOf(source.name), f"{partitions}))"])
        result: list[str | FilesOf] = ["COPY ("]
        for number, relation in enumerate(relations):
            result += ["WITH " if number == 0 else ", ", *relation]
        return [*result, f" FROM ({self.sql})) TO {as_text(target)} ({self.write})"]


@dataclass(frozen=True)
class Plan:
    folder: str
    slots: int
    sent: list[str]
    settings: dict[str, str]
    extensions: list[str]
    lists: dict[str, list[str]]
    databases: list[Database]
    stages: list[Stage]

    def setting(self, name: str, default: str) -> str:
        """A setting as text, without the quotes of its SQL literal."""
        text = self.settings.get(name)
        return default if text is None else text.strip("'").replace("''", "'")

    def switch(self, name: str, default: bool) -> bool:
        return self.setting(name, str(default)).lower() == "true"


def read_plan(document: dict[str, Any]) -> Plan:
    stages = [
        Stage(
            number=stage["stage"],
            sql=stage["sql"],
            tasks=stage["tasks"],
            partitions=stage["partitions"],
            write=stage["write"],
            inputs=[Input(i["name"], i.get("stage"), i.get("sent"), i["all"]) for i in stage["inputs"]],
            scans=[Scan(**scan) for scan in stage["scans"]],
            partitioning=stage["partitioning"],
            reads=stage["reads"],
            estimated_rows=stage["estimated_rows"],
        )
        for stage in document["stages"]
    ]
    return Plan(
        folder=document["folder"],
        slots=document["slots"],
        sent=document["sent"],
        settings=document["settings"],
        extensions=document["extensions"],
        lists=document["lists"],
        databases=[Database(**database) for database in document["databases"]],
        stages=stages,
    )


def as_sql(parts: list[str | FilesOf], files: dict[str, list[str]]) -> str:
    return "".join(part if isinstance(part, str) else as_list(files[part.input]) for part in parts)


def as_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def as_list(values: list[str]) -> str:
    return "[" + ", ".join(as_text(value) for value in values) + "]"
