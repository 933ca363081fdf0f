"""What Aster keeps beside the events: of each step how far it is, so that nobody has to read them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from ._entries import from_text, to_text

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ._schema import Tables

    Context = dict[str, dict[str, Any]]


def retry_context(connection: Connection, tables: Tables, workflow_id: str, where: str) -> tuple[int, Context]:
    """The latest event's number, and `{currentAttempt, lastBackoff}` of each step: the snapshot and what came after."""
    snapshots, events = tables.snapshots, tables.events
    found = connection.execute(
        select(snapshots.c.sequence, snapshots.c.retry_context).where(snapshots.c.workflow_id == workflow_id)
    ).one_or_none()
    sequence: int = 0 if found is None else found.sequence
    context: Context = {} if found is None else from_text(found.retry_context, where, "the snapshot's retry context")
    later = (
        select(events.c.sequence, events.c.step, events.c.attempt_number, events.c.backoff_delay_ms)
        .where(events.c.workflow_id == workflow_id, events.c.sequence > sequence)
        .order_by(events.c.sequence)
    )
    for number, step, attempt, delay in connection.execute(later):
        sequence = number
        if not step:
            continue
        of_step = context.setdefault(step, {"currentAttempt": 1, "lastBackoff": None})
        of_step["currentAttempt"] = attempt
        if delay is not None:
            of_step["lastBackoff"] = delay
    return sequence, context


def take_snapshot(connection: Connection, tables: Tables, workflow_id: str, where: str) -> None:
    """Keeps the retry context as of the latest event, in the transaction that is open."""
    snapshots, events = tables.snapshots, tables.events
    sequence, context = retry_context(connection, tables, workflow_id, where)
    at = connection.execute(select(func.max(events.c.occurred_at)).where(events.c.workflow_id == workflow_id)).scalar()
    values = {"sequence": sequence, "retry_context": to_text(context, where, "the retry context"), "taken_at": at}
    changed = connection.execute(update(snapshots).where(snapshots.c.workflow_id == workflow_id).values(values))
    if changed.rowcount == 0:
        connection.execute(insert(snapshots).values(workflow_id=workflow_id, **values))
