"""Runs one query on the workers of a cluster: the driver of its stages.

It asks all workers whether they can run its tasks, and uses those that have answered: a node that fits (it has this
DuckDB) and, where nodes share storage, sees the folder of the query and can write into it. The others are named in the
report. A worker that cannot read what others wrote is asked the same again before their files count as lost.

It alone decides: which task next and where, whether another attempt is worth it, which attempt counts. How many tasks
a stage has is decided once, when the stages it comes after are complete; then its tasks start. Exactly one attempt at
each task is accepted, and readers are told its exact path and identity. Where a reader finds an exchange file missing
or damaged, the task that wrote it runs again, then the reader.

Rows of two attempts never meet. An attempt has a number no other attempt at its task has, so one that was given up and
ends late writes a file nobody reads. Where the stage of a lost file is repeatable, the new file has the rows of the old
one in the same partitions, and it does not matter who read which. Where it is not, every task of every stage that reads
the stage is dropped with the file, ended or running, and of every stage that reads one of those: they all read the new
file. What was dropped and ends late is not looked at. The rows of the last stage reach the session when all its tasks
have been accepted, and are not written again from then on.
"""

import base64
import shutil
import statistics
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import ray

from merganser.ray import calls
from merganser.ray.cluster import Cluster, Limits, Member
from merganser.ray.failures import QueryFailure, cause_of, is_without_files, is_worth_another, split_message
from merganser.ray.plan import Decision, Input, Plan, Stage
from merganser.ray.progress import Progress
from merganser.ray.report import report_of
from merganser.ray.worker import (
    CHUNK_BYTES,
    Answer,
    ExchangeFile,
    Marker,
    Outcome,
    Secret,
    Task,
    identity_of,
    remove_empty_folders,
    write_file,
)

POLL_SECONDS = 0.05
NODE_CHECK_SECONDS = 1.0
# A new worker gets this long to start.
START_SECONDS = 120
# But tasks start without it this long after Ray was asked for it, where other nodes have answered.
PATIENCE_SECONDS = 10
# Workers that have run tasks before answer at once.
USUAL_SECONDS = 1
# A worker that died gets this long to come back before its node is given up.
COMEBACK_SECONDS = 30
CLEAN_UP_SECONDS = 10
# With merganser_speculation: a second attempt at a task that takes this many times its stage's median.
STRAGGLER_FACTOR = 3
STRAGGLER_LEAST_SECONDS = 1


class Cancelled(Exception):
    pass


class Session(Protocol):
    """What the query asks the process it belongs to."""

    def is_cancelled(self) -> bool: ...

    def secrets(self) -> list[dict[str, str]]: ...

    def stage_ended(self, stage: int, partition_bytes: list[int]) -> None: ...

    def decide(self, stage: int) -> Decision: ...


@dataclass
class Attempt:
    stage: int
    task: int
    number: int
    member: Member
    message: Task
    started: float = field(default_factory=time.monotonic)
    #: What it reads has been written again with other rows.
    dropped: bool = False


@dataclass
class TaskState:
    accepted: ExchangeFile | None = None
    outcome: Outcome = field(default_factory=Outcome)
    host: str = ""
    #: When it was accepted, by time.monotonic().
    ended: float = 0
    #: Begun so far: the number of the next one.
    attempts: int = 0
    #: Those that failed, or whose file was lost.
    failures: int = 0
    running: int = 0
    #: Nodes on which it failed.
    avoid: set[str] = field(default_factory=set)


@dataclass
class StageState:
    stage: Stage
    #: None until it is known how the stage runs.
    decision: Decision | None = None
    tasks: list[TaskState] = field(default_factory=list)
    started: float = 0
    ended: float = 0
    retries: int = 0

    @property
    def is_complete(self) -> bool:
        return self.decision is not None and all(task.accepted for task in self.tasks)

    @property
    def inputs(self) -> list[Input]:
        return self.decision.inputs if self.decision else []

    @property
    def sources(self) -> list[int]:
        """The stages it needs: those it reads, or until that is known those it waits for."""
        if self.decision is None:
            return self.stage.after
        return [source.stage for source in self.decision.inputs if source.stage is not None]

    def median_seconds(self) -> float | None:
        seconds = [task.outcome.seconds for task in self.tasks if task.accepted]
        return statistics.median(seconds) if 2 * len(seconds) > len(self.tasks) else None


class Query:
    def __init__(self, cluster: Cluster, plan: Plan, session: Session) -> None:
        self.cluster = cluster
        self.plan = plan
        self.session = session
        self.secrets = tuple(
            Secret(secret["name"], secret["type"], base64.b64decode(secret["secret"])) for secret in session.secrets()
        )
        self.name = "/".join(Path(plan.folder).parts[-2:])
        self.fetch = not plan.switch("merganser_exchange_shared", True)
        self.most_attempts = int(plan.setting("merganser_task_attempts", "4"))
        self.speculation = plan.switch("merganser_speculation", False)
        self.max_exchange_bytes = int(plan.setting("merganser_exchange_max_bytes", "0"))
        self.settings = {name: value for name, value in plan.settings.items() if not name.startswith("merganser_")}
        self.stages = {stage.number: StageState(stage) for stage in plan.stages}
        self.progress = Progress(plan.switch("merganser_progress", True))
        self.started = time.monotonic()
        self.limits = limits_of(plan)
        self.marker = None if self.fetch else Marker(str(Path(plan.folder) / "driver"), uuid.uuid4().hex)
        self.members: dict[str, Member] = {}
        self.attempts: dict[Any, Attempt] = {}
        #: Workers that are asked whether they can run tasks, and until when that is waited for. They get none before.
        self.asked: dict[Any, tuple[Member, float]] = {}
        #: Nodes that are not used, and why.
        self.left_out: dict[str, str] = {}
        self.nodes_checked = time.monotonic()
        self.sent: list[ExchangeFile] = []

    def run(self) -> list[dict[str, Any]]:
        """Returns path and identity of the exchange files of the last stage; raises QueryFailure or Cancelled.

        Leaves nothing that runs.
        """
        complete = False
        try:
            self.start()
            files = None
            while files is None:
                while not self.last.is_complete:
                    self.step()
                files = self.result_files()
            complete = True
            return files
        finally:
            self.progress.close()
            self.clean_up(complete)

    @property
    def last(self) -> StageState:
        return self.stages[len(self.stages)]

    def report(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.started
        return report_of(list(self.stages.values()), self.started, seconds, sorted(self.left_out.values()))

    # ---------------------------------------------------------------- one step

    def start(self) -> None:
        if self.marker:
            Path(self.marker.path).write_text(self.marker.text)
        self.find_workers()
        self.sent = [self.sent_file(path) for path in self.plan.sent]

    def step(self) -> None:
        self.check_cancelled()
        self.start_tasks()
        if self.speculation:
            self.start_second_attempts()
        if not self.members:
            self.find_workers()
            return
        self.take_ready([*self.attempts, *self.asked])
        self.check_nodes()
        self.progress.show(self.stages.values())

    def check_cancelled(self) -> None:
        if self.session.is_cancelled():
            raise Cancelled

    def take_ready(self, waiting: list[Any]) -> None:
        """What of these has ended, or ends within a moment."""
        if not waiting:
            raise QueryFailure("IO", "no task of the query can run on the nodes of the Ray cluster that are left")
        ready, _ = calls.wait(waiting, num_returns=1, timeout=POLL_SECONDS)
        if ready:
            ready, _ = calls.wait(waiting, num_returns=len(waiting), timeout=0)
        for reference in ready:
            if reference in self.asked:
                self.take_answer(reference)
            elif reference in self.attempts:  # unless its node was given up just now
                self.take(reference)

    # ---------------------------------------------------------------- which nodes can run tasks

    def find_workers(self) -> None:
        """Returns once one node can run tasks and those that usually answer have; others may join later.

        Raises QueryFailure with what is wrong with the nodes where none can.
        """
        self.left_out = {}
        started = time.monotonic()
        while not self.usable():
            self.ask_all()
            if not self.asked:
                raise QueryFailure("IO", "; ".join(sorted(self.left_out.values())))
            while self.asked and not (self.usable() and self.has_waited_for_all(started)):
                self.check_cancelled()
                self.take_ready(list(self.asked))
                self.give_up_late_answers()
        for member, _ in self.asked.values():
            seconds = time.monotonic() - (started if member.has_answered else member.created)
            self.leave_out(member, f"it has not answered for {max(seconds, 1):.0f} s")

    def ask_all(self) -> None:
        now = time.monotonic()
        but_not_on = set(self.left_out)
        for member in self.cluster.workers(self.limits, but_not_on):
            if member.node not in self.members and member.node not in but_not_on:
                self.members[member.node] = member
                seconds = COMEBACK_SECONDS if member.has_answered else max(START_SECONDS - member.age, USUAL_SECONDS)
                self.ask(member, now + seconds)

    def usable(self) -> list[Member]:
        away = {member.node for member, _ in self.asked.values()}
        return [member for member in self.members.values() if member.node not in away]

    def has_waited_for_all(self, started: float) -> bool:
        if time.monotonic() - started < USUAL_SECONDS:
            return False
        return all(member.has_answered or member.age > PATIENCE_SECONDS for member, _ in self.asked.values())

    def ask(self, member: Member, until: float) -> None:
        self.asked[self.cluster.ask(member, self.marker)] = (member, until)

    def ask_again(self, member: Member, until: float) -> None:
        """Its worker has died, and Ray may start it again."""
        known = self.members.get(member.node) is member
        if known and all(member is not other for other, _ in self.asked.values()):
            self.ask(member, until)

    def take_answer(self, reference: Any) -> None:
        member, until = self.asked.pop(reference)
        try:
            answer = calls.get(reference)
        except ray.exceptions.RayError as error:
            self.take_no_answer(member, until, error)
        else:
            self.use_or_leave_out(member, answer)

    def take_no_answer(self, member: Member, until: float, error: Exception) -> None:
        # Ray does not start a worker again that failed as it started.
        final = isinstance(error, ray.exceptions.ActorDiedError | ray.exceptions.RayTaskError)
        ended = final or time.monotonic() > until
        if not ended and member.node in self.cluster.living_nodes():
            time.sleep(POLL_SECONDS)
            self.ask_again(member, until)
            return
        if not member.has_answered:
            self.leave_out(member, f"it did not start: {str(error).strip().splitlines()[-1]}")
        self.give_up_worker(member)

    def use_or_leave_out(self, member: Member, answer: Answer) -> None:
        if answer.misfit:
            self.leave_out(member, answer.misfit)
            self.give_up_worker(member)
            return
        self.cluster.answered(self.limits, member, answer.folder)
        if answer.refusal:
            self.leave_out(member, answer.refusal)
            self.members.pop(member.node, None)
        else:
            self.left_out.pop(member.node, None)

    def give_up_late_answers(self) -> None:
        late = [(member, until) for member, until in self.asked.values() if time.monotonic() > until]
        for member, _ in late:
            self.leave_out(member, f"it has not answered for {member.age:.0f} s")
            self.give_up_worker(member)

    def leave_out(self, member: Member, why: str) -> None:
        """Told in the report, and the user once in a process."""
        text = why if why.startswith("node ") else f"the worker on {member.host} is not used: {why}"
        self.left_out[member.node] = text
        if text not in self.cluster.told:
            self.cluster.told.add(text)
            self.progress.tell_about(text)

    def give_up_worker(self, member: Member) -> None:
        self.cluster.forget(self.limits, member)
        self.give_up(member.node)

    # ---------------------------------------------------------------- tasks

    def start_tasks(self) -> None:
        for state in self.stages.values():
            if state.is_complete or not self.is_due(state):
                continue
            if state.decision is None:
                state.decision = self.session.decide(state.stage.number)
                state.tasks = [TaskState() for _ in state.decision.tasks]
            for number, task in enumerate(state.tasks):
                if task.accepted or task.running:
                    continue
                member = self.free_member(task.avoid)
                if member is None:
                    return
                self.start_attempt(state, number, member)

    def start_second_attempts(self) -> None:
        for attempt in list(self.attempts.values()):
            state = self.stages[attempt.stage]
            task = state.tasks[attempt.task]
            median = state.median_seconds()
            if median is None or task.running > 1 or attempt.dropped:
                continue
            if time.monotonic() - attempt.started > max(STRAGGLER_FACTOR * median, STRAGGLER_LEAST_SECONDS):
                member = self.free_member({attempt.member.node}, only_others=True)
                if member is not None:
                    self.start_attempt(state, attempt.task, member)

    def is_due(self, state: StageState) -> bool:
        return all(self.stages[number].is_complete for number in state.sources)

    def free_member(self, avoid: set[str], only_others: bool = False) -> Member | None:
        """The worker with most room; one that is not to be avoided if there is any."""
        if self.plan.slots and len(self.attempts) >= self.plan.slots:
            return None
        used = dict.fromkeys(self.members, 0)
        for attempt in self.attempts.values():
            used[attempt.member.node] = used.get(attempt.member.node, 0) + 1
        free = [member for member in self.usable() if used[member.node] < member.slots]
        better = [member for member in free if member.node not in avoid]
        others_may_come = any(node not in avoid for node in self.members)
        candidates = better if better or only_others or others_may_come else free
        return min(candidates, key=lambda member: used[member.node] / member.slots, default=None)

    def start_attempt(self, state: StageState, number: int, member: Member) -> None:
        task = state.tasks[number]
        message = self.message(state, number, task.attempts, member)
        attempt = Attempt(state.stage.number, number, task.attempts, member, message)
        task.attempts += 1
        task.running += 1
        state.started = state.started or time.monotonic()
        self.attempts[calls.call(member.actor.run, message)] = attempt

    def message(self, state: StageState, number: int, attempt: int, member: Member) -> Task:
        stage = state.stage
        folder = Path(member.folder) / "exchange" / self.name if self.fetch else Path(self.plan.folder)
        target = folder / f"s{stage.number}" / f"t{number}-a{attempt}"
        if not self.fetch:
            target.parent.mkdir(mode=0o700, exist_ok=True)
        return Task(
            query=self.name,
            stage=stage.number,
            task=number,
            attempt=attempt,
            sql=state.decision.tasks[number],
            inputs={source.name: self.files_of(source) for source in state.inputs},
            target=str(target),
            partitions=stage.partitions,
            settings=self.settings,
            extensions=self.plan.extensions,
            secrets=self.secrets,
            databases=self.plan.databases,
            lists=state.decision.lists[number],
            max_exchange_bytes=self.max_exchange_bytes,
            fetch=self.fetch,
            marker=self.marker,
        )

    def files_of(self, source: Input) -> list[ExchangeFile]:
        if source.sent is not None:
            return [self.sent[source.sent]]
        return [task.accepted for task in self.stages[source.stage].tasks]

    def sent_file(self, path: str) -> ExchangeFile:
        size = Path(path).stat().st_size
        identity = identity_of(Path(path))
        if not self.fetch:
            return ExchangeFile(path, size, identity)
        with open(path, "rb") as file:
            chunks = tuple(self.put(file.read(CHUNK_BYTES)) for _ in range(0, size, CHUNK_BYTES))
        return ExchangeFile(path, size, identity, chunks=chunks)

    def put(self, data: bytes) -> Any:
        self.check_cancelled()
        return calls.put(data)

    # ---------------------------------------------------------------- what became of an attempt

    def take(self, reference: Any) -> None:
        attempt = self.attempts.pop(reference)
        if not attempt.dropped:
            self.stages[attempt.stage].tasks[attempt.task].running -= 1
        try:
            outcome = calls.get(reference)
        except ray.exceptions.RayTaskError as error:
            self.fail(attempt, "IO", f"the worker on {attempt.member.host} failed: {error.cause!r}")
        except ray.exceptions.RayError as error:
            self.worker_died(attempt, error)
        else:
            self.take_outcome(attempt, outcome)

    def take_outcome(self, attempt: Attempt, outcome: Outcome) -> None:
        if not self.counts(attempt):
            return
        if outcome.refusal:
            self.take_refusal(attempt, outcome.refusal)
        elif outcome.lost:
            self.write_again(attempt, outcome.lost)
        elif outcome.error:
            kind, message = split_message(outcome.error)
            if outcome.final or not is_worth_another(kind, message):
                raise QueryFailure(kind, message)
            self.fail(attempt, kind, message)
        else:
            self.accept(attempt, outcome)

    def take_refusal(self, attempt: Attempt, why: str) -> None:
        """The node cannot run tasks of this query any more, and others may: no failure of the task."""
        self.leave_out(attempt.member, why)
        if self.members.get(attempt.member.node) is attempt.member:
            del self.members[attempt.member.node]
        self.stages[attempt.stage].retries += 1

    def counts(self, attempt: Attempt) -> bool:
        """Whether it matters how it ended: not if it was dropped, or the other of two attempts was first."""
        return not attempt.dropped and not self.stages[attempt.stage].tasks[attempt.task].accepted

    def accept(self, attempt: Attempt, outcome: Outcome) -> None:
        state = self.stages[attempt.stage]
        task = state.tasks[attempt.task]
        member = attempt.member
        task.accepted = ExchangeFile(attempt.message.target, outcome.bytes, outcome.identity, member.node, member.actor)
        task.outcome = outcome
        task.host = member.host
        task.ended = time.monotonic()
        for other in self.attempts.values():
            if (other.stage, other.task) == (attempt.stage, attempt.task):
                calls.call(other.member.actor.cancel, other.message.key)
        if state.is_complete:
            state.ended = time.monotonic()
            sizes = [done.outcome.partition_bytes for done in state.tasks]
            self.session.stage_ended(attempt.stage, [sum(of_partition) for of_partition in zip(*sizes, strict=True)])

    def fail(self, attempt: Attempt, kind: str, message: str) -> None:
        """Another attempt, elsewhere if possible, unless there were enough."""
        if not self.counts(attempt):
            return
        state = self.stages[attempt.stage]
        task = state.tasks[attempt.task]
        task.failures += 1
        if task.failures >= self.most_attempts:
            raise QueryFailure(kind, message)
        task.avoid.add(attempt.member.node)
        state.retries += 1

    def write_again(self, reader: Attempt, paths: list[str]) -> None:
        """Files a reader could not read: the tasks that wrote them run again. Other readers may have said so before."""
        self.stages[reader.stage].retries += 1
        for path in paths:
            if path in self.plan.sent:
                raise QueryFailure("IO", f'the file "{path}" the session sent is gone or damaged')
            for state in self.stages.values():
                for task in state.tasks:
                    if task.accepted and task.accepted.path == path:
                        self.lose(state, task)

    def lose(self, state: StageState, task: TaskState) -> None:
        task.failures += 1
        if task.failures >= self.most_attempts:
            raise QueryFailure("IO", f'Exchange file "{task.accepted.path}" was lost {task.failures} times')
        task.accepted = None
        state.retries += 1
        if not state.decision.repeatable:
            for reader in self.readers_of(state):
                self.drop(reader)

    def readers_of(self, state: StageState) -> list[StageState]:
        """The stages that read it, and those that read these, which have begun."""
        found = {state.stage.number}
        readers = []
        for reader in self.stages.values():  # a stage reads those before it
            if reader.decision and found.intersection(reader.sources):
                found.add(reader.stage.number)
                readers.append(reader)
        return readers

    def drop(self, state: StageState) -> None:
        """Everything the stage has done and does: what it read is written again with other rows."""
        for attempt in self.attempts.values():
            if attempt.stage == state.stage.number and not attempt.dropped:
                attempt.dropped = True
                calls.call(attempt.member.actor.cancel, attempt.message.key)
        for task in state.tasks:
            state.retries += task.accepted is not None
            task.accepted = None
            task.running = 0

    # ---------------------------------------------------------------- workers and nodes that go

    def worker_died(self, attempt: Attempt, error: Exception) -> None:
        member = attempt.member
        self.fail(attempt, "IO", f"the worker on {member.host} died while it ran stage {attempt.stage}: {error}")
        self.ask_again(member, time.monotonic() + COMEBACK_SECONDS)

    def check_nodes(self) -> None:
        if time.monotonic() - self.nodes_checked < NODE_CHECK_SECONDS:
            return
        self.nodes_checked = time.monotonic()
        self.give_up_late_answers()
        for node in set(self.members) - self.cluster.living_nodes():
            self.give_up(node)

    def give_up(self, node: str) -> None:
        """The node is gone: its attempts failed, and where nodes share no storage, so are its files."""
        self.members.pop(node, None)
        self.asked = {r: entry for r, entry in self.asked.items() if entry[0].node != node}
        for reference in [r for r, attempt in self.attempts.items() if attempt.member.node == node]:
            attempt = self.attempts.pop(reference)
            if not attempt.dropped:
                self.stages[attempt.stage].tasks[attempt.task].running -= 1
            self.fail(attempt, "IO", f"node {attempt.member.host} left the cluster")
        if not self.fetch:
            return
        for state in reversed(self.stages.values()):
            for task in state.tasks:
                if task.accepted and task.accepted.node == node and self.is_needed(state):
                    self.lose(state, task)

    def is_needed(self, state: StageState) -> bool:
        """Whether a task may still read its files."""
        readers = [reader for reader in self.stages.values() if state.stage.number in reader.sources]
        return not readers or not all(reader.is_complete for reader in readers)

    # ---------------------------------------------------------------- the end

    def result_files(self) -> list[dict[str, Any]] | None:
        """None where one of them was lost before it was here: its task runs again."""
        files = [task.accepted for task in self.last.tasks]
        if not self.fetch:
            return [{"path": file.path, "identity": file.identity} for file in files]
        for number, (task, file) in enumerate(zip(self.last.tasks, files, strict=True)):
            if not self.bring(number, file):
                self.lose(self.last, task)
        if not self.last.is_complete:
            return None
        return [{"path": str(self.result_file(n)), "identity": file.identity} for n, file in enumerate(files)]

    def result_file(self, number: int) -> Path:
        return Path(self.plan.folder) / f"result-{number}"

    def bring(self, number: int, file: ExchangeFile) -> bool:
        """Copies a file of the last stage to this process, if it is still there."""
        chunks = self.chunks_of(file)
        try:
            write_file(self.result_file(number), chunks)
        except ray.exceptions.RayError as error:
            if is_without_files(error):
                raise QueryFailure("IO", str(cause_of(error))) from None
            return False
        return identity_of(self.result_file(number)) == file.identity

    def chunks_of(self, file: ExchangeFile) -> Iterator[bytes]:
        for offset in range(0, file.bytes, CHUNK_BYTES):
            self.check_cancelled()
            yield calls.get(calls.call(file.owner.read, file.path, offset, min(CHUNK_BYTES, file.bytes - offset)))

    def clean_up(self, complete: bool) -> None:
        """Ends attempts that still run and removes files, except those the caller is about to read."""
        try:
            if self.cluster.is_connected():
                self.end_attempts()
            else:  # Ray ends its workers itself
                calls.await_the_end()
        finally:
            self.remove_files(complete)

    def end_attempts(self) -> None:
        for attempt in self.attempts.values():
            calls.call(attempt.member.actor.cancel, attempt.message.key)
        running = list(self.attempts)
        if running:
            _, stuck = calls.wait(running, num_returns=len(running), timeout=CLEAN_UP_SECONDS)
            for reference in stuck:
                calls.kill(self.attempts[reference].member.actor, no_restart=False)
        forgotten = [calls.call(member.actor.forget, self.name) for member in self.usable()]
        if forgotten:
            calls.wait(forgotten, num_returns=len(forgotten), timeout=CLEAN_UP_SECONDS)

    def remove_files(self, complete: bool) -> None:
        if not complete:
            folder = Path(self.plan.folder)
            shutil.rmtree(folder, ignore_errors=True)
            remove_empty_folders(folder.parent, folder.parent.parent.parent)


def limits_of(plan: Plan) -> Limits:
    return Limits(
        directory=plan.setting("merganser_worker_directory", ""),
        memory_limit=plan.setting("merganser_worker_memory_limit", ""),
        threads=int(plan.setting("merganser_worker_threads", "0")),
        max_spill_bytes=int(plan.setting("merganser_worker_max_spill_bytes", "0")),
    )
