"""Workflows: each step once, retries at their recorded time, and after a crash on from there."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import holdoff
import pytest
from holdoff.durable import (
    DefinitionChanged,
    DefinitionError,
    Journal,
    JournalConflict,
    JournalEvent,
    JournalUnavailable,
    LeaseLost,
    Runner,
    StepContext,
    WorkflowBusy,
    WorkflowCancelled,
    WorkflowFailed,
)
from holdoff.durable import Workflow as Flow
from holdoff.testing import VirtualTime, virtual_time

SECOND = 1_000_000_000
PATIENT = {"attempts": 5, "backoff": {"initial": "1s", "max": "1m"}, "deadline": "1h"}


@pytest.fixture
def clock() -> Iterator[VirtualTime]:
    with virtual_time() as clock:
        yield clock


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    with Runner(Journal(tmp_path / "journal.db")) as runner:
        yield runner


class Order:
    """A workflow of three steps that counts what it does and fails as often as it is told."""

    def __init__(self, failures: int = 0, policy: Any = PATIENT) -> None:
        self.calls: list[str] = []
        self.left = failures
        self.flow = Flow("order")

        @self.flow.step
        def reserve(input: dict[str, Any]) -> dict[str, Any]:
            self.calls.append("reserve")
            return {"item": input["item"]}

        @self.flow.step(after=[reserve], policy=policy)
        async def charge(context: StepContext, reserve: dict[str, Any]) -> list[Any]:
            self.calls.append(f"charge {context.attempt}")
            if self.left:
                self.left -= 1
                raise ConnectionError(f"down {context.attempt}")
            return [reserve["item"], context.attempt]

        @self.flow.step(after=[charge])
        def ship(charge: list[Any]) -> str:
            self.calls.append("ship")
            return f"shipped {charge[0]}"


def of_step(journal: Journal, step: str, workflow_id: str = "1") -> list[tuple[str, int]]:
    return [(event.type, event.attempt_number) for event in journal.events_of_step(workflow_id, step)]


def test_steps_run_in_order_and_their_results_come_back(runner: Runner) -> None:
    order = Order()
    results = runner.run(order.flow, "1", {"item": "book"})
    assert results == {"reserve": {"item": "book"}, "charge": ["book", 1], "ship": "shipped book"}
    assert order.calls == ["reserve", "charge 1", "ship"]
    types = [event.type for event in runner.journal.events("1")]
    assert types == ["WORKFLOW_STARTED", *["STARTED", "SUCCEEDED"] * 3, "WORKFLOW_COMPLETED"]


def test_a_workflow_that_has_ended_is_not_run_again(runner: Runner) -> None:
    order = Order()
    first = runner.run(order.flow, "1", {"item": "book"})
    assert runner.run(order.flow, "1", {"item": "book"}) == first
    assert runner.run(order.flow, "1") == first
    assert len(order.calls) == 3
    with pytest.raises(JournalConflict, match="begun with another input"):
        runner.run(order.flow, "1", {"item": "lamp"})
    with pytest.raises(JournalConflict, match="a workflow 'order' and no 'other'"):
        runner.run(Flow("other"), "1")


def test_a_step_that_fails_is_retried_when_the_policy_says(runner: Runner, clock: VirtualTime) -> None:
    order = Order(failures=2)
    runner.run(order.flow, "1", {"item": "book"})
    assert order.calls == ["reserve", "charge 1", "charge 2", "charge 3", "ship"]
    assert of_step(runner.journal, "charge") == [
        ("STARTED", 1),
        ("ATTEMPT_FAILED", 1),
        ("RETRY_SCHEDULED", 2),
        ("RESUMED", 2),
        ("ATTEMPT_FAILED", 2),
        ("RETRY_SCHEDULED", 3),
        ("RESUMED", 3),
        ("SUCCEEDED", 3),
    ]
    assert len(clock.sleeps) >= 2
    for event in runner.journal.events_of_step("1", "charge"):
        if event.type == "RETRY_SCHEDULED":
            assert event.failure_reason == f"ConnectionError: down {event.attempt_number - 1}"


def test_decisions_are_those_of_the_core_from_the_recorded_seed(runner: Runner, clock: VirtualTime) -> None:
    order = Order(failures=4)
    runner.run(order.flow, "1", {"item": "book"})
    events = runner.journal.events_of_step("1", "charge")
    policy = order.flow.steps["charge"].policy
    schedule = holdoff.Schedule(policy, int(events[0].event["seed"]))
    delays = [int(e.event["until"]) - e.at for e in events if e.type == "RETRY_SCHEDULED"]
    assert delays == [next(schedule) for _ in range(4)]


def test_the_seed_follows_from_the_names_unless_it_is_given(tmp_path: Path) -> None:
    def seeds(path: str, workflow_id: str, seed: int | None = None) -> list[str]:
        flow = Flow("f")
        for name in ("a", "b"):
            flow.step(name=name, seed=seed)(lambda: None)
        with Runner(Journal(tmp_path / path)) as runner:
            runner.run(flow, workflow_id)
            return [e.event["seed"] for e in runner.journal.events(workflow_id) if e.type == "STARTED"]

    assert seeds("1.db", "x") == seeds("2.db", "x")
    assert len({*seeds("3.db", "x"), *seeds("4.db", "y")}) == 4
    assert seeds("5.db", "x", seed=7) == ["7", "7"]


def test_independent_steps_run_side_by_side(runner: Runner) -> None:
    flow = Flow("pair")
    met = threading.Barrier(2, timeout=10)
    flow.step(name="left")(lambda: met.wait() < 2)
    flow.step(name="right")(lambda: met.wait() < 2)
    assert runner.run(flow, "1") == {"left": True, "right": True}


def test_no_more_attempts_than_the_limit_run_at_once(tmp_path: Path) -> None:
    flow = Flow("many")
    running = most = 0

    async def step() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    for index in range(10):
        flow.step(name=f"step-{index}")(step)
    with Runner(Journal(tmp_path / "journal.db"), concurrency=3) as runner:
        runner.run(flow, "1")
    assert most == 3


def test_what_a_step_returns_is_seen_as_json_gives_it_back(runner: Runner) -> None:
    flow = Flow("json")
    seen: list[Any] = []
    flow.step(name="make")(lambda: {"pair": (1, 2), 3: None})
    flow.step(name="use", after=["make"])(lambda make: seen.append(make))
    assert runner.run(flow, "1")["make"] == {"pair": [1, 2], "3": None}
    assert seen == [{"pair": [1, 2], "3": None}]


def test_a_step_may_ask_for_whatever_was_done_before_it(runner: Runner) -> None:
    flow = Flow("far")
    flow.step(name="first")(lambda: 1)
    flow.step(name="beside")(lambda: 5)
    flow.step(name="second", after=["first"])(lambda first: first + 1)
    flow.step(name="third", after=["second"])(lambda context, first, input: [context.results, first, input])
    assert runner.run(flow, "1", 9)["third"] == [{"second": 2}, 1, 9]
    with pytest.raises(DefinitionError, match=r"'x' and 'beside' are no steps that it comes after"):
        flow.step(name="fourth", after=["second"])(lambda x, beside: None)


def test_a_result_that_is_no_json_fails_the_step_for_good(runner: Runner) -> None:
    flow = Flow("object", policy=PATIENT)
    flow.step(name="make")(lambda: object())
    with pytest.raises(WorkflowFailed, match=r"make: PayloadError: .*cannot be kept as JSON"):
        runner.run(flow, "1")


def test_a_step_that_gives_up_cancels_what_comes_after_and_lets_the_others_end(
    runner: Runner, clock: VirtualTime
) -> None:
    order = Order(failures=99)
    order.flow.step(name="invoice", after=["reserve"])(lambda: "invoiced")
    order.flow.step(name="thank", after=["ship"])(lambda: None)
    with pytest.raises(WorkflowFailed, match="workflow '1' failed: charge: ConnectionError: down 5") as caught:
        runner.run(order.flow, "1", {"item": "book"})
    failed = caught.value
    assert failed.outcomes == {
        "reserve": "succeeded",
        "charge": "gave_up",
        "ship": "skipped",
        "invoice": "succeeded",
        "thank": "skipped",
    }
    assert failed.failures == {"charge": "ConnectionError: down 5"}
    assert isinstance(failed.__cause__, ConnectionError)
    assert failed.errors["charge"] is failed.__cause__
    assert failed.results["invoice"] == "invoiced"
    assert of_step(runner.journal, "thank") == [("SKIPPED", 0)]
    record = runner.journal.workflow("1")
    assert record is not None
    assert record.status == "FAILED"
    with pytest.raises(WorkflowFailed) as again:
        runner.run(order.flow, "1")
    assert again.value.failures == failed.failures
    assert again.value.outcomes == failed.outcomes
    assert len(order.calls) == 6


def test_an_error_of_the_program_is_not_retried(runner: Runner) -> None:
    flow = Flow("wrong", policy=PATIENT)

    @flow.step
    def divide() -> float:
        return 1 / 0

    with pytest.raises(WorkflowFailed) as caught:
        runner.run(flow, "1")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert not getattr(caught.value.__cause__, "__notes__", [])
    assert of_step(runner.journal, "divide") == [("STARTED", 1), ("ATTEMPT_FAILED", 1), ("GAVE_UP", 1)]


def test_on_and_classify_say_what_is_retried(runner: Runner, clock: VirtualTime) -> None:
    flow = Flow("kinds", policy=PATIENT)
    kinds: Iterator[Any] = iter([holdoff.Failure("throttled", hint="7s"), "timeout", "permanent"])

    class Odd(Exception):
        pass

    @flow.step(on=lambda error: next(kinds))
    def fail() -> None:
        raise Odd("odd")

    with pytest.raises(WorkflowFailed):
        runner.run(flow, "1")
    failed = [e.event for e in runner.journal.events("1") if e.type == "ATTEMPT_FAILED"]
    assert [(e["failure"], e["hint"]) for e in failed] == [
        ("throttled", str(7 * SECOND)),
        ("timeout", "none"),
        ("permanent", "none"),
    ]


def test_an_attempt_that_takes_too_long_is_aborted_and_retried(runner: Runner) -> None:
    flow = Flow("slow")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}}, timeout="20ms")
    async def wait(context: StepContext) -> str:
        assert context.remaining is not None
        assert holdoff.remaining() is not None
        if context.attempt == 1:
            await asyncio.sleep(60)
        return "in time"

    assert runner.run(flow, "1") == {"wait": "in time"}
    failed = next(e for e in runner.journal.events("1") if e.type == "ATTEMPT_FAILED")
    assert failed.event["failure"] == "timeout"
    assert failed.failure_reason == "TimeoutError: the attempt took longer than it may"


def test_a_blocking_attempt_that_fails_late_has_timed_out(runner: Runner, clock: VirtualTime) -> None:
    flow = Flow("slow")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}}, timeout="2s")
    def wait(context: StepContext) -> str:
        clock.advance(3)
        if context.attempt == 1:
            raise ValueError("which alone would be permanent")
        return "late and well"

    assert runner.run(flow, "1") == {"wait": "late and well"}


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


def cut(journal: Path, copy: Path, count: int) -> None:
    """The journal as it is when the process died after so many events."""
    shutil.copy(journal, copy)
    with sqlite3.connect(copy) as database:
        database.execute("DELETE FROM events WHERE sequence > ?", (count,))
        database.execute("UPDATE workflows SET last_sequence = ?, status = 'RUNNING'", (count,))
    database.close()


def decisions(events: list[JournalEvent]) -> list[Any]:
    """All that was decided, without the times and without what ran again."""
    kept: list[Any] = []
    for event in events:
        told = event.event
        if event.type == "RETRY_SCHEDULED":
            kept.append((event.step, event.type, event.attempt_number, int(told["until"]) - event.at, told["cause"]))
        elif event.type != "RESUMED":
            kept.append((event.step, event.type, event.attempt_number, told.get("seed"), event.payload))
    return kept


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


def test_an_attempt_that_was_interrupted_runs_again_under_its_number_and_not_for_ever(
    tmp_path: Path, clock: VirtualTime
) -> None:
    flow = Flow("fatal", policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
    attempts: list[tuple[int, int]] = []

    @flow.step
    async def die(context: StepContext) -> None:
        attempts.append((context.attempt, context.rerun))
        raise KeyboardInterrupt

    journal = Journal(tmp_path / "journal.db")
    for _ in range(8):
        with pytest.raises(KeyboardInterrupt):
            Runner(journal, reruns=3).run(flow, "1")
    with pytest.raises(WorkflowFailed, match="die: interrupted 4 times"):
        Runner(journal, reruns=3).run(flow, "1")
    assert attempts == [(attempt, rerun) for attempt in (1, 2) for rerun in range(4)]
    failed = [event.event for event in journal.events("1") if event.type == "ATTEMPT_FAILED"]
    assert [(one["failure"], one["failureReason"]) for one in failed] == [("timeout", "interrupted 4 times")] * 2
    journal.close()


def test_compensations_run_in_reverse_and_are_recorded_themselves(runner: Runner, clock: VirtualTime) -> None:
    flow = Flow("saga", policy=PATIENT)
    undone: list[str] = []
    tries = iter([True, False])

    def refund(charge: str, context: StepContext) -> None:
        if next(tries):
            raise ConnectionError("the bank is away")
        undone.append(f"refund {charge} as {context.step}")

    flow.step(name="reserve", compensate=lambda input: undone.append(f"release {input}"))(lambda: "r")
    flow.step(name="charge", after=["reserve"], compensate=refund)(lambda: "c")

    @flow.step(after=["charge"])
    def ship() -> None:
        raise TypeError("no address")

    with pytest.raises(WorkflowFailed) as caught:
        runner.run(flow, "1", 7)
    assert undone == ["refund c as compensate:charge", "release 7"]
    assert caught.value.outcomes == {"reserve": "compensated", "charge": "compensated", "ship": "gave_up"}
    assert ("RETRY_SCHEDULED", 2) in of_step(runner.journal, "compensate:charge")
    with pytest.raises(WorkflowFailed) as again:
        runner.run(flow, "1")
    assert again.value.outcomes == caught.value.outcomes
    assert len(undone) == 2


def test_a_crash_in_a_compensation_goes_on_with_it(tmp_path: Path, clock: VirtualTime) -> None:
    undone: list[str] = []

    def saga() -> Flow:
        flow = Flow("saga")
        flow.step(name="one", compensate=lambda: undone.append("one"))(lambda: 1)
        flow.step(name="two", after=["one"], compensate=lambda: undone.append("two"))(lambda: 2)

        @flow.step(after=["two"])
        def three() -> None:
            raise TypeError("no")

        return flow

    whole = tmp_path / "whole.db"
    with Runner(Journal(whole)) as runner:
        with pytest.raises(WorkflowFailed) as caught:
            runner.run(saga(), "1")
        events = runner.journal.events("1")
    for count in range(1, len(events)):
        cut(whole, tmp_path / f"{count}.db", count)
        undone.clear()
        with Runner(Journal(tmp_path / f"{count}.db")) as runner:
            answer = runner.resume_all([saga()])["1"]
            assert isinstance(answer, WorkflowFailed)
            assert answer.outcomes == caught.value.outcomes
            assert decisions(runner.journal.events("1")) == decisions(events)
        done = [e.step for e in events[:count] if e.type == "SUCCEEDED" and e.step.startswith("compensate")]
        assert undone == ["two", "one"][len(done) :]


def test_a_token_cancels_the_workflow_and_what_was_done_is_undone(runner: Runner, clock: VirtualTime) -> None:
    token = holdoff.Cancel()
    undone: list[str] = []
    flow = Flow("stopped")
    flow.step(name="first", compensate=lambda: undone.append("first"))(lambda: 1)

    @flow.step(after=["first"])
    async def hang(context: StepContext) -> None:
        assert not context.cancelled
        token.cancel()
        await asyncio.sleep(60)

    flow.step(name="never", after=["hang"])(lambda: None)
    with pytest.raises(WorkflowCancelled) as caught:
        runner.run(flow, "1", cancel=token)
    assert caught.value.outcomes == {"first": "compensated", "hang": "cancelled", "never": "skipped"}
    assert undone == ["first"]
    assert of_step(runner.journal, "hang") == [("STARTED", 1), ("CANCELLED", 1)]
    assert [record.status for record in runner.journal.workflows()] == ["CANCELLED"]
    with pytest.raises(WorkflowCancelled):
        runner.run(flow, "1")


def test_cancelling_ends_a_pending_retry(runner: Runner) -> None:
    token = holdoff.Cancel()
    flow = Flow("waits")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1h"}, "jitter": "none"})
    def fail() -> None:
        threading.Timer(0.05, token.cancel).start()
        raise ConnectionError("down")

    with pytest.raises(WorkflowCancelled):
        runner.run(flow, "1", cancel=token)
    assert of_step(runner.journal, "fail")[-1] == ("CANCELLED", 1)


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


def test_guards_are_shared_by_steps_and_survive_the_runner(tmp_path: Path, clock: VirtualTime) -> None:
    calls: list[str] = []

    def flow(name: str) -> Flow:
        flow = Flow(name)

        @flow.step(policy={"attempts": 4, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
        def call() -> None:
            calls.append(name)
            raise ConnectionError("down")

        return flow

    guards: Any = {"breaker": {"failures": 2, "open_for": "1h"}}
    for name in ("first", "second"):
        with Runner(Journal(tmp_path / "journal.db"), guards=guards) as runner:
            with pytest.raises(WorkflowFailed):
                runner.run(flow(name), name)
            ends = [e for e in runner.journal.events(name) if e.type == "GAVE_UP"]
            assert ends[-1].event["reason"] == "breaker"
    assert calls == ["first", "first"], "the second runner found the breaker open"


def test_many_failures_stretch_the_delays(tmp_path: Path, clock: VirtualTime) -> None:
    flow = Flow("adaptive")

    @flow.step(policy={"attempts": 6, "backoff": {"kind": "constant", "delay": "1s"}, "jitter": "none"})
    def call() -> None:
        raise ConnectionError("down")

    with Runner(Journal(tmp_path / "journal.db"), guards={"stretch": {"factor": 4, "min_calls": 2}}) as runner:
        with pytest.raises(WorkflowFailed):
            runner.run(flow, "1")
        delays = [e.backoff_delay_ms for e in runner.journal.events("1") if e.type == "RETRY_SCHEDULED"]
        assert runner.journal.verify(flow, "1") is None
    assert delays[0] == 1000
    assert delays[-1] is not None
    assert delays[-1] > 1000


def test_a_full_bulkhead_lets_one_after_the_other_through(tmp_path: Path) -> None:
    flow = Flow("narrow")
    running = most = 0

    async def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    for index in range(6):
        flow.step(name=f"step-{index}")(call)
    with Runner(Journal(tmp_path / "journal.db"), guards={"bulkhead": {"limit": 2, "queue": 10}}) as runner:
        runner.run(flow, "1")
    assert most == 2


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


def test_verify_names_the_first_event_that_the_policy_would_not_have(tmp_path: Path, clock: VirtualTime) -> None:
    order = Order(failures=2)
    with Runner(Journal(tmp_path / "journal.db")) as runner:
        runner.run(order.flow, "1", {"item": "book"})
        assert runner.journal.verify(order.flow, "1") is None
        scheduled = next(e for e in runner.journal.events("1") if e.type == "RETRY_SCHEDULED")
        detail = {**scheduled.detail, "until": str(scheduled.at + 5_000_000), "backoffDelayMs": 5}
        with sqlite3.connect(tmp_path / "journal.db") as database:
            database.execute(
                "UPDATE events SET detail = ? WHERE sequence = ?",
                (json.dumps(detail), scheduled.sequence),
            )
        database.close()
        found = runner.journal.verify(order.flow, "1")
    assert found is not None
    assert (found.step, found.sequence, found.step_sequence) == ("charge", scheduled.sequence, 3)
    assert found.recorded is not None
    assert found.recorded["until"] == detail["until"]
    assert found.computed is not None
    assert found.computed["until"] == scheduled.detail["until"]


def test_definitions_that_make_no_sense_are_refused() -> None:
    flow = Flow("f")
    flow.step(name="one")(lambda: None)
    for wrong, told in (
        (lambda: flow.step(name="one")(lambda: None), "two steps 'one'"),
        (lambda: flow.step(name="two", after=["three"])(lambda: None), "not defined before it"),
        (lambda: flow.step(name="two", after=[print])(lambda: None), "'print' is no step of it"),
        (lambda: flow.step(name="two")(lambda a, b: None), "'a' and 'b' are no steps"),
        (lambda: flow.step(lambda: None), "a step has a name"),
        (lambda: flow.step(name="input")(lambda: None), "no step may be named 'input'"),
        (lambda: Flow(""), "a workflow has a name"),
    ):
        with pytest.raises(DefinitionError, match=told):
            wrong()


def test_a_loop_that_runs_is_told_to_await(runner: Runner) -> None:
    async def inside() -> None:
        runner.run(Order().flow, "1", {"item": "book"})

    with pytest.raises(RuntimeError, match="await run_async"):
        asyncio.run(inside())


def test_a_clock_that_is_set_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from holdoff.durable import _clock

    ahead = 0
    real = time.time_ns

    class Shifted:
        @staticmethod
        def time_ns() -> int:
            return real() + ahead

    monkeypatch.setattr(_clock, "time", Shifted)
    monkeypatch.setattr(_clock, "CHUNK", 0.01)
    flow = Flow("jump")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1h"}, "jitter": "none"})
    def wait(context: StepContext) -> int:
        nonlocal ahead
        if context.attempt == 1:
            threading.Timer(0.05, later).start()
            raise ConnectionError("down")
        return context.attempt

    def later() -> None:
        nonlocal ahead
        ahead = 3600 * SECOND

    with Runner(Journal(tmp_path / "journal.db")) as runner:
        assert runner.run(flow, "1") == {"wait": 2}


@pytest.mark.parametrize("count", [200])
def test_many_workflows_share_one_runner(runner: Runner, clock: VirtualTime, count: int) -> None:
    orders = [Order(failures=index % 3) for index in range(count)]

    async def every() -> list[dict[str, Any]]:
        return await asyncio.gather(
            *(runner.run_async(order.flow, f"order-{i}", {"item": i}) for i, order in enumerate(orders))
        )

    results = asyncio.run(every())
    assert [result["charge"] for result in results] == [[i, 1 + i % 3] for i in range(count)]
