"""Snapshots, as in Aster: the progress of each step, so that a reader needs no earlier event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from ._entries import from_text, to_text
from ._schema import SNAPSHOT_EVERY

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ._schema import Tables

    Context = dict[str, dict[str, Any]]


def note(context: Context, step: str, attempt: int, delay: int | None) -> None:
    """Has the context know of another event."""
    if not step:
        return
    of_step = context.get(step)
    if of_step is None:
        of_step = context[step] = {"currentAttempt": 1, "lastBackoff": None}
    of_step["currentAttempt"] = attempt
    if delay is not None:
        of_step["lastBackoff"] = delay


def retry_context(connection: Connection, tables: Tables, workflow_id: str, where: str) -> Context:
    """`{currentAttempt, lastBackoff}` of each step: the snapshot, and what came after it."""
    snapshots, events = tables.snapshots, tables.events
    found = connection.execute(
        select(snapshots.c.sequence, snapshots.c.retry_context).where(snapshots.c.workflow_id == workflow_id)
    ).one_or_none()
    sequence: int = 0 if found is None else found.sequence
    context: Context = {} if found is None else from_text(found.retry_context, where, "the snapshot's retry context")
    later = (
        select(events.c.step, events.c.attempt_number, events.c.backoff_delay_ms)
        .where(events.c.workflow_id == workflow_id, events.c.sequence > sequence)
        .order_by(events.c.sequence)
    )
    for step, attempt, delay in connection.execute(later):
        note(context, step, attempt, delay)
    return context


def next_snapshot(sequence: int, steps: int = 0) -> int:
    """The event at which the next one is taken: 100 later, and as many later as there are steps if those are more.

    So keeping them costs the same for each event, however many steps there are.
    """
    return (sequence // SNAPSHOT_EVERY + max(1, steps // SNAPSHOT_EVERY)) * SNAPSHOT_EVERY


def take_snapshot(
    connection: Connection, tables: Tables, workflow_id: str, sequence: int, at: int, context: Context, where: str
) -> None:
    """Keeps the retry context as of that event, in the transaction that is open."""
    snapshots = tables.snapshots
    values = {"sequence": sequence, "retry_context": to_text(context, where, "the retry context"), "taken_at": at}
    changed = connection.execute(update(snapshots).where(snapshots.c.workflow_id == workflow_id).values(values))
    if changed.rowcount == 0:
        connection.execute(insert(snapshots).values(workflow_id=workflow_id, **values))
