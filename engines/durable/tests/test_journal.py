"""The journal: what is appended stays, once, in order, and says clearly when it cannot."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from holdoff_durable import (
    Entry,
    Journal,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalReadOnly,
    JournalUnavailable,
    JournalVersion,
    LeaseLost,
    NotAJournal,
    PayloadError,
    WorkflowBusy,
    WorkflowUnknown,
)
from holdoff_durable._lease import is_gone, new_owner

START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.db") as journal:
        yield journal


def begin(journal: Journal, workflow_id: str = "order-1", input: object = None) -> None:
    journal.begin(workflow_id, name="order", input=input, definition="d", steps={"charge": []}, at=START)


def of_event(step: str, event: dict[str, Any]) -> Entry:
    """The entry of an event in its JSON form."""
    return Entry(
        step,
        event["sequence"],
        event["type"],
        int(event["at"]),
        event["attemptNumber"],
        event.get("backoffDelayMs"),
        event.get("failureReason"),
        event["payload"],
        json.dumps(event),
    )


def started(step: str = "charge", at: int = START) -> Entry:
    return of_event(
        step,
        {
            "version": 1,
            "sequence": 1,
            "type": "STARTED",
            "at": str(at),
            "attemptNumber": 1,
            "payload": {"taskId": step},
            "policy": "123",
            "seed": "7",
            "guarded": False,
        },
    )


def scheduled(number: int, attempt: int, step: str = "charge", delay: int = 100) -> Entry:
    at = START + number * SECOND
    return of_event(
        step,
        {
            "version": 1,
            "sequence": number,
            "type": "RETRY_SCHEDULED",
            "at": str(at),
            "attemptNumber": attempt,
            "backoffDelayMs": delay,
            "failureReason": "boom",
            "payload": {"taskId": step, "reason": "boom"},
            "until": str(at + delay * 1_000_000),
            "cause": "backoff",
        },
    )


def test_events_are_numbered_from_one_and_come_back_as_they_were(journal: Journal) -> None:
    begin(journal, input={"amount": 3})
    assert journal.append("order-1", [started(), scheduled(2, 2)]) == [2, 3]
    first, second, third = journal.events("order-1")
    assert (first.sequence, first.type, first.payload["input"]) == (1, "WORKFLOW_STARTED", {"amount": 3})
    assert second.event["seed"] == "7"
    assert third.event == {
        "version": 1,
        "sequence": 2,
        "type": "RETRY_SCHEDULED",
        "at": str(START + 2 * SECOND),
        "attemptNumber": 2,
        "backoffDelayMs": 100,
        "failureReason": "boom",
        "payload": {"taskId": "charge", "reason": "boom"},
        "until": str(START + 2 * SECOND + 100_000_000),
        "cause": "backoff",
    }


def test_the_columns_are_those_of_aster(journal: Journal, tmp_path: Path) -> None:
    begin(journal)
    journal.append("order-1", [started(), scheduled(2, 3, delay=1500)])
    with sqlite3.connect(tmp_path / "journal.db") as database:
        found = database.execute(
            "SELECT workflow_id, sequence, event_type, attempt_number, backoff_delay_ms, failure_reason, payload "
            "FROM events WHERE workflow_id = 'order-1' AND attempt_number = 3"
        ).fetchall()
        plan = database.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM events WHERE workflow_id = 'order-1' AND attempt_number = 3"
        ).fetchone()
    database.close()
    row = ("order-1", 3, "RETRY_SCHEDULED", 3, 1500, "boom")
    assert found == [(*row, '{"taskId":"charge","reason":"boom"}')]
    assert "events_by_attempt" in plan[3]


def test_events_are_asked_for_from_a_number_on_and_by_attempt(journal: Journal) -> None:
    begin(journal)
    journal.append("order-1", [started(), scheduled(2, 2), scheduled(3, 3)])
    assert [event.sequence for event in journal.events("order-1", from_sequence=3)] == [3, 4]
    assert [event.sequence for event in journal.events_of_attempt("order-1", 2)] == [3]
    assert [event.step_sequence for event in journal.events_of_step("order-1", "charge")] == [1, 2, 3]
    assert journal.events("another") == []


def test_appending_the_same_again_changes_nothing(journal: Journal) -> None:
    begin(journal)
    assert journal.append("order-1", [started()]) == [2]
    assert journal.append("order-1", [started(), scheduled(2, 2)]) == [2, 3]
    assert journal.append("order-1", [started(), scheduled(2, 2)]) == [2, 3]
    assert len(journal.events("order-1")) == 3


def test_another_event_under_the_same_number_is_a_conflict_and_writes_nothing(journal: Journal) -> None:
    begin(journal)
    journal.append("order-1", [started(), scheduled(2, 2)])
    with pytest.raises(JournalConflict, match=r"event 2 of charge is there already as event 3"):
        journal.append("order-1", [scheduled(2, 2, delay=200), scheduled(3, 3)])
    assert len(journal.events("order-1")) == 3


def test_an_append_under_a_lease_is_idempotent_too(journal: Journal) -> None:
    begin(journal)
    lease = journal.take("order-1", new_owner())
    assert journal.append("order-1", [started()], lease=lease) == [2]
    assert journal.append("order-1", [started(), scheduled(2, 2)], lease=lease) == [2, 3]
    assert journal.append("order-1", [scheduled(3, 3)], lease=lease) == [4]
    with pytest.raises(JournalConflict):
        journal.append("order-1", [scheduled(3, 3, delay=7)], lease=lease)
    assert [event.sequence for event in journal.events("order-1")] == [1, 2, 3, 4]


def test_who_has_lost_the_lease_cannot_write(journal: Journal, tmp_path: Path) -> None:
    now = START
    with Journal(tmp_path / "other.db", clock=lambda: now) as journal:
        begin(journal)
        slow = journal.take("order-1", "slow", 30)
        journal.append("order-1", [started()], lease=slow)
        with pytest.raises(WorkflowBusy, match=r"slow runs it"):
            journal.take("order-1", "quick", 30)
        now += 31 * SECOND
        quick = journal.take("order-1", "quick", 30)
        assert quick.number == 2
        with pytest.raises(LeaseLost, match="quick has it now"):
            journal.append("order-1", [scheduled(2, 2)], lease=slow)
        assert journal.append("order-1", [started()], lease=slow) == [2], "what is there already is no write"
        journal.append("order-1", [scheduled(2, 2)], lease=quick)
        asyncio.run(journal.release_async(slow))
        with pytest.raises(WorkflowBusy):
            journal.append("order-1", [scheduled(3, 3)])
        asyncio.run(journal.release_async(quick))
        journal.append("order-1", [scheduled(3, 3)])


def test_a_lease_that_is_renewed_lasts(tmp_path: Path) -> None:
    now = START
    with Journal(tmp_path / "journal.db", clock=lambda: now) as journal:
        begin(journal)
        journal.take("order-1", "one", 30)
        now += 20 * SECOND
        assert asyncio.run(journal.renew_async("one", 30)) == 1
        now += 20 * SECOND
        with pytest.raises(WorkflowBusy):
            journal.take("order-1", "two", 30)
        now += 10 * SECOND
        journal.take("order-1", "two", 30)
        assert asyncio.run(journal.renew_async("one", 30)) == 0


def test_a_lease_of_a_process_that_is_no_more_is_free_at_once(journal: Journal) -> None:
    begin(journal)
    ended = subprocess.run(
        [sys.executable, "-c", "from holdoff_durable._lease import new_owner; print(new_owner())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert is_gone(ended)
    assert not is_gone(new_owner())
    assert not is_gone("somebody else")
    journal.take("order-1", ended, 3600)
    assert journal.take("order-1", new_owner(), 30).number == 2


def test_many_threads_and_coroutines_share_commits_and_lose_nothing(journal: Journal) -> None:
    for index in range(50):
        begin(journal, f"order-{index}")

    async def one(index: int) -> list[int]:
        lease = await asyncio.to_thread(journal.take, f"order-{index}", "me")
        numbers = await journal.append_async(f"order-{index}", [started()], lease=lease)
        for number in range(2, 12):
            numbers += await journal.append_async(f"order-{index}", [scheduled(number, number)], lease=lease)
        return numbers

    async def every() -> list[list[int]]:
        return await asyncio.gather(*(one(index) for index in range(50)))

    assert asyncio.run(every()) == [list(range(2, 13))] * 50
    assert all(len(journal.events(f"order-{index}")) == 12 for index in range(50))


def test_one_who_may_not_write_does_not_keep_the_others_of_a_commit_from_it(journal: Journal) -> None:
    begin(journal, "a")
    begin(journal, "b")
    mine, lost = journal.take("a", "me"), journal.take("b", "me")
    asyncio.run(journal.release_async(lost))

    async def both() -> tuple[Any, ...]:
        return await asyncio.gather(
            journal.append_async("a", [started()], lease=mine),
            journal.append_async("b", [started()], lease=lost),
            journal.append_async("missing", [started()]),
            return_exceptions=True,
        )

    right, fenced, unknown = asyncio.run(both())
    assert right == [2]
    assert isinstance(fenced, LeaseLost)
    assert isinstance(unknown, WorkflowUnknown)
    assert len(journal.events("b")) == 1


def test_the_retry_context_has_the_attempt_and_the_last_delay_of_each_step(journal: Journal) -> None:
    begin(journal)
    assert journal.retry_context("order-1") == {}
    lease = journal.take("order-1", "me")
    journal.append("order-1", [started(), scheduled(2, 2, delay=250)], lease=lease)
    assert journal.retry_context("order-1") == {"charge": {"currentAttempt": 2, "lastBackoff": 250}}
    for number in range(3, 110):
        journal.append("order-1", [scheduled(number, number, delay=number)], lease=lease)
    assert journal.retry_context("order-1") == {"charge": {"currentAttempt": 109, "lastBackoff": 109}}


def test_workflows_are_listed_by_status_and_name(journal: Journal) -> None:
    begin(journal, "a")
    begin(journal, "b")
    journal.append("b", [started()], status="COMPLETED")
    assert [found.workflow_id for found in journal.workflows()] == ["a", "b"]
    assert [found.workflow_id for found in journal.workflows(status="COMPLETED")] == ["b"]
    assert [found.workflow_id for found in journal.workflows(name="order")] == ["a", "b"]
    assert journal.workflows(name="other") == []
    record = journal.workflow("b")
    assert record is not None
    assert record.ended
    assert (record.last_sequence, record.steps, record.owner) == (2, {"charge": []}, None)
    assert journal.workflow("missing") is None


def test_a_workflow_that_has_ended_can_be_forgotten(journal: Journal) -> None:
    begin(journal, "a")
    begin(journal, "b")
    with pytest.raises(WorkflowBusy, match="has not ended"):
        journal.remove("a")
    journal.append("a", [started()], status="COMPLETED")
    journal.remove("a")
    assert journal.events("a") == []
    assert [record.workflow_id for record in journal.workflows()] == ["b"]
    with pytest.raises(WorkflowUnknown):
        journal.remove("a")
    for wrong in ("", "x" * 256, "a\0", "\ud800"):
        with pytest.raises(ValueError, match="1 to 255 characters"):
            begin(journal, wrong)


def test_guards_are_kept_in_the_same_transaction(journal: Journal) -> None:
    begin(journal)
    assert journal.guards("payments") is None
    journal.append("order-1", [started()], guards={"payments": {"breaker": b"\x00\x01"}})
    journal.append("order-1", [scheduled(2, 2)], guards={"payments": {"breaker": b"\x02"}})
    assert journal.guards("payments") == {"breaker": b"\x02"}


def test_what_json_cannot_hold_is_refused_before_anything_is_written(journal: Journal) -> None:
    begin(journal)
    for value in (object(), float("nan"), "\ud800", {1, 2}):
        with pytest.raises(PayloadError, match="cannot be kept as JSON"):
            journal.append("order-1", [Entry("charge", 1, "SUCCEEDED", START, payload={"result": value})])
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(PayloadError, match="nests too deeply"):
        begin(journal, "order-2", deep)
    assert len(journal.events("order-1")) == 1


def test_a_journal_is_there_again_when_it_is_opened_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        begin(journal)
    with Journal(str(tmp_path / "journal.db")) as journal:
        assert len(journal.events("order-1")) == 1
    with Journal(f"sqlite:///{tmp_path / 'journal.db'}", read_only=True) as journal:
        assert len(journal.events("order-1")) == 1
        with pytest.raises(JournalReadOnly):
            journal.append("order-1", [started()])
    with pytest.raises(JournalError, match="was closed"):
        closed = Journal(tmp_path / "journal.db")
        closed.close()
        begin(closed)


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        begin(journal)
        lease = journal.take("order-1", "me")
        journal.append("order-1", [started()], lease=lease)
        full = journal._do(lambda connection: connection.exec_driver_sql("PRAGMA page_count").scalar())
        journal._do(lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count={full}").scalar())
        long = Entry("charge", 2, "ATTEMPT_FAILED", START, payload={"text": "x" * 100_000})
        with pytest.raises(JournalFull, match="no space is left on the disk") as caught:
            journal.append("order-1", [long], lease=lease)
        assert caught.value.transient
        assert isinstance(caught.value.__cause__, Exception)
        assert "journal.db" in str(caught.value)
        journal._do(lambda connection: connection.exec_driver_sql("PRAGMA max_page_count=1000000").scalar())
        assert journal.append("order-1", [long], lease=lease) == [3]
        assert [event.sequence for event in journal.events("order-1")] == [1, 2, 3]


def test_a_lock_of_another_program_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db", busy_timeout=0.01) as journal:
        begin(journal)
        other = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalLocked, match="another program holds its lock"):
            journal.append("order-1", [started()])
        other.execute("ROLLBACK")
        other.close()
        assert journal.append("order-1", [started()]) == [2]


def test_a_file_of_another_kind_is_refused_and_not_touched(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all, " * 100)
    with pytest.raises(NotAJournal, match="a file of another kind"):
        Journal(text)
    assert text.read_text().startswith("not a database")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE customers (name)")
    database.close()
    with pytest.raises(NotAJournal, match=r"other tables \(customers\)"):
        Journal(other)
    with pytest.raises(NotAJournal, match="no such file"):
        Journal(tmp_path / "missing.db", read_only=True)
    assert not (tmp_path / "missing.db").exists()
    with pytest.raises(JournalUnavailable, match="folder does not exist"):
        Journal(tmp_path / "nowhere" / "journal.db")
    with pytest.raises(JournalError):
        Journal(tmp_path)


def test_another_version_of_the_tables_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.db").close()
    with sqlite3.connect(tmp_path / "journal.db") as database:
        database.execute("UPDATE schema_version SET version = 4")
    database.close()
    with pytest.raises(JournalVersion, match=r"tables are of version 4.*reads version 3\n.*use a newer holdoff"):
        Journal(tmp_path / "journal.db")


def test_a_payload_that_somebody_has_changed_is_named(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db") as journal:
        begin(journal)
        with sqlite3.connect(tmp_path / "journal.db") as database:
            database.execute("UPDATE events SET payload = '{'")
        database.close()
        with pytest.raises(JournalDamaged, match="workflow 'order-1', event 1: the payload is no JSON"):
            journal.events("order-1")


def test_addresses_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="in memory"):
        Journal(":memory:")
    with pytest.raises(ValueError, match="not of mysql"):
        Journal("mysql://localhost/x")
    with pytest.raises(ValueError, match="cannot be read"):
        Journal("://")


def test_errors_survive_being_sent_to_another_process(tmp_path: Path) -> None:
    import pickle

    error = JournalFull("no space", "a.db", "make room", unknown=True)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is JournalFull
    assert (str(again), again.unknown, again.transient) == (str(error), True, True)


def test_an_event_in_json_is_what_every_language_reads(journal: Journal) -> None:
    begin(journal)
    journal.append("order-1", [started()])
    told = journal.events("order-1")[1].event
    assert json.loads(json.dumps(told)) == told
