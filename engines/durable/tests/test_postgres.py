"""The journal in PostgreSQL: the same promises, and a server that goes away and comes back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from holdoff_durable import (
    Entry,
    Journal,
    JournalConflict,
    JournalReadOnly,
    JournalRefused,
    JournalUnavailable,
    LeaseLost,
    NotAJournal,
    Runner,
    Workflow as Flow,
    WorkflowBusy,
    WorkflowFailed,
)
from servers import Postgres

START = 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres(durable=True) as server:
        yield server


@pytest.fixture
def journal(server: Postgres) -> Iterator[Journal]:
    with Journal(server.url) as journal:
        journal._do(
            lambda connection: connection.exec_driver_sql("TRUNCATE holdoff.workflows, holdoff.events, holdoff.guards")
        )
        yield journal


def begin(journal: Journal, workflow_id: str = "1") -> None:
    journal.begin(workflow_id, name="order", input=None, definition="d", steps={}, at=START)


def entry(number: int, text: str = "x") -> Entry:
    return Entry("step", number, "ATTEMPT_FAILED", START + number, number, 1500, text, {"taskId": "step"})


def order(calls: list[str], failures: int = 1) -> Flow:
    flow = Flow("order", policy={"attempts": 5, "backoff": {"initial": "1ms"}})
    flow.step(name="first")(lambda: calls.append("first"))

    @flow.step(after=["first"])
    def second() -> str:
        calls.append("second")
        if calls.count("second") <= failures:
            raise ConnectionError("down")
        return "ü\0"

    return flow


def test_a_superuser_writes_to_no_table_of_a_role_with_fewer_rights(journal: Journal, server: Postgres) -> None:
    begin(journal)
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE mallory")
        connection.execute("ALTER TABLE holdoff.events OWNER TO mallory")
        try:
            with pytest.raises(NotAJournal, match="the table events belongs to the role mallory"):
                Journal(server.url)
            with Journal(server.url, read_only=True) as reader:
                assert [record.workflow_id for record in reader.workflows()] == ["1"]
        finally:
            connection.execute("ALTER TABLE holdoff.events OWNER TO current_user")
            connection.execute("DROP ROLE mallory")
    Journal(server.url).close()


def test_a_workflow_runs_and_everything_comes_back(journal: Journal) -> None:
    calls: list[str] = []
    flow = order(calls)
    assert Runner(journal).run(flow, "1") == {"first": None, "second": "ü\0"}
    assert Runner(journal).run(flow, "1")["second"] == "ü\0"
    assert calls == ["first", "second", "second"]
    assert [event.sequence for event in journal.events("1")] == list(range(1, 10))
    assert journal.verify(flow, "1") is None
    context = journal.retry_context("1")
    assert context["second"]["currentAttempt"] == 2
    assert [event.type for event in journal.events_of_attempt("1", 2)] == ["RETRY_SCHEDULED", "RESUMED", "SUCCEEDED"]
    assert [record.status for record in journal.workflows()] == ["COMPLETED"]


def test_appends_are_idempotent_and_conflicts_are_told(journal: Journal) -> None:
    begin(journal)
    lease = journal.take("1", "me")
    assert journal.append("1", [entry(1), entry(2)], lease=lease) == [2, 3]
    assert journal.append("1", [entry(2), entry(3)], lease=lease) == [3, 4]
    with pytest.raises(JournalConflict, match="event 3 of step is there already as event 4"):
        journal.append("1", [entry(3, "y")], lease=lease)
    assert [event.sequence for event in journal.events("1", from_sequence=3)] == [3, 4]
    for number in range(4, 110):
        journal.append("1", [entry(number)], lease=lease, guards={"g": {"breaker": b"%d" % number}})
    assert journal.guards("g") == {"breaker": b"109"}


def test_a_lease_is_by_the_time_of_the_server(journal: Journal) -> None:
    begin(journal)
    slow = journal.take("1", "slow", 1000)
    with pytest.raises(WorkflowBusy, match="slow runs it"):
        journal.take("1", "quick")
    assert asyncio.run(journal.renew_async("slow", 0.001)) == 1
    time.sleep(0.01)
    quick = journal.take("1", "quick")
    with pytest.raises(LeaseLost, match="quick has it now"):
        journal.append("1", [entry(1)], lease=slow)
    assert journal.append("1", [entry(1)], lease=quick) == [2]


def test_an_append_renews_the_lease_by_the_time_of_the_server(journal: Journal) -> None:
    begin(journal)
    lease = journal.take("1", "me", 1000)
    ends: list[int] = []
    for number in (1, 2):
        journal._do(lambda connection: connection.exec_driver_sql("UPDATE holdoff.workflows SET lease_until = 1"))
        journal.append("1", [entry(number)], lease=lease)
        record = journal.workflow("1")
        assert record is not None
        ends.append(record.lease_until)
    assert all(end > START for end in ends)


def test_a_lease_that_is_longer_than_it_may_be_has_ended(journal: Journal) -> None:
    begin(journal)
    journal.take("1", "before the clock was set back")
    hour = 3600 * 10**9
    journal._do(
        lambda connection: connection.exec_driver_sql(
            f"UPDATE holdoff.workflows SET lease_until = lease_until + {hour}"
        )
    )
    assert journal.take("1", "next").number == 2


def test_only_one_of_many_takes_a_workflow(journal: Journal, server: Postgres) -> None:
    begin(journal)
    others = [Journal(server.url) for _ in range(4)]
    together = threading.Barrier(4)
    taken: list[str] = []

    def take(other: Journal, owner: str) -> None:
        together.wait()
        try:
            taken.append(other.take("1", owner).owner)
        except WorkflowBusy:
            return

    threads = [threading.Thread(target=take, args=(other, f"owner-{i}")) for i, other in enumerate(others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert len(taken) == 1


def test_many_open_an_empty_database_at_once(server: Postgres) -> None:
    together = threading.Barrier(4)
    opened: list[Journal] = []

    def open_it() -> None:
        together.wait()
        opened.append(Journal(server.url, schema="together"))

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    for journal in opened:
        journal.close()


def test_a_commit_whose_outcome_is_unknown_is_settled(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    dialect: Any = journal._database.engine.dialect
    commit = dialect.do_commit
    count = 0

    def dies(connection: Any) -> None:
        nonlocal count
        count += 1
        if count % 3 == 1:
            commit(connection)
        if count % 3 != 0:
            connection.dbapi_connection.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        commit(connection)

    monkeypatch.setattr(dialect, "do_commit", dies)
    results = Runner(journal).run(order(calls), "1")
    monkeypatch.undo()
    assert results["second"] == "ü\0"
    assert calls == ["first", "second", "second"], "what was done is not done again because its commit was lost"
    assert [event.sequence for event in journal.events("1")] == list(range(1, 10))
    assert count > 20


def test_a_server_that_goes_away_in_a_run_is_waited_for(
    journal: Journal, server: Postgres, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []
    flow = order(calls)

    def back() -> None:
        time.sleep(0.5)
        server.start()

    @flow.step(after=["second"])
    def third() -> str:
        server.stop(hard=True)
        threading.Thread(target=back).start()
        return "done"

    assert Runner(journal).run(flow, "1")["third"] == "done"
    assert [event.sequence for event in journal.events("1")] == list(range(1, 12))
    assert calls == ["first", "second", "second"]
    assert "the server is away" in caplog.text
    assert "a runner that waits goes on by itself" in caplog.text


def test_a_server_that_stays_away_ends_the_waiting_when_the_policy_says_so(journal: Journal, server: Postgres) -> None:
    flow = Flow("away")

    @flow.step
    def stop() -> None:
        server.stop()

    with pytest.raises(JournalUnavailable, match="the server is away"):
        Runner(journal, journal_policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}}).run(flow, "1")
    server.start()
    assert journal.events("1")[-1].type == "STARTED"


def test_a_database_that_takes_no_writes_is_named(journal: Journal, server: Postgres) -> None:
    begin(journal)
    with Journal(server.url, read_only=True) as reader:
        assert len(reader.events("1")) == 1
    options = "?options=-c%20default_transaction_read_only%3Don"
    with Journal(server.url + options) as writer, pytest.raises(JournalReadOnly, match="takes no writes"):
        writer.append("1", [entry(1)])


def test_who_may_not_enter_is_told(server: Postgres) -> None:
    with pytest.raises(JournalRefused, match="does not exist"):
        Journal(server.url.replace("/postgres", "/nowhere"))
    with pytest.raises(JournalUnavailable, match="the server is away") as caught:
        Journal("postgresql://me:secret@127.0.0.1:1/x")
    assert "secret" not in str(caught.value)
    with pytest.raises(NotAJournal, match="no tables of a journal"):
        Journal(server.url, schema="empty", read_only=True)


def test_tables_of_somebody_else_are_not_touched(server: Postgres) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA app")
        connection.execute("CREATE TABLE app.events (id int)")
    with pytest.raises(NotAJournal, match=r"other tables \(events\)"):
        Journal(server.url, schema="app")


def test_a_failed_workflow_tells_the_same_again(journal: Journal) -> None:
    flow = order([], failures=99)
    for _ in range(2):
        with pytest.raises(WorkflowFailed, match="second: ConnectionError: down"):
            Runner(journal).run(flow, "1")
