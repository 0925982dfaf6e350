"""A runner that runs every task twice and says where a stage that is to be repeatable is not.

The second attempt has other threads and, where the order of an input is not fixed, gets its rows shuffled. Readers get
files of both attempts, so a stage that is wrongly taken for repeatable also shows in the rows of the query.
"""

import itertools
import json
import sys
import threading
from pathlib import Path

import duckdb
import merganser
from merganser import native

NAME = "twice"


class Twice:
    def __init__(self) -> None:
        self.connections = [merganser.connect(config={"threads": threads}) for threads in (3, 1)]
        self.counter = itertools.count()
        #: What was claimed of each stage, and where it did not hold.
        self.claims: list[str] = []
        self.broken: list[str] = []
        native.register_runner(merganser.extension_path(), NAME, self.submit)

    def close(self) -> None:
        for connection in self.connections:
            connection.close()

    def submit(self, document: bytes, number: int) -> None:
        threading.Thread(target=self.run, args=(json.loads(document), number)).start()

    def run(self, plan: dict, number: int) -> None:
        try:
            files = Query(self, plan, number).run()
            outcome = {"files": [{"path": str(path), "identity": identity_of(path)} for path in files]}
        except duckdb.Error as error:
            kind, _, message = str(error).partition(" Error: ")
            outcome = {"error": {"type": kind, "message": message}}
        except Exception as error:  # noqa: BLE001 - it becomes the query's
            outcome = {"error": {"type": "IO", "message": f"{type(error).__name__}: {error}"}}
        native.query_ended(merganser.extension_path(), number, outcome)


class Query:
    def __init__(self, runner: Twice, plan: dict, number: int) -> None:
        self.runner = runner
        self.plan = plan
        self.number = number
        self.first, self.second = runner.connections
        #: Of each stage the files readers get, and the same with rows in another order where that is allowed.
        self.files: dict[int, tuple[list[Path], list[Path]]] = {}
        for connection in runner.connections:
            for name, value in plan["settings"].items():
                if not name.startswith("merganser_"):
                    connection.execute(f"SET SESSION {name} = {value}")

    def run(self) -> list[Path]:
        for stage in self.plan["stages"]:
            self.run_stage(stage)
        return self.files[len(self.plan["stages"])][0]

    def run_stage(self, stage: dict) -> None:
        number = stage["stage"]
        decision = native.stage_tasks(merganser.extension_path(), self.number, number)
        assert "error" not in decision, decision
        self.runner.claims.append(stage["repeatability"])
        in_order = stage["repeatability"] == "repeatable"
        taken, shuffled = [], []
        for task, statement in enumerate(decision["tasks"]):
            for connection, (name, files) in itertools.product(
                self.runner.connections, decision["lists"][task].items()
            ):
                connection.execute(f"SET VARIABLE {name} = $1", [files])
            first = self.attempt(self.first, stage, task, statement, decision["inputs"], shuffle=False)
            again = self.attempt(self.second, stage, task, statement, decision["inputs"], shuffle=True)
            if decision["repeatable"]:
                self.compare(stage, first, again, in_order)
            taken.append(again if decision["repeatable"] and task % 2 else first)
            may_shuffle = decision["repeatable"] and not in_order
            shuffled.append(self.shuffle(stage, first) if may_shuffle else taken[-1])
        self.files[number] = (taken, shuffled)
        if taken:
            sizes = [sum(size) for size in zip(*(self.partition_bytes(path) for path in taken), strict=True)]
            native.stage_ended(merganser.extension_path(), self.number, number, sizes)

    def attempt(self, connection, stage: dict, task: int, statement: list, inputs: list[dict], shuffle: bool) -> Path:
        files = {source["name"]: self.files_of(source, shuffle) for source in inputs}
        target = self.path(stage, f"t{task}")
        connection.execute(as_sql(statement, files, target))
        return target

    def files_of(self, source: dict, shuffle: bool) -> list[Path]:
        if "sent" in source:
            return [Path(self.plan["sent"][source["sent"]])]
        return self.files[source["stage"]][shuffle]

    def path(self, stage: dict, name: str) -> Path:
        folder = Path(self.plan["folder"]) / f"s{stage['stage']}"
        folder.mkdir(exist_ok=True)
        return folder / f"{name}-{next(self.runner.counter)}"

    def compare(self, stage: dict, first: Path, again: Path, in_order: bool) -> None:
        for partition in range(stage["partitions"]):
            rows, others = (self.rows(path, partition) for path in (first, again))
            if (rows != others) if in_order else (sorted(rows) != sorted(others)):
                self.runner.broken.append(f"{stage['repeatability']}: {stage['sql']}: {rows} {others}")

    def rows(self, path: Path, partition: int) -> list[str]:
        """As text, which tells -0.0 from 0.0."""
        query = f"FROM merganser_exchange(['{path}'], partitions := [{partition}], ordered := true)"
        return [repr(row) for row in self.first.execute(query).fetchall()]

    def shuffle(self, stage: dict, path: Path) -> Path:
        """The same partitions with their rows in another order; what reads them takes columns by their names."""
        parts = " UNION ALL ".join(
            f"SELECT *, {partition}::BIGINT AS place FROM merganser_exchange(['{path}'], partitions := [{partition}])"
            for partition in range(stage["partitions"])
        )
        target = self.path(stage, "shuffled")
        options = f"FORMAT merganser_exchange, PARTITION_NUMBER place, PARTITIONS {stage['partitions']}"
        self.first.execute(f"COPY (SELECT * FROM ({parts}) ORDER BY random()) TO '{target}' ({options})")
        return target

    def partition_bytes(self, path: Path) -> list[int]:
        query = f"SELECT bytes FROM merganser_exchange_partitions(['{path}']) ORDER BY partition"
        return [size for (size,) in self.first.execute(query).fetchall()]


def as_sql(statement: list, files: dict[str, list[Path]], target: Path) -> str:
    def text(piece: str | dict) -> str:
        if isinstance(piece, str):
            return piece
        if "files" in piece:
            return str([str(path) for path in files[piece["files"]]])
        if "identities" in piece:
            return str([identity_of(path) for path in files[piece["identities"]]])
        return f"'{target}'"

    return "".join(map(text, statement))


def identity_of(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[-16:-8], sys.byteorder)
