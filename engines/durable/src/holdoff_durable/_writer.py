"""One thread that writes: whatever was asked for while it was busy with the last commit shares the next one."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, bindparam, literal, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from ._database import WRITES
from ._errors import JournalConflict, JournalError, LeaseLost, WorkflowBusy, WorkflowUnknown
from ._lease import owner_name
from ._snapshot import next_snapshot, note, retry_context, take_snapshot

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from ._database import Database
    from ._lease import Lease
    from ._schema import Tables

MOST_AT_ONCE = 500
"""Requests in one transaction: more would only make the first of them wait."""


@dataclass(slots=True, eq=False)
class Request:
    """Events to be appended, or other work in the writer's thread, and the future that waits for the answer."""

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


class Overtaken(Exception):
    """The quick way does not fit: a fence does not hold, or something is there already."""


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
        workflows = tables.workflows
        self._advance = (
            update(workflows)
            .where(
                workflows.c.workflow_id == bindparam("the_workflow"),
                workflows.c.owner == bindparam("the_owner"),
                workflows.c.lease_number == bindparam("the_number"),
                workflows.c.last_sequence == bindparam("the_last"),
            )
            .values(
                last_sequence=bindparam("new_last"),
                status=bindparam("new_status"),
                updated_at=bindparam("new_time"),
                # Each append is a sign of life.
                lease_until=now + bindparam("the_length", type_=BigInteger),
            )
        )
        self._insert = database.bulk_insert(tables.events)

    def put(self, request: Request) -> None:
        """Have it written; its waiter is told."""
        with self._starting:
            if self._closed:
                raise JournalError("the journal was closed", self._database.where, "open it again")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="holdoff-journal", daemon=True)
                self._thread.start()
            self._queue.put(request)

    def close(self) -> None:
        """Write what was asked for, and end."""
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
            if batch:
                self._answer(batch, self._write(batch))
            # A waiter must not be kept alive by the thread that has forgotten it.
            del batch, item
        self._hang_up()

    def _write(self, batch: list[Request]) -> list[Any]:
        """The answer to each: a value or an error."""
        quick = [request for request in batch if request.rows and request.lease is not None]
        try:
            if quick:
                try:
                    return self._transaction(batch, quick)
                except Overtaken:
                    pass
            return self._transaction(batch, [])
        except JournalError as error:
            if error.transient or len(batch) == 1:
                return [_copy(error) for _ in batch]
        except BaseException as error:  # The thread must go on: whoever asked is told.
            self._hang_up()
            if len(batch) == 1:
                return [error]
        # One request cannot be fulfilled: the others are written by themselves.
        return [answer for request in batch for answer in self._write([request])]

    def _transaction(self, batch: list[Request], quick: list[Request]) -> list[Any]:
        committing = False
        connection: Connection | None = None
        try:
            connection = self._connected()
            self._database.check_place()
            with connection.begin() as transaction:
                answers, moved = self._append(connection, quick) if quick else ({}, {})
                for request in batch:
                    if id(request) not in answers:
                        answers[id(request)] = self._one(connection, request, moved)
                self._save_guards(connection, batch)
                committing = True
                transaction.commit()
        except SQLAlchemyError as error:
            if isinstance(error, IntegrityError) and quick:
                raise Overtaken from None
            failure = self._database.translate(error, committing=committing)
            self._settle(keep=self._database.is_file and failure.transient)
            raise failure from error
        for lease, last, status in moved.values():
            lease.last_sequence, lease.status = last, status
        return [answers[id(request)] for request in batch]

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.engine.connect().execution_options(**{WRITES: True})
        return self._connection

    def _settle(self, *, keep: bool) -> None:
        """After an error: close the connection, or leave it in no transaction.

        A file's is kept where it can be: on a full disk there may be no room to open it again.
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
                # It was lost before; there is nothing to say that has not been said.
                connection.invalidate()

    def _append(
        self, connection: Connection, quick: list[Request]
    ) -> tuple[dict[int, Any], dict[int, tuple[Lease, int, str]]]:
        """All appends by owners of leases, in two statements."""
        answers: dict[int, Any] = {}
        moved: dict[int, tuple[Lease, int, str]] = {}
        times: dict[int, int] = {}
        rows: list[dict[str, Any]] = []
        for request in quick:
            lease = request.lease
            if lease is None:
                continue
            _, last, status = moved.get(id(lease), (lease, lease.last_sequence, lease.status))
            first = last + 1
            for row in request.rows:
                last += 1
                rows.append({**row, "sequence": last})
                if lease.context is not None:
                    # Noting the same again, when the transaction fails, changes nothing.
                    note(lease.context, row["step"], row["attempt_number"], row["backoff_delay_ms"])
            moved[id(lease)] = (lease, last, request.status or status)
            times[id(lease)] = request.rows[-1]["occurred_at"]
            answers[id(request)] = list(range(first, last + 1))
        # In one order, so that two programs at one database cannot wait for each other.
        ordered = sorted(moved.items(), key=lambda item: item[1][0].workflow_id)
        fences = [
            {
                "the_workflow": lease.workflow_id,
                "the_owner": lease.owner,
                "the_number": lease.number,
                "the_last": lease.last_sequence,
                "new_last": last,
                "new_status": status,
                "new_time": times[key],
                "the_length": lease.length,
                **({} if self._clock is None else {"the_time": self._clock()}),
            }
            for key, (lease, last, status) in ordered
        ]
        if connection.execute(self._advance, fences).rowcount != len(fences):
            raise Overtaken
        self._insert(connection, rows)
        for key, (lease, last, _) in moved.items():
            due = lease.snapshot_at or next_snapshot(lease.last_sequence)
            if last >= due:
                if lease.context is None:
                    lease.context = self._context(connection, lease.workflow_id)
                self._take_snapshot(connection, lease.workflow_id, last, times[key], lease.context)
                due = next_snapshot(last, len(lease.context))
            lease.snapshot_at = due
        return answers, moved

    def _one(self, connection: Connection, request: Request, moved: dict[int, tuple[Lease, int, str]]) -> Any:
        """One request by itself, whose errors are its copy."""
        try:
            with connection.begin_nested():
                if request.work is not None:
                    return request.work(connection)
                return self._append_one(connection, request, moved)
        except JournalError as error:
            return error

    def _append_one(self, connection: Connection, request: Request, moved: dict[int, tuple[Lease, int, str]]) -> Any:
        workflows = self._tables.workflows
        where = f"{self._database.where}, workflow {request.workflow_id!r}"
        known = select(workflows).where(workflows.c.workflow_id == request.workflow_id).with_for_update()
        workflow = connection.execute(known).one_or_none()
        if workflow is None:
            raise WorkflowUnknown("there is no such workflow", where, "nothing was written")
        there = self._there(connection, request)
        sequences: list[int] = []
        last: int = workflow.last_sequence
        missing: list[dict[str, Any]] = []
        for row in request.rows:
            key, sequence = there.get((row["step"], row["step_sequence"]), ("", 0))
            if sequence and key != row["idempotency_key"]:
                if request.lease is not None:
                    # Then it is of who has overtaken this one.
                    _check_fence(workflow, request.lease, where)
                raise JournalConflict(
                    f"event {row['step_sequence']} of {row['step'] or 'the workflow'} is there already as event "
                    f"{sequence}, and says something else than this {row['event_type']}",
                    where,
                    "nothing was written; what is in the journal counts, so run the workflow again from there",
                )
            if not sequence:
                last += 1
                sequence = last
                missing.append({**row, "sequence": sequence})
            sequences.append(sequence)
        lease = request.lease
        status = request.status or workflow.status
        if missing or status != workflow.status:
            _check_fence(workflow, lease, where)
            values: dict[str, Any] = {"last_sequence": last, "status": status}
            if lease is not None:
                now = self._database.server_time() if self._clock is None else literal(self._clock())
                values["lease_until"] = now + literal(lease.length)
            connection.execute(
                update(workflows)
                .where(workflows.c.workflow_id == request.workflow_id)
                .values(updated_at=request.rows[-1]["occurred_at"], **values)
            )
            if missing:
                self._insert(connection, missing)
            if last >= next_snapshot(workflow.last_sequence):
                context = self._context(connection, request.workflow_id)
                at = request.rows[-1]["occurred_at"]
                self._take_snapshot(connection, request.workflow_id, last, at, context)
        if lease is not None:
            lease.context = None
            moved[id(lease)] = (lease, last, status)
        return sequences

    def _context(self, connection: Connection, workflow_id: str) -> dict[str, dict[str, Any]]:
        return retry_context(connection, self._tables, workflow_id, self._database.where)

    def _take_snapshot(
        self, connection: Connection, workflow_id: str, last: int, at: int, context: dict[str, dict[str, Any]]
    ) -> None:
        take_snapshot(connection, self._tables, workflow_id, last, at, context, self._database.where)

    def _there(self, connection: Connection, request: Request) -> dict[tuple[str, int], tuple[str, int]]:
        """Key and sequence of what is there under the numbers of these."""
        events = self._tables.events
        there: dict[tuple[str, int], tuple[str, int]] = {}
        for step in {row["step"] for row in request.rows}:
            numbers = [row["step_sequence"] for row in request.rows if row["step"] == step]
            found = select(events.c.step_sequence, events.c.idempotency_key, events.c.sequence).where(
                events.c.workflow_id == request.workflow_id, events.c.step == step, events.c.step_sequence.in_(numbers)
            )
            for number, key, sequence in connection.execute(found):
                there[step, number] = (key, sequence)
        return there

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

    def _answer(self, batch: list[Request], answers: list[Any]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Any, Any]]] = {}
        for request, answer in zip(batch, answers, strict=True):
            if request.loop is not None:
                by_loop.setdefault(request.loop, []).append((request.waiter, answer))
            elif isinstance(answer, BaseException):
                request.waiter.set_exception(answer)
            else:
                request.waiter.set_result(answer)
        for loop, told_ones in by_loop.items():
            try:
                loop.call_soon_threadsafe(_tell, told_ones)
            except RuntimeError:
                # The loop was closed: nobody waits there any more.
                continue


def _copy(error: JournalError) -> JournalError:
    """A copy of the error: each waiter raises its copy."""
    copy = type(error)(error.what, error.where, error.safe, unknown=error.unknown)
    copy.__cause__ = error.__cause__
    return copy


def _tell(answers: list[tuple[Any, Any]]) -> None:
    for waiter, answer in answers:
        if waiter.done():
            continue
        if isinstance(answer, BaseException):
            waiter.set_exception(answer)
        else:
            waiter.set_result(answer)


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
