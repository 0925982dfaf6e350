"""What runs on a node: one DuckDB with the extension, one cursor for each task.

A worker decides nothing about a query; it runs an attempt at a task and tells what happened. Ray carries the class to
nodes that have only ray and duckdb. Its folder (private_folder.py) is its own, whatever else runs on the node:

    spill                          what DuckDB spills
    extension                      what it loads: a copy that nobody else can swap between the check and the loading
    exchange/<process>/<query>     exchange files, where nodes share no storage

A worker that Ray starts again has the folder of the one that died: what that one spilled goes, its exchange files
still count.
"""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray

from merganser.ray.failures import cause_of, is_without_files, with_open_file_limit
from merganser.ray.plan import Database, Statement, as_sql, as_text
from merganser.ray.private_folder import PrivateFolder, private_path
from merganser.ray.threads import start_thread

CHUNK_BYTES = 8 << 20
LEAST_FREE_BYTES = 64 << 20
WATCH_SECONDS = 0.1
# No room, or no file that may be opened: that passes, and what meets it in a task is told as what it is.
SAY_NOTHING_OF_THE_FOLDER = {errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT}
SEND_ROWS = "attach it anew, or SET merganser_exchange_shared = false, and the session sends the rows"


@dataclass(frozen=True)
class Options:
    """What a worker is started with; the same for every restart of its process."""

    node: str
    #: Of its folder; no other worker has it.
    name: str
    cpus: int
    directory: str
    memory_limit: str
    threads: int
    max_spill_bytes: int
    duckdb: str
    platform: str
    extension_path: str
    extension_sha: str


@dataclass(frozen=True)
class Marker:
    """A file the driver wrote into the folder of a query, which every node must see."""

    path: str
    text: str


@dataclass(frozen=True)
class Answer:
    """Of a worker that was asked whether it can run tasks; where it cannot, why, in one sentence."""

    folder: str = ""
    #: Why this node can run nothing for this process.
    misfit: str = ""
    #: Why it can run nothing of this query.
    refusal: str = ""


@dataclass(frozen=True)
class ExchangeFile:
    """A file the driver accepted, and where it lies: on `node`, or everywhere where that is None."""

    path: str
    bytes: int
    #: Of its rows and the attempt that wrote them (src/exchange/exchange_file.hpp); readers verify it.
    identity: int
    node: str | None = None
    #: The worker that has it, and only for files of the session: its pieces as objects of Ray.
    owner: Any = None
    chunks: tuple = ()


@dataclass(frozen=True)
class Secret:
    """A secret of the session, for merganser_take_secret; of type "setting" the value of a setting as SQL."""

    name: str
    type: str
    value: bytes = field(repr=False)


@dataclass(frozen=True)
class Task:
    """One attempt at a task."""

    query: str
    stage: int
    task: int
    attempt: int
    sql: Statement
    inputs: dict[str, list[ExchangeFile]]
    target: str
    #: Of the file it writes.
    partitions: int
    settings: dict[str, str]
    extensions: list[str]
    secrets: tuple[Secret, ...]
    databases: list[Database]
    #: Variables with long lists of files.
    lists: dict[str, list[dict[str, Any]]]
    max_exchange_bytes: int
    #: Whether nodes share no storage.
    fetch: bool
    #: Where they do.
    marker: Marker | None

    @property
    def key(self) -> tuple[str, int, int, int]:
        return (self.query, self.stage, self.task, self.attempt)

    @property
    def identities(self) -> dict[str, list[int]]:
        return {name: [file.identity for file in files] for name, files in self.inputs.items()}


@dataclass
class Running:
    """An attempt while it runs here."""

    task: Task
    cursor: Any
    spilled: int = 0
    refused: str = ""


@dataclass
class Outcome:
    """What became of an attempt: done, files that must be made again, or an error in DuckDB's words."""

    rows: int = 0
    bytes: int = 0
    identity: int = 0
    partition_bytes: list[int] = field(default_factory=list)
    seconds: float = 0
    spilled: int = 0
    lost: list[str] = field(default_factory=list)
    #: Why this node cannot run tasks of the query; the task and its files are not to blame.
    refusal: str = ""
    error: str = ""
    #: Another attempt would end the same way.
    final: bool = False


class LostFiles(Exception):
    def __init__(self, paths: list[str]) -> None:
        super().__init__(", ".join(paths))
        self.paths = paths


class Refused(Exception):
    pass


class Misfit(Exception):
    """Why this node can run nothing for the driver."""


class Cancelled(Exception):
    pass


class Worker:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.host = os.uname().nodename
        self.here = f"node {options.node[:16]} ({self.host})"
        self.directory = Path(options.directory or tempfile.gettempdir())
        self.path = private_path(self.directory, options.name)
        #: Held once there is a database.
        self.folder: PrivateFolder | None = None
        self.lock = threading.Lock()
        self.opening = threading.Lock()
        self.connection: Any = None
        self.running: dict[tuple, Running] = {}
        self.cancelled: set[tuple] = set()
        self.written: dict[str, int] = {}
        self.missing_extensions: dict[str, str] = {}
        self.watcher: threading.Thread | None = None
        self.fetching: dict[Path, threading.Lock] = {}

    # ---------------------------------------------------------------- the database

    @ray.method(concurrency_group="control")
    def check(self, extension: list, marker: Marker | None) -> Answer:
        """Whether this node fits, and sees the folder of a query; opens the database.

        `extension` has the extension's bytes as an object of Ray, which is read only where the file is not here.
        """
        try:
            self.database(extension)
        except Misfit as error:
            return Answer(misfit=str(error))
        except Exception as error:  # noqa: BLE001 - the driver is told
            return Answer(misfit=f"{self.here} cannot run tasks: {error}")
        return Answer(str(self.path), refusal=self.why_not_shared(marker))

    def why_not_shared(self, marker: Marker | None) -> str:
        """What keeps this node from using the folder of a query; empty where nothing does."""
        if marker is None:
            return ""
        folder = Path(marker.path).parent
        remedy = "mount it there for this user to write, or SET merganser_exchange_shared = false"
        try:
            text = Path(marker.path).read_text()
        except OSError as error:
            if error.errno in SAY_NOTHING_OF_THE_FOLDER:
                return ""
            return f'{self.here} does not see the exchange folder "{folder}" ({error.strerror}); {remedy}'
        if text != marker.text:
            return f'{self.here} has other files in the exchange folder "{folder}"; {remedy}'
        own = folder / f"worker-{uuid.uuid4().hex}"
        try:
            os.close(os.open(own, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            own.unlink()
        except OSError as error:
            if error.errno in SAY_NOTHING_OF_THE_FOLDER:
                return ""
            return f'{self.here} cannot write into the exchange folder "{folder}" ({error.strerror}); {remedy}'
        return ""

    def database(self, extension: Sequence = ()):
        """Opened where it is not. Where somebody removed this worker's folder, both are made anew."""
        with self.opening:
            if self.folder is None or not self.folder.is_there():
                self.require_fit()
                self.folder = self.make_folder()
                self.connection = None
            if self.connection is None:
                self.connection = self.open_database(extension)
            return self.connection

    def make_folder(self) -> PrivateFolder:
        if self.folder is not None:
            self.folder.release()
        folder = PrivateFolder(self.directory, self.options.name)
        shutil.rmtree(self.path / "spill", ignore_errors=True)
        return folder

    def require_fit(self) -> None:
        options = self.options
        install = f"on that node run: pip install duckdb=={options.duckdb}"
        try:
            import duckdb
        except ImportError as error:
            raise Misfit(f"{self.here} cannot import duckdb ({error}); {install}") from None
        if duckdb.__version__ != options.duckdb:
            raise Misfit(f"{self.here} has DuckDB {duckdb.__version__}, this process {options.duckdb}; {install}")
        with duckdb.connect() as connection:
            platform = connection.execute("PRAGMA platform").fetchone()[0]
        if platform != options.platform:
            raise Misfit(f"{self.here} is {platform}, but the extension is built for {options.platform}")

    def open_database(self, extension: Sequence):
        import duckdb

        connection = duckdb.connect(config=self.configuration())
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET GLOBAL parquet_metadata_cache = true")
        connection.load_extension(str(self.own_extension(extension)))
        return connection

    def configuration(self) -> dict[str, Any]:
        options = self.options
        configuration = {
            "allow_unsigned_extensions": "true",
            "threads": options.threads or options.cpus,
            "temp_directory": str(self.path / "spill"),
            "memory_limit": options.memory_limit,
        }
        if options.max_spill_bytes:
            configuration["max_temp_directory_size"] = f"{options.max_spill_bytes}B"
        return configuration

    def own_extension(self, extension: Sequence) -> Path:
        """A copy of the driver's extension that only this user can change: what is checked is what is loaded."""
        import _duckdb

        path = self.path / "extension" / "merganser" / "merganser.duckdb_extension"
        if not self.is_extension(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # It looks for DuckDB's module in the folder above its own, as it lies in an installed package.
            module = Path(_duckdb.__file__)
            above = path.parent.parent / module.name
            if not above.exists():
                above.symlink_to(module)
            write_file(path, [self.extension_bytes(extension)])
        return path

    def is_extension(self, path: Path) -> bool:
        return path.exists() and sha_of(path.read_bytes()) == self.options.extension_sha

    def extension_bytes(self, extension: Sequence) -> bytes:
        """From the driver's file where this node sees the same one, else from the driver."""
        seen = Path(self.options.extension_path)
        data = seen.read_bytes() if os.access(seen, os.R_OK) else b""
        if sha_of(data) == self.options.extension_sha:
            return data
        if not extension:
            raise OSError(f"{self.here} has started anew and does not have the extension of this process yet")
        data = ray.get(extension[0])
        if sha_of(data) != self.options.extension_sha:
            raise Misfit(f"{self.here} did not get the extension of this process as it is there")
        return data

    # ---------------------------------------------------------------- tasks

    @ray.method(concurrency_group="tasks")
    def run(self, task: Task) -> Outcome:
        started = time.monotonic()
        local_paths: dict[str, str] = {}
        try:
            database = self.database()
            outcome = self.copy(database, task, self.inputs(task, local_paths))
        except Cancelled:
            return Outcome(error="Interrupt Error: Interrupted!")
        except LostFiles as error:
            return self.refusal(task) or Outcome(lost=error.paths)
        except Refused as error:
            return Outcome(error=f"IO Error: {error}", final=True)
        except Exception as error:  # noqa: BLE001 - the driver is told and decides
            return self.refusal(task) or self.failure(error, local_paths)
        outcome.seconds = time.monotonic() - started
        return outcome

    def refusal(self, task: Task) -> Outcome | None:
        """A folder that is not mounted any more looks like lost files, whose writers would be blamed."""
        why = self.why_not_shared(task.marker)
        return Outcome(refusal=why) if why else None

    def inputs(self, task: Task, local_paths: dict[str, str]) -> dict[str, list[str]]:
        """Where the files of each input are on this node; `local_paths` leads from there to the driver's names."""
        result = {}
        lost = []
        for name, files in task.inputs.items():
            result[name] = []
            for file in files:
                path = self.fetch(task, file) if self.is_elsewhere(task, file) else Path(file.path)
                if not path.exists() or path.stat().st_size != file.bytes:
                    lost.append(file.path)
                local_paths[str(path)] = file.path
                result[name].append(str(path))
        if lost:
            raise LostFiles(lost)
        return result

    def is_elsewhere(self, task: Task, file: ExchangeFile) -> bool:
        return task.fetch and file.node != self.options.node

    def copy(self, database: Any, task: Task, files: dict[str, list[str]]) -> Outcome:
        target = Path(task.target)
        os.utime(self.path)
        if task.fetch:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        free = shutil.disk_usage(target.parent).free
        if free < LEAST_FREE_BYTES:
            setting = "merganser_worker_directory" if task.fetch else "merganser_exchange_directory"
            raise OSError(f'only {free} bytes are free for "{target.parent}"; SET {setting} to a folder with more room')
        cursor = database.cursor()
        with self.watched(Running(task, cursor)) as running:
            self.prepare(cursor, task)
            rows = cursor.execute(as_sql(task.sql, files, task.identities, task.target)).fetchone()[0]
            for database in task.databases:
                self.check_version(database)
            size = target.stat().st_size
            partition_bytes = sizes_of_partitions(cursor, task.target) if task.partitions > 1 else [size]
        with self.lock:
            self.written[task.query] = written = self.written.get(task.query, 0) + size
        if 0 < task.max_exchange_bytes < written:
            raise Refused(self.too_many_bytes(task))
        return Outcome(
            rows=rows,
            bytes=size,
            identity=identity_of(target),
            partition_bytes=partition_bytes,
            spilled=running.spilled,
        )

    def prepare(self, cursor: Any, task: Task) -> None:
        import duckdb

        for name in task.extensions:
            try:
                cursor.load_extension(name)
            except duckdb.Error as error:  # told where a task then misses a function
                self.missing_extensions[name] = str(error)
        if "enable_geoparquet_conversion" in task.settings:  # a footer kept from before is for another value
            cursor.execute("SET SESSION parquet_metadata_cache = false")
        for name, value in task.settings.items():
            cursor.execute(f"SET SESSION {name} = {value}")
        for secret in task.secrets:
            if secret.type == "setting":
                self.set_credential(cursor, secret)
                continue
            try:
                cursor.execute("SELECT system.main.merganser_take_secret($1)", [secret.value]).fetchall()
            except duckdb.Error as error:
                raise Refused(
                    f'the worker on {self.host} cannot take the secret "{secret.name}" of type {secret.type}, which '
                    f"the files of this query need: {error}\nSET merganser_runner = '' runs the query in DuckDB alone"
                ) from None
        for name, files in task.lists.items():
            cursor.execute(f"SET VARIABLE {name} = $1", [files])
        for database in task.databases:
            self.attach(cursor, database)

    def set_credential(self, cursor: Any, setting: Secret) -> None:
        """What DuckDB says of it may repeat the value."""
        import duckdb

        try:
            cursor.execute(f"SET SESSION {setting.name} = {setting.value.decode()}")
        except duckdb.Error as error:
            raise Refused(
                f"the worker on {self.host} cannot SET {setting.name} as the session has it "
                f"({type(error).__name__}); SET merganser_runner = '' runs the query in DuckDB alone"
            ) from None

    def attach(self, cursor: Any, database: Database) -> None:
        """A worker keeps what it has attached: another version of the file has another name.

        It is that version that was attached where the file is the same before and after."""
        self.check_version(database)
        with self.lock:
            known = "SELECT count(*) FROM duckdb_databases() WHERE database_name = $1"
            if cursor.execute(known, [database.name]).fetchone()[0] > 0:
                return
            cursor.execute(f"ATTACH {as_text(database.path)} AS {database.name} (READ_ONLY)")
            try:
                self.check_version(database)
            except Refused:
                cursor.execute(f"DETACH {database.name}")
                raise

    def check_version(self, database: Database) -> None:
        try:
            status = os.stat(database.path)
        except OSError as error:
            why = f"the worker on {self.host} does not see an attached database: {error}"
            raise Refused(f"{why}; {SEND_ROWS}") from None
        if (status.st_size, status.st_mtime_ns) != (database.bytes, database.changed) or os.path.exists(
            f"{database.path}.wal"
        ):
            why = f'the worker on {self.host} sees another version of the attached database "{database.path}"'
            raise Refused(f"{why}; {SEND_ROWS}")

    @contextmanager
    def watched(self, running: Running) -> Iterator[Running]:
        """While it lasts, the attempt can be cancelled and its space is watched."""
        import duckdb

        key = running.task.key
        try:
            with self.lock:
                if key in self.cancelled:
                    raise duckdb.InterruptException("Interrupt Error: Interrupted!")
                if self.watcher is None:
                    self.watcher = start_thread("merganser-watch", self.watch)
                self.running[key] = running
            yield running
        except duckdb.InterruptException:
            if running.refused:
                raise Refused(running.refused) from None
            raise
        finally:
            with self.lock:
                self.running.pop(key, None)
            running.cursor.close()

    def failure(self, error: Exception, local_paths: dict[str, str]) -> Outcome:
        import duckdb

        text = with_open_file_limit(error, self.host)
        if not isinstance(error, duckdb.Error):
            return Outcome(error=f"IO Error: {type(error).__name__} on {self.host}: {text}")
        damaged = [path for local, path in local_paths.items() if f'"{local}"' in text]
        if isinstance(error, duckdb.IOException) and damaged and not is_without_files(error):
            return Outcome(lost=damaged)
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            with self.opening:
                self.connection = None
        if isinstance(error, duckdb.CatalogException | duckdb.BinderException):
            text += self.not_known_here()
        return Outcome(error=text, final=is_refused_request(error))

    def not_known_here(self) -> str:
        """The session has planned the query, so what is missing is missing here."""
        missing = "".join(
            f" It cannot load the extension {name}: {why}" for name, why in self.missing_extensions.items()
        )
        return (
            f"\nThe worker on {self.host} does not know functions and extensions that only the session has.{missing} "
            "SET merganser_runner = '' runs the query in DuckDB alone."
        )

    # ---------------------------------------------------------------- space

    def watch(self) -> None:
        while True:
            with self.lock:
                attempts = list(self.running.values())
                if not attempts:
                    self.watcher = None
                    return
                self.interrupt_cancelled(attempts)
            spilled = size_of(self.path / "spill")
            for attempt in attempts:
                attempt.spilled = max(attempt.spilled, spilled)
            for query in {attempt.task.query for attempt in attempts}:
                self.limit_bytes(query, [attempt for attempt in attempts if attempt.task.query == query])
            time.sleep(WATCH_SECONDS)

    def interrupt_cancelled(self, attempts: list[Running]) -> None:
        """Again and again: an interrupt between two statements of an attempt is lost."""
        for attempt in attempts:
            if attempt.task.key in self.cancelled:
                attempt.cursor.interrupt()

    def limit_bytes(self, query: str, attempts: list[Running]) -> None:
        """Ends the tasks of a query whose exchange files on this node outgrow the limit."""
        limit = attempts[0].task.max_exchange_bytes
        written = self.written.get(query, 0) + sum(size_of_unfinished(attempt.task.target) for attempt in attempts)
        if limit == 0 or written <= limit:
            return
        for attempt in attempts:
            attempt.refused = self.too_many_bytes(attempt.task)
            attempt.cursor.interrupt()

    def too_many_bytes(self, task: Task) -> str:
        return (
            f"the exchange files of the query on {self.host} take more than merganser_exchange_max_bytes = "
            f"{task.max_exchange_bytes}; SET it to more, or to 0 for no limit"
        )

    # ---------------------------------------------------------------- files, where nodes share no storage

    def query_folder(self, query: str) -> Path:
        return self.path / "exchange" / query

    def fetch(self, task: Task, file: ExchangeFile) -> Path:
        """A copy of another node's file, made once for all tasks here; where that one is lost, it does not exist.

        Its name tells apart all files of the query: the folder of the query or of the rows the session sent, which are
        random, stage, task and attempt.
        """
        target = self.query_folder(task.query) / "fetched" / "-".join(Path(file.path).parts[-3:])
        with self.lock:
            lock = self.fetching.setdefault(target, threading.Lock())
        with lock:
            if target.exists():
                return target
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                write_file(target, self.until_cancelled(task, chunks_of(file)))
            except ray.exceptions.RayError as error:
                if is_without_files(error):
                    raise cause_of(error) from None
                target.unlink(missing_ok=True)
        return target

    def until_cancelled(self, task: Task, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if task.key in self.cancelled:
                raise Cancelled
            yield chunk

    @ray.method(concurrency_group="files")
    def read(self, path: str, offset: int, length: int) -> bytes:
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                data = file.read(length)
        except OSError as error:
            raise OSError(with_open_file_limit(error, self.host)) from None
        if len(data) != length:
            raise OSError(f"{path} is truncated")
        return data

    # ---------------------------------------------------------------- control

    @ray.method(concurrency_group="control")
    def cancel(self, key: tuple) -> None:
        """Ends an attempt, also one that has not begun."""
        with self.lock:
            self.cancelled.add(key)
            if key in self.running:
                self.running[key].cursor.interrupt()

    @ray.method(concurrency_group="control")
    def forget(self, query: str) -> None:
        """The query has ended: removes what this node still has of it."""
        folder = self.query_folder(query)
        with self.lock:
            self.written.pop(query, None)
            self.cancelled = {key for key in self.cancelled if key[0] != query}
            self.fetching = {path: lock for path, lock in self.fetching.items() if folder not in path.parents}
        shutil.rmtree(folder, ignore_errors=True)
        remove_empty_folders(folder.parent, self.path)

    @ray.method(concurrency_group="control")
    def end(self) -> None:
        """Removes everything of this worker; it is not used again."""
        with self.lock:
            for running in self.running.values():
                running.cursor.interrupt()
        with self.opening:
            if self.connection is not None:
                self.connection.close()
            if self.folder is not None:
                self.folder.remove()


def is_refused_request(error: Exception) -> bool:
    """A server says that the request is wrong, as without a right to read the file; not that it is busy."""
    status = getattr(error, "status_code", 0)
    return 400 <= status < 500 and status not in {408, 429}


def chunks_of(file: ExchangeFile) -> Iterator[bytes]:
    if file.owner is None:
        yield from (ray.get(chunk) for chunk in file.chunks)
        return
    for offset in range(0, file.bytes, CHUNK_BYTES):
        yield ray.get(file.owner.read.remote(file.path, offset, min(CHUNK_BYTES, file.bytes - offset)))


def write_file(path: Path, chunks: Iterable[bytes]) -> None:
    """The file appears under its name only when it is complete."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(unfinished, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def identity_of(path: Path) -> int:
    """The checksum of the file's index, the second of the three numbers at its end."""
    with open(path, "rb") as file:
        file.seek(-16, os.SEEK_END)
        return int.from_bytes(file.read(8), sys.byteorder)


def sizes_of_partitions(cursor: Any, path: str) -> list[int]:
    rows = cursor.execute(
        f"SELECT bytes FROM system.main.merganser_exchange_partitions([{as_text(path)}]) ORDER BY partition"
    )
    return [size for (size,) in rows.fetchall()]


def sha_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def size_of(folder: Path) -> int:
    try:
        return sum(entry.stat().st_size for entry in os.scandir(folder))
    except FileNotFoundError:  # nothing was spilled, or DuckDB has just removed it
        return 0


def size_of_unfinished(target: str) -> int:
    """Exchange files are written to `<target>.<random>`."""
    path = Path(target)
    try:
        return sum(entry.stat().st_size for entry in path.parent.glob(f"{path.name}.*"))
    except FileNotFoundError:  # it has just got its name
        return 0


def remove_empty_folders(folder: Path, end: Path) -> None:
    """`folder` and those above it, up to `end` and without it, as far as they are empty."""
    while folder != end:
        try:
            folder.rmdir()
        except OSError:  # not empty, or gone already
            return
        folder = folder.parent
