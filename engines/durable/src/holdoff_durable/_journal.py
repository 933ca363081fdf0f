"""The journal: every event of every workflow, in a file of SQLite or in PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import os
import time
from base64 import b64decode, b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast

from sqlalchemy import func, insert, inspect, literal, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from ._database import WRITES, Database
from ._entries import CHANGED, Entry, JournalEvent, check_types, from_text, is_storable, to_text
from ._errors import (
    JournalDamaged,
    JournalError,
    JournalReadOnly,
    JournalUnavailable,
    JournalVersion,
    NotAJournal,
    WorkflowBusy,
    WorkflowSilent,
    WorkflowUnknown,
)
from ._lease import Lease, is_gone, owner_name
from ._schema import VERSION, Tables
from ._writer import Request, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from types import TracebackType
    from typing import Literal

    from sqlalchemy import Connection
    from typing_extensions import Unpack

    from ._verify import Divergence
    from ._workflow import Workflow

NAME = "holdoff.durable"
"""Under which the tables' version stands."""

_LOCK = 0x686F6C64
"""The number of PostgreSQL's advisory lock for making the tables."""

ENDED = frozenset({"COMPLETED", "FAILED", "CANCELLED"})
"""The states of a workflow in which nothing happens any more."""


@dataclass(frozen=True, slots=True)
class WorkflowRecord:
    """A workflow as the journal has it, without its events."""

    workflow_id: str
    name: str
    status: str
    """``RUNNING``, ``COMPENSATING``, ``COMPLETED``, ``FAILED`` or ``CANCELLED``."""
    input: Any
    definition: str
    """A fingerprint of the steps."""
    steps: dict[str, Any]
    last_sequence: int
    owner: str | None
    """The process that runs it, for people; None if no process runs it, or that process of this machine has ended."""
    lease_until: int
    """The end of its lease, in nanoseconds since 1970. It changes with every sign of life of its runner."""
    started_at: int
    updated_at: int

    def same_input(self, input: object) -> bool:
        """True if the workflow was begun with that input."""
        return bool(self.input == json.loads(to_text(input, self.workflow_id, "the input")))

    @property
    def ended(self) -> bool:
        """True if the workflow has ended."""
        return self.status in ENDED


class AppendOptions(TypedDict, total=False):
    """The options of `Journal.append`."""

    lease: Lease | None
    """The lease of the runner that appends."""
    status: str | None
    """The status of the workflow from then on."""
    guards: Mapping[str, Mapping[str, bytes]] | None
    """States of guards to keep, by name."""


class Journal:
    """The events of workflows, append-only.

    ``Journal("orders.db")`` is a file of SQLite, ``Journal("postgresql://user@host/name")`` a database of PostgreSQL.
    May be shared by threads; a file may be shared by the processes of one machine. A new file can be read by its user
    only, since it has the inputs, the results and the errors of all workflows. A journal grows until `remove`; when the
    disk is full, an append raises `JournalFull` and what was recorded before is safe.

    An append returns when the events are on the disk. One transaction has all that belongs together, and appending the
    same again changes nothing. ``synchronous="NORMAL"`` lets a file's last commits be lost when the machine loses power
    (never when only the program ends), and is several times as fast.
    """

    def __init__(
        self,
        url_or_path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        busy_timeout: float = 5.0,
        schema: str | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._database = Database(
            url_or_path, read_only=read_only, synchronous=synchronous, busy_timeout=busy_timeout, schema=schema
        )
        self._tables = Tables(self._database.schema)
        # By the server's clock unless given, so that the clocks of several machines need not agree.
        self._clock = time.time_ns if clock is None and self._database.is_file else clock
        self._process = os.getpid()
        self.where = self._database.where
        """The file or the server, without a password."""
        try:
            self._open(read_only)
        except BaseException:
            self._database.engine.dispose()
            raise
        self._database.stay()
        self._writer = Writer(self._database, self._tables, self._clock)

    # Opening.

    def _open(self, read_only: bool) -> None:
        path = self._database.path
        if path is not None and not path.exists():
            if read_only:
                raise NotAJournal("there is no such file", self.where, "a Runner makes one")
            if not path.absolute().parent.is_dir():
                raise JournalUnavailable(
                    "its folder does not exist", self.where, f"make {path.absolute().parent} first"
                )
        if path is not None and not read_only:
            self._database.make_file()
        options = {} if read_only else {WRITES: True}
        try:
            with self._database.engine.connect().execution_options(**options) as connection, connection.begin():
                self._check(connection, read_only)
        except SQLAlchemyError as error:
            raise self._database.translate(error) from error

    def _check(self, connection: Connection, read_only: bool) -> None:
        if not (read_only or self._database.is_file):
            connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        schema = self._database.schema
        there = set(inspect(connection).get_table_names(schema=schema)) if self._has_schema(connection) else set[str]()
        ours = {table.name for table in self._tables.metadata.tables.values()}
        if "schema_version" in there:
            self._database.check_tables(connection, sorted(ours & there))
            versions = self._tables.schema_version
            found = connection.execute(
                select(versions.c.version).where(versions.c.component == NAME)
            ).scalar_one_or_none()
            if found == VERSION:
                for name in sorted(ours - there):
                    raise NotAJournal(f"{name} is no table of a journal", self.where, CHANGED)
                return
            if found is not None:
                raise JournalVersion(
                    f"its tables are of version {found}, and this holdoff reads version {VERSION}",
                    self.where,
                    "nothing was touched; "
                    + ("use a newer holdoff" if found > VERSION else "let its workflows end under the older holdoff")
                    + ", or begin a new journal under another name",
                )
        elsewhere = there if self._database.is_file else there & ours
        if elsewhere:
            raise NotAJournal(
                f"there are other tables ({', '.join(sorted(elsewhere)[:5])})",
                self.where,
                "they were not touched: give another " + ("path" if self._database.is_file else "schema="),
            )
        if read_only:
            raise NotAJournal("it has no tables of a journal", self.where, "a Runner makes them")
        if schema is not None and not self._has_schema(connection):
            # Making a schema needs a right that an existing one does not need.
            quoted = connection.dialect.identifier_preparer.quote_schema(schema)
            connection.execute(text(f"CREATE SCHEMA {quoted}"))
        self._tables.metadata.create_all(connection, checkfirst=False)
        connection.execute(insert(self._tables.schema_version).values(component=NAME, version=VERSION))

    def _has_schema(self, connection: Connection) -> bool:
        return self._database.schema is None or inspect(connection).has_schema(self._database.schema)

    def close(self) -> None:
        """Writes what is under way, and closes the database."""
        if os.getpid() != self._process:
            # Nothing here is of this process.
            return
        self._writer.close()
        self._database.engine.dispose()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Journal {self.where}>"

    # Reading.

    @contextmanager
    def _read(self) -> Generator[Connection, None, None]:
        self._check_process()
        try:
            with self._database.engine.connect() as connection, connection.begin():
                yield connection
        except SQLAlchemyError as error:
            raise self._database.translate(error) from error

    def events(self, workflow_id: str, from_sequence: int = 1) -> list[JournalEvent]:
        """The events of a workflow in their order, from that one on, which is included."""
        events = self._tables.events
        return self._select_events(events.c.workflow_id == workflow_id, events.c.sequence >= from_sequence)

    def events_of_attempt(self, workflow_id: str, attempt: int) -> list[JournalEvent]:
        """The events of a workflow that are about that attempt of whichever step, in their order."""
        events = self._tables.events
        return self._select_events(events.c.workflow_id == workflow_id, events.c.attempt_number == attempt)

    def events_of_step(self, workflow_id: str, step: str) -> list[JournalEvent]:
        """The events of one step in their order: the log that the core replays."""
        events = self._tables.events
        return self._select_events(events.c.workflow_id == workflow_id, events.c.step == step)

    def _select_events(self, *where: Any) -> list[JournalEvent]:
        events = self._tables.events
        with self._read() as connection:
            found = connection.execute(select(events).where(*where).order_by(events.c.sequence))
            return [JournalEvent.from_row(row, events, self.where) for row in found]

    def workflows(self, status: str | None = None, name: str | None = None) -> list[WorkflowRecord]:
        """The workflows in the order in which they began; only with one status or name, if given."""
        workflows = self._tables.workflows
        chosen = select(workflows).order_by(workflows.c.started_at, workflows.c.workflow_id)
        if status is not None:
            chosen = chosen.where(workflows.c.status == status)
        if name is not None:
            chosen = chosen.where(workflows.c.name == name)
        with self._read() as connection:
            return [self._record(row) for row in connection.execute(chosen)]

    def workflow(self, workflow_id: str) -> WorkflowRecord | None:
        """The workflow with this id; None if there is none."""
        workflows = self._tables.workflows
        with self._read() as connection:
            row = connection.execute(select(workflows).where(workflows.c.workflow_id == workflow_id)).one_or_none()
            return None if row is None else self._record(row)

    def _record(self, row: Any) -> WorkflowRecord:
        about = f"{self.where}, workflow {row.workflow_id!r:.300}"
        check_types(row._mapping, self._tables.workflows, about)
        steps = from_text(row.steps, about, "the list of steps")
        if not isinstance(steps, dict):
            raise JournalDamaged("the list of steps is no object of JSON", about, CHANGED)
        return WorkflowRecord(
            workflow_id=row.workflow_id,
            name=row.name,
            status=row.status,
            input=from_text(row.input, about, "the input"),
            definition=row.definition,
            steps=cast("dict[str, Any]", steps),
            last_sequence=row.last_sequence,
            owner=None if row.owner is None or is_gone(row.owner) else owner_name(row.owner),
            lease_until=row.lease_until,
            started_at=row.started_at,
            updated_at=row.updated_at,
        )

    def succeeded(self) -> dict[str, int]:
        """How many steps of each workflow have succeeded, without compensations."""
        events = self._tables.events
        chosen = (
            select(events.c.workflow_id, func.count())
            .where(events.c.event_type == "SUCCEEDED", events.c.step.not_like("compensate:%"))
            .group_by(events.c.workflow_id)
        )
        with self._read() as connection:
            return {row[0]: row[1] for row in connection.execute(chosen)}

    def retry_context(self, workflow_id: str) -> dict[str, dict[str, Any]]:
        """``{"currentAttempt": n, "lastBackoff": ms}`` for each step that has begun, as Aster keeps it."""
        events = self._tables.events
        chosen = (
            select(events.c.step, events.c.attempt_number, events.c.backoff_delay_ms)
            .where(events.c.workflow_id == workflow_id, events.c.step != "")
            .order_by(events.c.sequence)
        )
        context: dict[str, dict[str, Any]] = {}
        with self._read() as connection:
            for step, attempt, delay in connection.execute(chosen):
                last = context.get(step, {}).get("lastBackoff")
                context[step] = {"currentAttempt": attempt, "lastBackoff": last if delay is None else delay}
        return context

    def verify(self, flow: Workflow, workflow_id: str) -> Divergence | None:
        """Replays every step of a workflow. Returns the first event that its policy would decide otherwise, or None."""
        from ._verify import verify

        return verify(flow, self.events(workflow_id))

    def guards(self, name: str) -> dict[str, bytes] | None:
        """The state of guards as it was kept last."""
        guards = self._tables.guards
        with self._read() as connection:
            state = connection.execute(select(guards.c.state).where(guards.c.name == name)).scalar_one_or_none()
        if state is None:
            return None
        what = f"what is kept of the guards {name!r}"
        try:
            return {kind: b64decode(saved, validate=True) for kind, saved in from_text(state, self.where, what).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise JournalDamaged(f"{what} is no state of guards: {error}", self.where, CHANGED) from error

    # Writing.

    def append(self, workflow_id: str, entries: Iterable[Entry], **options: Unpack[AppendOptions]) -> list[int]:
        """Appends events in one transaction, and answers with their numbers when they are on the disk.

        An event that is there already is not written again: its number is the answer. With a lease it is refused when
        somebody else has taken the workflow over (`LeaseLost`), without one while somebody has it (`WorkflowBusy`).
        """
        answer: list[int] = self._appended(workflow_id, entries, None, **options).result()
        return answer

    async def append_async(
        self, workflow_id: str, entries: Iterable[Entry], **options: Unpack[AppendOptions]
    ) -> list[int]:
        """The same for a coroutine, which waits without holding up its loop."""
        answer: list[int] = await self._appended(workflow_id, entries, asyncio.get_running_loop(), **options)
        return answer

    def remove(self, workflow_id: str) -> None:
        """Forgets a workflow that has ended, with all its events; `WorkflowBusy` when it has not."""
        tables = self._tables
        workflows = tables.workflows
        about = f"{self.where}, workflow {workflow_id!r}"

        def remove(connection: Connection) -> None:
            known = select(workflows.c.status).where(workflows.c.workflow_id == workflow_id).with_for_update()
            status = connection.execute(known).scalar_one_or_none()
            if status is None:
                raise WorkflowUnknown("there is no such workflow", about, "nothing was removed")
            if status not in ENDED:
                raise WorkflowBusy("it has not ended", about, "nothing was removed; let it end, or cancel it")
            for table in (tables.events, workflows):
                connection.execute(table.delete().where(table.c.workflow_id == workflow_id))

        self._do(remove)

    def _appended(
        self,
        workflow_id: str,
        entries: Iterable[Entry],
        loop: asyncio.AbstractEventLoop | None,
        *,
        lease: Lease | None = None,
        status: str | None = None,
        guards: Mapping[str, Mapping[str, bytes]] | None = None,
    ) -> Any:
        rows = [entry.row(workflow_id, self.where) for entry in entries]
        if not rows:
            raise ValueError("there is nothing to append")
        guard_rows = [
            {
                "name": name,
                "state": json.dumps({kind: b64encode(saved).decode() for kind, saved in state.items()}),
                "saved_at": rows[-1]["occurred_at"],
            }
            for name, state in (guards or {}).items()
        ]
        return self._put(Request(workflow_id, rows, lease, status, guard_rows, None, loop))

    def _check_process(self) -> None:
        """A fork has no writer, and the connections are its parent's."""
        if os.getpid() != self._process:
            raise JournalError(
                "it was opened before this process was forked",
                self.where,
                "nothing was read or written; open the journal, and make the runner, in the process that uses them",
            )

    def _put(self, request: Request) -> Any:
        self._check_process()
        if self._database.read_only:
            raise JournalReadOnly("the journal was opened for reading", self.where, "open it without read_only")
        return self._writer.put(request)

    def _do(self, work: Callable[[Connection], Any]) -> Any:
        """Calls the function in the writer's thread, in a transaction, and returns its answer."""
        return self._put(Request(work=work)).result()

    async def _do_async(self, work: Callable[[Connection], Any]) -> Any:
        return await self._put(Request(work=work, loop=asyncio.get_running_loop()))

    # The lease.

    def begin(
        self, workflow_id: str, *, name: str, input: object, definition: str, steps: Mapping[str, Any], at: int
    ) -> WorkflowRecord:
        """The workflow with this id. Makes it if there is none; its first event is ``WORKFLOW_STARTED``."""
        record: WorkflowRecord = self._do(self._beginning(workflow_id, name, input, definition, steps, at))
        return record

    def _beginning(
        self, workflow_id: str, name: str, input: object, definition: str, steps: Mapping[str, Any], at: int
    ) -> Callable[[Connection], WorkflowRecord]:
        if not isinstance(workflow_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the id of a workflow is text, not {type(workflow_id).__name__}")
        if not 0 < len(workflow_id) <= 255 or not is_storable(workflow_id):
            raise ValueError("the id of a workflow has 1 to 255 characters, none of them NUL or half a surrogate pair")
        about = f"{self.where}, workflow {workflow_id!r}"
        workflows = self._tables.workflows
        row = {
            "workflow_id": workflow_id,
            "name": name,
            "status": "RUNNING",
            "input": to_text(input, about, "the input"),
            "definition": definition,
            "steps": to_text(steps, about, "the list of steps"),
            "last_sequence": 1,
            "owner": None,
            "lease_until": 0,
            "lease_length": 0,
            "lease_number": 0,
            "started_at": at,
            "updated_at": at,
        }
        first = Entry("", 1, "WORKFLOW_STARTED", at, payload={"name": name, "input": input})
        event = {**first.row(workflow_id, self.where), "sequence": 1}

        def begin(connection: Connection) -> WorkflowRecord:
            # A second runner finds both there.
            connection.execute(self._database.insert(workflows).values(row).on_conflict_do_nothing())
            connection.execute(self._database.insert(self._tables.events).values(event).on_conflict_do_nothing())
            found = connection.execute(select(workflows).where(workflows.c.workflow_id == workflow_id)).one()
            return self._record(found)

        return begin

    def take(self, workflow_id: str, owner: str, lasting: float = 30.0) -> Lease:
        """Takes the lease of a workflow for `lasting` seconds; `WorkflowBusy` while another runner has it."""
        lease: Lease = self._do(self._taking(workflow_id, owner, lasting, None))
        return lease

    def _taking(
        self, workflow_id: str, owner: str, lasting: float, seen: tuple[int, int] | None
    ) -> Callable[[Connection], Lease]:
        """`seen` is an end of the lease, and since how many nanoseconds it is known; None takes any that has ended."""
        workflows = self._tables.workflows
        length = round(lasting * 1e9)
        about = f"{self.where}, workflow {workflow_id!r}"

        def take(connection: Connection) -> Lease:
            known = select(workflows, self._now().label("now")).where(workflows.c.workflow_id == workflow_id)
            row = connection.execute(known.with_for_update(of=workflows)).one_or_none()
            if row is None:
                raise WorkflowUnknown("there is no such workflow", about, "run it first")
            holder: str | None = row.owner
            if holder is not None and holder != owner and not is_gone(holder):
                busy: tuple[str, str] = (f"{owner_name(holder)} runs it", about)
                left = row.lease_until - row.now
                # A lease that is longer than it may be is of a clock that was set back.
                if 0 < left <= row.lease_length:
                    raise WorkflowBusy(*busy, f"if that process is gone, its lease ends in {left / 1e9:.0f} s")
                if seen is not None and (seen[0] != row.lease_until or seen[1] < row.lease_length // 3):
                    silent = WorkflowSilent(*busy, "its lease has ended; wait for a sign of life of that process")
                    silent.until, silent.length = row.lease_until, row.lease_length
                    raise silent
            number: int = row.lease_number + 1
            swapped = connection.execute(
                update(workflows)
                .where(
                    workflows.c.workflow_id == workflow_id,
                    workflows.c.lease_number == row.lease_number,
                    workflows.c.lease_until == row.lease_until,
                )
                .values(owner=owner, lease_number=number, lease_until=row.now + length, lease_length=length)
            )
            if swapped.rowcount != 1:
                raise WorkflowBusy("another runner was quicker", about, "it goes on with it")
            died = holder is not None and holder != owner
            return Lease(workflow_id, owner, number, row.status, length, died)

        return take

    async def begin_and_take_async(
        self,
        workflow_id: str,
        *,
        name: str,
        input: object,
        definition: str,
        steps: Mapping[str, Any],
        at: int,
        owner: str,
        lasting: float,
        seen: tuple[int, int] | None = None,
    ) -> tuple[WorkflowRecord, Lease | None]:
        """Both in one transaction, for a coroutine; a workflow that has ended is not taken."""
        begin = self._beginning(workflow_id, name, input, definition, steps, at)
        take = self._taking(workflow_id, owner, lasting, seen)

        def both(connection: Connection) -> tuple[WorkflowRecord, Lease | None]:
            record = begin(connection)
            return record, None if record.ended else take(connection)

        taken: tuple[WorkflowRecord, Lease | None] = await self._do_async(both)
        return taken

    async def renew_async(self, owner: str, lasting: float = 30.0) -> int:
        """Renews all leases of an owner for `lasting` seconds, and returns their number."""
        workflows = self._tables.workflows
        length = round(lasting * 1e9)

        def renew(connection: Connection) -> int:
            # The time of now, however long this has waited.
            until = {"lease_until": self._now() + literal(length), "lease_length": length}
            return connection.execute(update(workflows).where(workflows.c.owner == owner).values(until)).rowcount

        count: int = await self._do_async(renew)
        return count

    async def release_async(self, lease: Lease) -> None:
        """Gives a workflow back; if it was lost before there is nothing to give."""
        workflows = self._tables.workflows
        released = (
            update(workflows)
            .where(
                workflows.c.workflow_id == lease.workflow_id,
                workflows.c.owner == lease.owner,
                workflows.c.lease_number == lease.number,
            )
            .values(owner=None, lease_until=0)
        )
        await self._do_async(lambda connection: connection.execute(released).rowcount)

    def _now(self) -> Any:
        return self._database.server_time() if self._clock is None else literal(self._clock())
