"""Workflows: each step once, and retries at their recorded time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypedDict

import holdoff
import holdoff.machines
import pytest
from durable_flows import PATIENT, SECOND, Order, of_step
from holdoff.testing import VirtualTime
from holdoff_durable import (
    DefinitionError,
    Journal,
    JournalConflict,
    Runner,
    StepContext,
    Workflow as Flow,
    WorkflowFailed,
)


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
    schedule = holdoff.machines.Schedule(policy, int(events[0].event["seed"]))
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


class Ordered(TypedDict):
    """An order."""

    items: Sequence[tuple[str, int]]


def test_a_step_whose_annotation_promises_no_json_is_refused_before_it_runs() -> None:
    def as_set() -> list[set[int]]: ...  # type: ignore[empty-body]
    def as_bytes() -> bytes | None: ...
    async def as_time() -> datetime: ...  # type: ignore[empty-body]
    def as_rows() -> Iterator[int]: ...  # type: ignore[empty-body]

    flow = Flow("annotated")
    for function, told in ((as_set, "set"), (as_bytes, "bytes"), (as_time, "datetime"), (as_rows, "Iterator")):
        with pytest.raises(
            DefinitionError, match=f"step '{function.__name__}': its result, {told}, cannot be kept as JSON"
        ):
            flow.step(function)
    with pytest.raises(DefinitionError, match=r"step 'compensate:one': its result, bytes,"):
        flow.step(name="one", compensate=as_bytes)(lambda: 1)

    def as_order() -> Ordered | Literal["none"] | None: ...
    def as_mapping() -> Mapping[str, Any]: ...  # type: ignore[empty-body]
    def as_awaitable() -> Awaitable[dict[str, bool]]: ...  # type: ignore[empty-body]
    def as_unknown() -> Unknown: ...  # type: ignore[name-defined]  # noqa: F821
    def as_iterable() -> Iterable[object]: ...  # type: ignore[empty-body]

    for known in (as_order, as_mapping, as_awaitable, as_unknown, as_iterable):
        flow.step(known)


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

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": 0}}, timeout="300ms")
    async def wait(context: StepContext) -> str:
        if context.attempt == 1:
            await asyncio.sleep(60)
        assert context.remaining is not None
        assert holdoff.remaining() is not None
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
    from holdoff_durable import _clock

    ahead = 0
    real = time.time_ns

    class Shifted:
        @staticmethod
        def time_ns() -> int:
            return real() + ahead

    begin = _clock.Timer.sleep

    def sleep(timer: _clock.Timer, length: int) -> _clock.Sleep:
        nonlocal ahead
        begun = begin(timer, length)
        if length > 1800 * SECOND:
            ahead = 3600 * SECOND
        return begun

    monkeypatch.setattr(holdoff.clock, "time", Shifted)
    monkeypatch.setattr(_clock, "CHUNK", 0.01)
    monkeypatch.setattr(_clock.Timer, "sleep", sleep)
    flow = Flow("jump")

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "1h"}, "jitter": "none"})
    def wait(context: StepContext) -> int:
        if context.attempt == 1:
            raise ConnectionError("down")
        return context.attempt

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
