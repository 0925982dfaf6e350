"""The plan document (src/runners/plan_document.hpp) as objects, and how its stages run."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Input:
    """A relation in the SQL of a task that stands for an exchange: of another stage, or one the session wrote."""

    name: str
    stage: int | None
    sent: int | None
    all: bool


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
class IdentitiesOf:
    """Stands in SQL for the list of the identities of the exchange files of an input."""

    input: str


@dataclass(frozen=True)
class Target:
    """Stands in SQL for the file a task writes."""


#: A statement in pieces.
Statement = list[str | FilesOf | IdentitiesOf | Target]


@dataclass(frozen=True)
class Stage:
    number: int
    partitions: int
    #: Stages that must have ended before it is decided how this one runs.
    after: list[int]
    partitioning: str
    reads: str
    estimated_rows: int


@dataclass(frozen=True)
class Decision:
    """How a stage runs; without tasks where another stage computes it."""

    tasks: list[Statement]
    #: Of each task: variables with lists of files too long for SQL.
    lists: list[dict[str, list[dict[str, Any]]]]
    inputs: list[Input]
    #: Whether a task that runs again writes the same, so that what read its file before may stay.
    repeatable: bool
    scanned_rows: int
    reasons: list[str]


@dataclass(frozen=True)
class Plan:
    folder: str
    slots: int
    sent: list[str]
    settings: dict[str, str]
    extensions: list[str]
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
            partitions=stage["partitions"],
            after=stage["after"],
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
        databases=[Database(**database) for database in document["databases"]],
        stages=stages,
    )


def read_decision(document: dict[str, Any]) -> Decision:
    return Decision(
        tasks=[[read_piece(piece) for piece in task] for task in document["tasks"]],
        lists=document["lists"],
        inputs=[Input(i["name"], i.get("stage"), i.get("sent"), i["all"]) for i in document["inputs"]],
        repeatable=document["repeatable"],
        scanned_rows=document["scanned_rows"],
        reasons=document["decisions"],
    )


def read_piece(piece: str | dict[str, Any]) -> str | FilesOf | IdentitiesOf | Target:
    if isinstance(piece, str):
        return piece
    if "files" in piece:
        return FilesOf(piece["files"])
    return IdentitiesOf(piece["identities"]) if "identities" in piece else Target()


def as_sql(statement: Statement, files: dict[str, list[str]], identities: dict[str, list[int]], target: str) -> str:
    def text(piece: str | FilesOf | IdentitiesOf | Target) -> str:
        match piece:
            case FilesOf(name):
                return as_list(files[name])
            case IdentitiesOf(name):
                return str(identities[name])
            case Target():
                return as_text(target)
            case _:
                return piece

    return "".join(text(piece) for piece in statement)


def as_text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def as_list(values: list[str]) -> str:
    return "[" + ", ".join(as_text(value) for value in values) + "]"
