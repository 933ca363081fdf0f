"""The tables of a journal: Aster's columns under Aster's names, and what a fence and a lease need."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

VERSION = 3
"""The version of the tables. A journal of another version is refused."""


class Tables:
    """The tables, in a schema of PostgreSQL if one is named."""

    def __init__(self, schema: str | None) -> None:
        metadata = MetaData(schema=schema)
        self.metadata = metadata
        self.schema_version = Table(
            "schema_version",
            metadata,
            Column("component", String(32), primary_key=True),
            Column("version", Integer, nullable=False),
        )
        self.workflows = Table(
            "workflows",
            metadata,
            Column("workflow_id", String(255), primary_key=True),
            Column("name", Text, nullable=False),
            Column("status", String(16), nullable=False),
            Column("input", Text, nullable=False),
            # A fingerprint, and the steps it was made of, so that a mismatch can be told in words.
            Column("definition", String(64), nullable=False),
            Column("steps", Text, nullable=False),
            Column("last_sequence", BigInteger, nullable=False),
            # The runner that has it, the end of its lease and how long that lasts when it is renewed, and how often the
            # workflow has changed hands: the fence.
            Column("owner", Text, nullable=True),
            Column("lease_until", BigInteger, nullable=False),
            Column("lease_length", BigInteger, nullable=False),
            Column("lease_number", BigInteger, nullable=False),
            Column("started_at", BigInteger, nullable=False),
            Column("updated_at", BigInteger, nullable=False),
        )
        self.events = Table(
            "events",
            metadata,
            Column(
                "workflow_id", String(255), ForeignKey(self.workflows.c.workflow_id), primary_key=True, nullable=False
            ),
            Column("sequence", BigInteger, primary_key=True, nullable=False, autoincrement=False),
            Column("event_type", String(32), nullable=False),
            Column("payload", Text, nullable=False),
            Column("attempt_number", Integer, nullable=False, server_default=text("1")),
            Column("backoff_delay_ms", BigInteger, nullable=True),
            Column("failure_reason", Text, nullable=True),
            Column("idempotency_key", String(64), nullable=False, unique=True),
            # Nanoseconds since 1970 in UTC.
            Column("occurred_at", BigInteger, nullable=False),
            Column("step", String(255), nullable=False),
            Column("step_sequence", BigInteger, nullable=False),
            # The event of the core in its JSON form, whole: what is replayed. The other columns are for queries.
            Column("detail", Text, nullable=False),
            UniqueConstraint("workflow_id", "step", "step_sequence", name="events_by_step"),
            Index("events_by_attempt", "workflow_id", "attempt_number"),
        )
        self.guards = Table(
            "guards",
            metadata,
            Column("name", String(255), primary_key=True),
            Column("state", Text, nullable=False),
            Column("saved_at", BigInteger, nullable=False),
        )
        Index("workflows_by_status", self.workflows.c.status)
