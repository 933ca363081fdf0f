"""One thread that writes: all requests that arrive during a commit share the next one."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, bindparam, select, tuple_, update
from sqlalchemy.exc import SQLAlchemyError

from ._database import WRITES
from ._errors import JournalConflict, JournalError, LeaseLost, WorkflowBusy, WorkflowUnknown
from ._lease import owner_name

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from sqlalchemy import Connection

    from ._database import Database
    from ._lease import Lease
    from ._schema import Tables

MOST_AT_ONCE = 500
"""Requests in one transaction: more would only make the first of them wait."""


@dataclass(slots=True, eq=False)
class Request:
    """Events to be appended, or other work in the writer's thread, and the future of the answer: one of the event loop,
    or of a thread that waits."""

    workflow_id: str = ""
    rows: Sequence[dict[str, Any]] = ()
    lease: Lease | None = None
    status: str | None = None
    guards: Sequence[dict[str, Any]] = ()
    work: Callable[[Connection], Any] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    waiter: Any = field(init=False)

    def __post_init__(self) -> None:
        self.waiter = Future() if self.loop is None else self.loop.create_future()


@dataclass(slots=True)
class _Change:
    """A workflow after the appends of one transaction."""

    last: int
    status: str
    at: int
    length: int
    """The nanoseconds for which the append renews its lease."""


class _Appends:
    """The appends of one transaction: what is in the database already, and what they add."""

    def __init__(self, workflows: Iterable[Any], written: Iterable[Any], where: str) -> None:
        self._where = where
        self._workflows = {row.workflow_id: row for row in workflows}
        self._written = {tuple(row[:3]): (row[3], row[4]) for row in written}
        self.changes: dict[str, _Change] = {}
        self.rows: list[dict[str, Any]] = []
        self.states: list[tuple[Lease, str]] = []
        """The status of the workflow of each lease, once all of it is written."""

    def add(self, request: Request) -> list[int]:
        """Adds the events of a request that are not there yet, and returns the numbers of all of them."""
        where = f"{self._where}, workflow {request.workflow_id!r}"
        workflow = self._workflows.get(request.workflow_id)
        if workflow is None:
            raise WorkflowUnknown("there is no such workflow", where, "nothing was written")
        earlier = self.changes.get(request.workflow_id)
        last: int = workflow.last_sequence if earlier is None else earlier.last
        status: str = workflow.status if earlier is None else earlier.status
        numbers: list[int] = []
        missing: list[dict[str, Any]] = []
        for row in request.rows:
            key, number = self._written.get(_place(row), (row["idempotency_key"], 0))
            if key != row["idempotency_key"]:
                if request.lease is not None:
                    # Another runner took the lease and wrote this event first.
                    _check_fence(workflow, request.lease, where)
                raise JournalConflict(
                    f"event {row['step_sequence']} of {row['step'] or 'the workflow'} is there already as event "
                    f"{number}, and says something else than this {row['event_type']}",
                    where,
                    "nothing was written; what is in the journal counts, so run the workflow again from there",
                )
            if number == 0:
                last += 1
                number = last
                missing.append({**row, "sequence": number})
            numbers.append(number)
        lease, before, status = request.lease, status, request.status or status
        if missing or status != before:
            _check_fence(workflow, lease, where)
            length = 0 if lease is None else lease.length
            self.changes[request.workflow_id] = _Change(last, status, request.rows[-1]["occurred_at"], length)
        self.rows += missing
        self._written.update({_place(row): (row["idempotency_key"], row["sequence"]) for row in missing})
        if lease is not None:
            self.states.append((lease, status))
        return numbers


class Writer:
    """The thread, its connection and its queue."""

    def __init__(self, database: Database, tables: Tables, clock: Callable[[], int] | None) -> None:
        self._database = database
        self._tables = tables
        self._clock = clock
        now = database.server_time() if clock is None else bindparam("the_time", type_=BigInteger)
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False
        self._connection: Connection | None = None
        workflows, events = tables.workflows, tables.events
        places = (events.c.workflow_id, events.c.step, events.c.step_sequence)
        named = workflows.c.workflow_id.in_(bindparam("ids", expanding=True))
        # In one order, so that two programs at one database cannot wait for each other.
        self._lock = select(workflows).where(named).order_by(workflows.c.workflow_id).with_for_update()
        self._written = select(*places, events.c.idempotency_key, events.c.sequence).where(
            tuple_(*places).in_(bindparam("places", expanding=True))
        )
        self._advance = (
            update(workflows)
            .where(workflows.c.workflow_id == bindparam("the_workflow"))
            .values(
                last_sequence=bindparam("new_last"),
                status=bindparam("new_status"),
                updated_at=bindparam("new_time"),
                # Each append renews the lease.
                lease_until=now + bindparam("the_length", type_=BigInteger),
            )
        )

    def put(self, request: Request) -> Any:
        """Queues a request, and returns the future of its answer."""
        with self._starting:
            if self._closed:
                raise JournalError("the journal was closed", self._database.where, "open it again")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdoff-journal", daemon=True)
                self._thread.start()
            self._queue.put(request)
        return request.waiter

    def close(self) -> None:
        """Writes what is queued, and ends the thread."""
        with self._starting:
            if self._closed:
                return
            self._closed = True
            thread = self._thread
            self._queue.put(None)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            item = self._queue.get()
            batch: list[Request] = []
            while True:
                if item is None:
                    last = True
                    break
                batch.append(item)
                if len(batch) == MOST_AT_ONCE:
                    break
                try:
                    item = self._queue.get_nowait()
                except Empty:
                    break
            _answer(batch, self._write(batch))
            # While the thread waits it must not keep requests and answers alive.
            del batch, item
        self._hang_up()

    def _write(self, batch: list[Request]) -> list[Any]:
        """The answer to each request: a value or an error."""
        try:
            return self._transaction(batch) if batch else []
        except JournalError as error:
            if error.transient or len(batch) == 1:
                return [_copy(error) for _ in batch]
        except BaseException as error:  # The thread must go on: the callers get the error.
            self._hang_up()
            if len(batch) == 1:
                return [error]
        # One request cannot be fulfilled: each is written by itself.
        return [answer for request in batch for answer in self._write([request])]

    def _transaction(self, batch: list[Request]) -> list[Any]:
        committing = False
        try:
            connection = self._connected()
            self._database.check_place()
            with connection.begin() as transaction:
                answers, states = self._append(connection, [request for request in batch if request.rows])
                for request in batch:
                    if request.work is not None:
                        answers[id(request)] = _worked(connection, request.work)
                self._save_guards(connection, batch)
                committing = True
                transaction.commit()
        except SQLAlchemyError as error:
            failure = self._database.translate(error, committing=committing)
            self._settle(keep=self._database.is_file and failure.transient)
            raise failure from error
        for lease, status in states:
            lease.status = status
        return [answers[id(request)] for request in batch]

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.engine.connect().execution_options(**{WRITES: True})
        return self._connection

    def _settle(self, *, keep: bool) -> None:
        """After an error: closes the connection, or ends its transaction.

        The connection to a file is kept where possible: on a full disk there may be no room to open it again.
        """
        if keep and self._connection is not None:
            try:
                self._connection.rollback()
            except SQLAlchemyError:
                pass
            else:
                if not self._connection.in_transaction():
                    return
        self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except SQLAlchemyError:
                # The connection was lost before, which the callers know.
                connection.invalidate()

    def _append(
        self, connection: Connection, requests: list[Request]
    ) -> tuple[dict[int, Any], list[tuple[Lease, str]]]:
        answers: dict[int, Any] = {}
        if not requests:
            return answers, []
        ids = list({request.workflow_id for request in requests})
        places = [_place(row) for request in requests for row in request.rows]
        workflows = connection.execute(self._lock, {"ids": ids}).all()
        written = connection.execute(self._written, {"places": places})
        appends = _Appends(workflows, written, self._database.where)
        for request in requests:
            try:
                answers[id(request)] = appends.add(request)
            except JournalError as error:
                answers[id(request)] = error
        ends = [
            {
                "the_workflow": workflow_id,
                "new_last": change.last,
                "new_status": change.status,
                "new_time": change.at,
                "the_length": change.length,
                **({} if self._clock is None else {"the_time": self._clock()}),
            }
            for workflow_id, change in appends.changes.items()
        ]
        if ends:
            connection.execute(self._advance, ends)
        if appends.rows:
            connection.execute(self._tables.events.insert(), appends.rows)
        return answers, appends.states

    def _save_guards(self, connection: Connection, batch: list[Request]) -> None:
        newest: dict[str, dict[str, Any]] = {row["name"]: row for request in batch for row in request.guards}
        for name in sorted(newest):
            row = newest[name]
            there = self._database.insert(self._tables.guards).values(row)
            connection.execute(
                there.on_conflict_do_update(
                    index_elements=["name"], set_={"state": row["state"], "saved_at": row["saved_at"]}
                )
            )


def _place(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["workflow_id"], row["step"], row["step_sequence"]


def _worked(connection: Connection, work: Callable[[Connection], Any]) -> Any:
    """The answer of other work, which an error of its own takes back alone."""
    try:
        with connection.begin_nested():
            return work(connection)
    except JournalError as error:
        return error


def _answer(batch: list[Request], answers: list[Any]) -> None:
    """Tells each loop its answers at once: to wake a loop costs more than an answer."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[tuple[Any, Any]]] = {}
    for request, answer in zip(batch, answers, strict=True):
        by_loop.setdefault(request.loop, []).append((request.waiter, answer))
    for loop, told in by_loop.items():
        if loop is None:
            _tell(told)
            continue
        # In a closed loop nothing waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_tell, told)


def _tell(answers: list[tuple[Any, Any]]) -> None:
    for waiter, answer in answers:
        if waiter.done():
            continue
        if isinstance(answer, BaseException):
            waiter.set_exception(answer)
        else:
            waiter.set_result(answer)


def _copy(error: JournalError) -> JournalError:
    """A copy of the error: each caller raises its own."""
    copy = type(error)(error.what, error.where, error.safe, unknown=error.unknown)
    copy.__cause__ = error.__cause__
    return copy


def _check_fence(workflow: Any, lease: Lease | None, where: str) -> None:
    if lease is None:
        if workflow.owner is not None:
            raise WorkflowBusy(
                f"{owner_name(workflow.owner)} has it",
                where,
                "nothing was written; append under its lease or when it is free",
            )
        return
    if workflow.owner != lease.owner or workflow.lease_number != lease.number:
        now_with = "nobody has it now" if workflow.owner is None else f"{owner_name(workflow.owner)} has it now"
        raise LeaseLost(
            f"the lease was lost: {now_with}",
            where,
            "nothing was written; this runner stops, and the other goes on from what was recorded",
        )
