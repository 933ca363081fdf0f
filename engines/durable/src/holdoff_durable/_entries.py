"""An event on its way into the journal and back: the columns that people query, and the rest beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from ._errors import JournalDamaged, PayloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdoff.log import Event
    from sqlalchemy import Table

_DEEPER = 24

CHANGED = "somebody has changed the journal: restore it, or run the workflow again under a new id"

KINDS = frozenset({"STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED", "GAVE_UP", "CANCELLED"})
"""The events of the core. Other events are about a workflow, or about a step that never began."""

ENDS = frozenset({"SUCCEEDED", "GAVE_UP", "CANCELLED"})
"""The events of the core that end a step."""

FAILURES = frozenset({"ATTEMPT_FAILED", "RETRY_SCHEDULED", "GAVE_UP"})
"""The events of the core that a failure leads to."""

LONGEST_REASON = 4000
"""Characters of an error's text that are kept: a page of it, not a dump."""


def to_text(value: object, where: str, what: str) -> str:
    """A value as JSON, the same text for the same value."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        problem = "nests too deeply" if isinstance(error, RecursionError) else str(error)
        raise PayloadError(
            f"{what} cannot be kept as JSON: {problem}",
            where,
            "return what JSON has (text, numbers that are finite, lists, dicts with text keys, True, False, None)",
        ) from error
    return text


def from_text(text: str, where: str, what: str) -> Any:
    """The value that JSON text stands for."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise JournalDamaged(f"{what} is no JSON: {error}", where, CHANGED) from error


_JSON = frozenset({"payload", "detail", "input", "steps"})
"""Columns whose text is checked as it is read."""


def check_types(row: Mapping[str, Any], table: Table, about: str) -> None:
    """Raises unless each value is what its column says: SQLite keeps anything in any column."""
    for name, kinds in _kinds(table):
        if not isinstance(row[name], kinds):
            what = "a number" if int in kinds else "text"
            raise JournalDamaged(f"{name} is {row[name]!r:.100}, not {what}", about, CHANGED)


@lru_cache
def _kinds(table: Table) -> list[tuple[str, tuple[type, ...]]]:
    """The types of the values in each column."""
    return [
        (column.name, (column.type.python_type, type(None)) if column.nullable else (column.type.python_type,))
        for column in table.columns
        if column.name not in _JSON
    ]


def as_read(value: object, where: str, what: str) -> Any:
    """The value as a reader of the journal gets it."""
    # Deeper than it will be in its event, whose text is made further down the stack: else it could fail there only.
    for _ in range(_DEEPER):
        value = [value]
    read = from_text(to_text(value, where, what), where, what)
    for _ in range(_DEEPER):
        (read,) = read
    return read


def reason_of(error: BaseException) -> str:
    """The text of an error for the column failure_reason: the class and what it says."""
    try:
        text = str(error)
    except Exception:  # An error in an error's own text must not lose the event.
        text = ""
    name = type(error).__name__
    return storable(f"{name}: {text}" if text else name)


def storable(text: str) -> str:
    """Text that every database takes: no NUL, no half of a pair of surrogates, not without end."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def is_storable(text: str) -> bool:
    """True if every database takes the text as it is."""
    return "\0" not in text and text == text.encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class Entry:
    """An event to be appended."""

    step: str
    """The step it is about; empty for the workflow itself."""
    step_sequence: int
    """Its number among the events of that step, from 1: in the core's terms the event's sequence."""
    type: str
    at: int
    """Nanoseconds since 1970."""
    attempt_number: int = 1
    backoff_delay_ms: int | None = None
    failure_reason: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict[str, Any])
    detail: str = "{}"
    """The event of the core in its JSON form, whole: what is replayed. The other fields are for queries."""

    @classmethod
    def recorded(cls, step: str, event: Event, reason: str | None, payload: Mapping[str, Any]) -> Entry:
        """The entry of an event of a recorder; the reason is plain already."""
        fields = {"taskId": step} if reason is None else {"taskId": step, "reason": reason}
        return cls(
            step,
            event.sequence,
            event.kind,
            event.at,
            event.attempt,
            event.backoff_delay_ms,
            reason,
            {**fields, **payload},
            event.to_json(step, reason),
        )

    def row(self, workflow_id: str, where: str) -> dict[str, Any]:
        """The columns but for the sequence. The key is made of everything that the event says."""
        payload = to_text(self.payload, where, f"the payload of {self.type} of {self.step or 'the workflow'}")
        row = {
            "workflow_id": workflow_id,
            "event_type": self.type,
            "payload": payload,
            "attempt_number": self.attempt_number,
            "backoff_delay_ms": self.backoff_delay_ms,
            "failure_reason": self.failure_reason,
            "occurred_at": self.at,
            "step": self.step,
            "step_sequence": self.step_sequence,
            "detail": self.detail,
        }
        row["idempotency_key"] = _key(row)
        return row


_KEY_COLUMNS = (
    "workflow_id",
    "step",
    "step_sequence",
    "event_type",
    "occurred_at",
    "attempt_number",
    "backoff_delay_ms",
    "failure_reason",
    "payload",
    "detail",
)
"""The columns that the key is made of."""


def _key(row: Mapping[str, Any]) -> str:
    content = "\0".join([str(row[name]) for name in _KEY_COLUMNS])
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event that was recorded."""

    workflow_id: str
    sequence: int
    """Its number among the events of the workflow, from 1 without gaps."""
    type: str
    at: int
    """Nanoseconds since 1970."""
    attempt_number: int
    backoff_delay_ms: int | None
    failure_reason: str | None
    payload: dict[str, Any]
    step: str
    """The step it is about; empty for the workflow itself."""
    step_sequence: int
    """Its number among the events of that step, from 1."""
    idempotency_key: str
    detail: dict[str, Any]
    """The event of the core in its JSON form; empty if the core has no such event."""
    unaltered: bool = True
    """True if the key fits the other columns."""

    @classmethod
    def from_row(cls, row: Any, events: Table, where: str) -> JournalEvent:
        """The event in a row of the table."""
        of_step = f", step {row.step!r}" if row.step else ""
        about = f"{where}, workflow {row.workflow_id!r:.300}{of_step:.300}, event {row.sequence!r:.30}"
        check_types(row._mapping, events, about)
        payload, detail = (from_text(row._mapping[name], about, f"the {name}") for name in ("payload", "detail"))
        if not isinstance(payload, dict) or not isinstance(detail, dict):
            raise JournalDamaged("payload and detail are no objects of JSON", about, CHANGED)
        return cls(
            workflow_id=row.workflow_id,
            sequence=row.sequence,
            type=row.event_type,
            at=row.occurred_at,
            attempt_number=row.attempt_number,
            backoff_delay_ms=row.backoff_delay_ms,
            failure_reason=row.failure_reason,
            payload=cast("dict[str, Any]", payload),
            step=row.step,
            step_sequence=row.step_sequence,
            idempotency_key=row.idempotency_key,
            detail=cast("dict[str, Any]", detail),
            unaltered=_key(row._mapping) == row.idempotency_key,
        )

    @property
    def event(self) -> dict[str, Any]:
        """The event in the JSON form that every language of holdoff reads, numbered within its step."""
        if self.detail:
            return dict(self.detail)
        # One of a workflow, or of a step that never began: no event of the core.
        return {
            "sequence": self.step_sequence,
            "type": self.type,
            "at": str(self.at),
            "attemptNumber": self.attempt_number,
            "payload": self.payload,
        }
