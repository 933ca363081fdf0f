"""What survives its process: after a crash a workflow goes on from there, and in one runner at a time."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from durable_flows import Order, cut, decisions
from holdoff.testing import VirtualTime
from holdoff_durable import (
    DefinitionChanged,
    Journal,
    JournalUnavailable,
    LeaseLost,
    Runner,
    Workflow as Flow,
    WorkflowBusy,
)
from holdoff_durable._lease import new_owner


def test_a_retry_fires_at_its_recorded_time_after_a_crash_too(tmp_path: Path, clock: VirtualTime) -> None:
    order = Order(failures=1)
    journal = Journal(tmp_path / "journal.db")

    async def interrupted() -> None:
        task = asyncio.ensure_future(Runner(journal).run_async(order.flow, "1", {"item": "book"}))
        while not any(e.type == "RETRY_SCHEDULED" for e in journal.events("1")):
            await asyncio.sleep(0)
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(clock, "sleep", lambda seconds: None)
        asyncio.run(interrupted())
    due = next(int(e.event["until"]) for e in journal.events("1") if e.type == "RETRY_SCHEDULED")
    Runner(journal).run(order.flow, "1")
    resumed = next(e for e in journal.events("1") if e.type == "RESUMED")
    assert due <= resumed.at <= due + 1_000_000
    assert order.calls == ["reserve", "charge 1", "charge 2", "ship"]
    journal.close()


def test_after_a_crash_at_any_event_everything_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, clock: VirtualTime
) -> None:
    whole = tmp_path / "whole.db"
    with Runner(Journal(whole)) as runner:
        results = runner.run(Order(failures=3).flow, "1", {"item": "book"})
        events = runner.journal.events("1")
    for count in range(1, len(events)):
        path = tmp_path / f"{count}.db"
        cut(whole, path, count)
        before = events[:count]
        order = Order(failures=3 - sum(event.type == "ATTEMPT_FAILED" for event in before))
        with Runner(Journal(path)) as runner:
            assert runner.resume_all([order.flow]) == ({"1": results})
            after = runner.journal.events("1")
            assert runner.journal.verify(order.flow, "1") is None
        assert after[:count] == before
        assert decisions(after) == decisions(events)
        ended = {event.step for event in before if event.type == "SUCCEEDED"}
        assert not {call.split()[0] for call in order.calls} & ended


def test_another_definition_is_refused_with_what_has_changed(tmp_path: Path) -> None:
    with Runner(Journal(tmp_path / "journal.db")) as runner:
        order = Order()
        runner.run(order.flow, "1", {"item": "book"})
    cut(tmp_path / "journal.db", tmp_path / "cut.db", 4)
    renamed = Flow("order")
    renamed.step(name="reserve")(lambda: None)
    renamed.step(name="pay", after=["reserve"])(lambda: None)
    renamed.step(name="ship", after=["pay"])(lambda: None)
    with Runner(Journal(tmp_path / "cut.db")) as runner:
        told = (
            "step 'charge' is gone; step 'pay' is new; step 'ship' came after charge and now after pay\n"
            r".*end under the old definition"
        )
        with pytest.raises(DefinitionChanged, match=told):
            runner.run(renamed, "1")
        other = Order(policy={"attempts": 9})
        with pytest.raises(DefinitionChanged, match=r"'charge' began under another policy\n.*any_policy=True"):
            runner.run(other.flow, "1")
        assert Runner(runner.journal, any_policy=True).run(other.flow, "1")["ship"] == "shipped book"


def test_two_runners_do_not_run_the_same_workflow(tmp_path: Path) -> None:
    flow = Flow("busy")
    first, second = Runner(Journal(tmp_path / "journal.db")), Runner(Journal(tmp_path / "journal.db"))

    @flow.step
    def step() -> None:
        with pytest.raises(WorkflowBusy, match="runs it"):
            second.run(flow, "1")
        assert second.resume_all([flow]) == {}

    first.run(flow, "1")
    first.close()
    second.close()


def test_a_runner_that_was_overtaken_stops_and_writes_nothing(tmp_path: Path) -> None:
    flow = Flow("taken")
    journal = Journal(tmp_path / "journal.db")

    @flow.step
    def step() -> None:
        journal._do(lambda connection: connection.exec_driver_sql("UPDATE workflows SET owner = 'x', lease_number = 9"))

    with pytest.raises(LeaseLost, match="x has it now"):
        Runner(journal).run(flow, "1")
    assert [event.type for event in journal.events("1")] == ["WORKFLOW_STARTED", "STARTED"]
    journal.close()


def test_a_journal_that_is_away_is_waited_for_and_nothing_is_lost_or_doubled(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path / "journal.db", busy_timeout=0.001)
    order = Order()
    blocker = sqlite3.connect(tmp_path / "journal.db", isolation_level=None, check_same_thread=False)

    @order.flow.step(after=["ship"])
    def last() -> None:
        blocker.execute("BEGIN IMMEDIATE")
        threading.Timer(0.1, lambda: blocker.execute("ROLLBACK")).start()

    Runner(journal).run(order.flow, "1", {"item": "book"})
    assert order.calls == ["reserve", "charge 1", "ship"]
    assert len(journal.events("1")) == 10
    assert "another program holds its lock" in caplog.text
    blocker.close()
    journal.close()


def test_whatever_is_read_from_a_journal_that_is_away_is_waited_for_too(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = {name: [JournalUnavailable("away", "there")] * 2 for name in ("guards", "workflows", "events")}

    def unwell(name: str) -> Any:
        well = getattr(runner.journal, name)

        def read(*arguments: Any) -> Any:
            if away[name]:
                raise away[name].pop()
            return well(*arguments)

        return read

    flow = Flow("reads")
    interrupts = [KeyboardInterrupt()]

    @flow.step(guards={"breaker": {"failures": 2}})
    async def one() -> int:
        if interrupts:
            raise interrupts.pop()
        return 1

    with pytest.raises(KeyboardInterrupt):
        Runner(runner.journal).run(flow, "1")
    for name in away:
        monkeypatch.setattr(runner.journal, name, unwell(name))
    assert runner.resume_all([flow]) == {"1": {"one": 1}}
    assert away == {"guards": [], "workflows": [], "events": []}


def test_resume_all_takes_up_every_workflow_that_was_left(tmp_path: Path, clock: VirtualTime) -> None:
    order = Order()
    with Runner(Journal(tmp_path / "journal.db")) as runner:
        for name in ("1", "2"):
            runner.run(order.flow, name, {"item": name})
        runner.journal.begin("3", name="order", input={"item": "3"}, definition=order.flow.fingerprint, steps={}, at=1)
        runner.journal.begin("4", name="unknown", input=None, definition="", steps={}, at=1)
        assert {name: answer["ship"] for name, answer in runner.resume_all([order.flow]).items()} == {  # type: ignore[index,unused-ignore]
            "3": "shipped 3"
        }
        assert runner.resume_all([order.flow]) == {}


def test_a_runner_that_watches_takes_over_what_another_one_leaves(
    tmp_path: Path, clock: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    order = Order()
    flow = Flow("order")
    flow.step(name="other")(lambda: 1)

    async def watched(journal: Journal) -> None:
        watch = asyncio.ensure_future(Runner(journal).watch_async([order.flow], every=1e-6))
        await asyncio.sleep(0)
        for name, definition in (("1", order.flow), ("2", order.flow), ("3", flow)):
            # The lease of a runner that died: no process has this number.
            lasting: dict[str, Any] = {
                "definition": definition.fingerprint,
                "steps": definition.shape,
                "at": 1,
                "lasting": 30.0,
            }
            owner = new_owner().split(" ")
            owner[-3:-1] = ["4194305", "1"]
            await journal.begin_and_take_async(
                name, name="order", input={"item": name}, owner=" ".join(owner), **lasting
            )
        while sum(record.ended for record in journal.workflows()) < 2 or not caplog.messages:
            assert not watch.done()
            await asyncio.sleep(0)
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch

    with Journal(tmp_path / "journal.db") as journal:
        asyncio.run(watched(journal))
        assert [record.status for record in journal.workflows()] == ["COMPLETED", "COMPLETED", "RUNNING"]
    assert order.calls.count("ship") == 2
    (told,) = caplog.messages
    assert "workflow '3': the definition of 'order' is not the one it was begun under" in told
    with pytest.raises(ValueError, match="every is a number of seconds above 0"):
        Runner(journal).watch([order.flow], every=0)
