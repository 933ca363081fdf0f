"""What a journal and its runner make of steps that misbehave, names that clash, and rows that somebody has changed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from holdoff.testing import virtual_time
from holdoff_durable import (
    DefinitionChanged,
    DefinitionError,
    Journal,
    JournalDamaged,
    JournalError,
    LeaseLost,
    NotAJournal,
    Runner,
    StepContext,
    Workflow,
    WorkflowBusy,
    WorkflowFailed,
)
from holdoff_durable.__main__ import main
from holdoff_durable._clock import Sleep, Timer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def runner(path: Path) -> Iterator[Runner]:
    with Runner(Journal(path)) as runner:
        yield runner


@pytest.mark.parametrize(
    "error", [StopIteration(3), asyncio.CancelledError(), concurrent.futures.CancelledError()], ids=repr
)
def test_a_blocking_step_that_raises_what_a_future_cannot_carry_fails(runner: Runner, error: BaseException) -> None:
    flow = Workflow("odd")

    @flow.step
    def one() -> None:
        raise error

    with pytest.raises(WorkflowFailed, match=type(error).__name__):
        runner.run(flow, "1")


def test_an_attempt_that_cancels_its_own_task_interrupts_and_ends_nothing(runner: Runner) -> None:
    flow = Workflow("own")
    cancels, undone = [True], list[int]()

    @flow.step(compensate=lambda: undone.append(1))
    def first() -> int:
        return 1

    @flow.step(after=[first])
    async def second() -> int:
        task = asyncio.current_task()
        if cancels.pop() and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        return 2

    cancels = [False, True]
    with pytest.raises(asyncio.CancelledError):
        runner.run(flow, "1")
    assert (undone, runner.run(flow, "1")) == ([], {"first": 1, "second": 2})


def test_a_function_that_turns_out_to_be_asynchronous_has_a_limit_too(runner: Runner) -> None:
    flow = Workflow("late")
    flow.step(name="one", timeout="50ms")(lambda: asyncio.sleep(30))
    with pytest.raises(WorkflowFailed, match="longer than it may"):
        runner.run(flow, "1")


def test_a_result_that_nests_as_deeply_as_can_be_fails_its_step_and_not_the_journal(runner: Runner) -> None:
    for depth in range(940, 1000):
        value: Any = 1
        for _ in range(depth):
            value = [value]
        flow = Workflow("deep")
        flow.step(name="one")(lambda value=value: value)
        with suppress(WorkflowFailed):
            runner.run(flow, f"{depth}")
        record = runner.journal.workflow(f"{depth}")
        assert record is not None
        assert record.ended


def test_one_runner_runs_a_workflow_once_in_whichever_threads(runner: Runner) -> None:
    flow = Workflow("once")
    began, end = threading.Event(), threading.Event()
    ran: list[str] = []

    @flow.step
    def one(context: StepContext) -> str:
        ran.append(context.workflow_id)
        began.set()
        assert end.wait(30)
        return "done"

    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(runner.run, flow, "1")
        assert began.wait(30)
        with pytest.raises(WorkflowBusy, match="runs it already"):
            runner.run(flow, "1")
        assert runner.resume_all([flow]) == {}
        end.set()
        assert first.result() == {"one": "done"}
    assert ran == ["1"]


def test_a_step_that_runs_its_own_workflow_fails(runner: Runner) -> None:
    flow = Workflow("again")

    @flow.step
    async def one(context: StepContext) -> Any:
        return await runner.run_async(flow, context.workflow_id)

    with pytest.raises(WorkflowFailed, match="runs it already"):
        runner.run(flow, "1")


def test_who_waits_for_another_workflow_of_its_runner_lends_it_its_place(path: Path) -> None:
    inner, outer = Workflow("inner"), Workflow("outer")
    together: list[int] = [0, 0]

    @inner.step
    async def one() -> int:
        together[0] += 1
        together[1] = max(together)
        await asyncio.sleep(0.01)
        together[0] -= 1
        return 1

    with Runner(Journal(path), concurrency=1) as runner:

        @outer.step
        async def call(context: StepContext) -> int:
            names = [f"{context.workflow_id}/{number}" for number in range(3)]
            answers = await asyncio.gather(*(runner.run_async(inner, name) for name in names))
            return sum(answer["one"] for answer in answers)

        async def both() -> list[dict[str, Any]]:
            return await asyncio.gather(*(runner.run_async(outer, name) for name in ("1", "2")))

        assert asyncio.run(asyncio.wait_for(both(), 30)) == [{"call": 3}] * 2
    assert together == [0, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_is_told_to_open_the_journal_itself(runner: Runner) -> None:
    flow = Workflow("forked")
    flow.step(name="one")(lambda: 1)
    runner.run(flow, "1")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = []
            for use in (lambda: runner.run(flow, "2"), lambda: runner.journal.events("1"), runner.close):
                try:
                    use()
                    told.append("-")
                except JournalError as error:
                    told.append(error.what)
            os.write(writer, ";".join(told).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as answer:
        assert answer.read() == ";".join(["it was opened before this process was forked"] * 2 + ["-"])
    os.waitpid(child, 0)
    assert runner.run(flow, "1") == {"one": 1}


def test_no_two_steps_have_the_same_key(runner: Runner) -> None:
    keys: list[str] = []
    for name, step in (("order", "pay:all"), ("order:pay", "all"), ("order%3Apay", "all"), ("ördér 17", "all")):
        flow = Workflow(name)
        flow.step(name=step)(lambda context: keys.append(context.key))
        runner.run(flow, name)
    assert keys == ["order:pay:all", "order%3Apay:all", "order%253Apay:all", "%C3%B6rd%C3%A9r%2017:all"]


def test_guards_of_steps_whose_names_run_together_are_their_own(runner: Runner) -> None:
    for name, step in (("a/b", "c"), ("a", "b/c"), ("x" * 200, "y" * 200)):
        flow = Workflow(name)
        flow.step(name=step, guards={"breaker": {"failures": 2}})(lambda: 1)
        runner.run(flow, name)
    with closing(sqlite3.connect(runner.journal.where)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM guards")]
    assert len(names) == 3
    assert max(map(len, names)) <= 255


@pytest.mark.parametrize("name", ["", "a\0b", "half \ud800", "x" * 201, 5, None])
def test_names_that_no_database_would_take_are_refused_at_once(runner: Runner, name: Any) -> None:
    with pytest.raises(DefinitionError, match="has a name of 1 to 200"):
        Workflow(name)
    if name is not None:
        with pytest.raises(DefinitionError, match="has a name of 1 to 200"):
            Workflow("fine").step(name=name)(lambda: 1)
    with pytest.raises((ValueError, TypeError), match="the id of a workflow"):
        runner.run(Workflow("fine"), name if name != "x" * 201 else "x" * 256)


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(NotAJournal, match="a folder"):
        Journal(tmp_path)


def test_what_one_may_not_write_is_no_matter_of_the_others_in_its_commit(runner: Runner) -> None:
    journal = runner.journal
    stop, waiting = threading.Event(), threading.Event()

    def hold(connection: Any) -> None:
        waiting.set()
        stop.wait(30)

    def fail(connection: Any) -> None:
        raise OverflowError("too large for the driver")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        held = pool.submit(journal._do, hold)
        assert waiting.wait(30)
        failing = pool.submit(journal._do, fail)
        fine = [pool.submit(journal._do, lambda connection: 1) for _ in range(2)]
        while journal._writer._queue.qsize() < 3:
            pass
        stop.set()
        with pytest.raises(OverflowError):
            failing.result(30)
        assert [held.result(30), *(one.result(30) for one in fine)] == [None, 1, 1]


def test_what_is_shown_is_text_and_nothing_else(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    flow = Workflow("[b]kind[/c]")

    @flow.step(name="[red]step[/x]")
    def one() -> None:
        raise ValueError("[/closing] \x1b[31mred \r over")

    with Runner(Journal(path)) as runner, pytest.raises(WorkflowFailed):
        runner.run(flow, "id[/i]\x1b[2J", progress=True)
    shown = capsys.readouterr().err
    assert main(["show", str(path)]) == 0
    assert main(["show", str(path), "id[/i]\x1b[2J"]) == 0
    listed = capsys.readouterr().out
    for part in ("[red]step[/x]", "id[/i]?[2J", "[/closing] ?[31mred ? over"):
        assert part in shown
        assert part in listed
    assert "[b]kind[/c]" in listed
    assert "\x1b" not in shown + listed
    with pytest.raises(SystemExit):
        main(["show", str(path), "--status", "BOGUS"])


def test_a_terminal_that_is_gone_loses_no_answer(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    flow = Workflow("shown")
    flow.step(name="one")(lambda: 1)
    assert runner.run(flow, "1", progress=True) == {"one": 1}
    record = runner.journal.workflow("1")
    assert record is not None
    assert record.owner is None


def test_who_was_overtaken_and_did_the_same_is_told_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(timer: Timer, length: int) -> None:
        return

    monkeypatch.setattr(Timer, "pause", at_once)
    flow = Workflow("slow")
    began, end = threading.Event(), threading.Event()

    @flow.step
    def one(context: StepContext) -> int:
        if not context.rerun:
            began.set()
            assert end.wait(30)
        return context.rerun

    clocks = [0]
    with (
        Runner(Journal(path), lease=1000) as slow,
        Runner(Journal(path, clock=lambda: time.time_ns() + clocks[0])) as quick,
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        first = pool.submit(slow.run, flow, "1")
        assert began.wait(30)
        clocks[0] = 2_000_000_000_000
        assert quick.run(flow, "1") == {"one": 1}
        end.set()
        with pytest.raises(LeaseLost):
            first.result(30)
        assert slow.run(flow, "1") == {"one": 1}


def test_a_step_that_gives_up_before_it_has_failed_says_why(path: Path) -> None:
    flow = Workflow("late")
    interrupts = [KeyboardInterrupt()]

    @flow.step(policy={"attempts": 5, "deadline": "10s"})
    async def one() -> None:
        if interrupts:
            raise interrupts.pop()

    with virtual_time() as clock:
        with Runner(Journal(path)) as runner, pytest.raises(KeyboardInterrupt):
            runner.run(flow, "1")
        clock.sleep(60)
        for _ in range(2):
            with Runner(Journal(path)) as runner, pytest.raises(WorkflowFailed) as told:
                runner.run(flow, "1")
            assert told.value.failures == {"one": "gave up: deadline"}


@pytest.mark.parametrize("resumed", [False, True])
def test_a_clock_that_is_set_back_makes_no_sleep_longer(
    path: Path, monkeypatch: pytest.MonkeyPatch, resumed: bool
) -> None:
    ahead = 0

    def set_clock() -> int:
        return time.time_ns() + ahead

    monkeypatch.setattr("holdoff_durable._clock.time_ns", set_clock)
    flow = Workflow("late")
    calls = 0

    @flow.step(policy={"attempts": 2, "backoff": {"kind": "constant", "delay": "50ms"}, "jitter": "none"})
    async def one() -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError("down")
        return calls

    begin = Timer.sleep
    sleeps = 0

    def sleep(timer: Timer, length: int) -> Sleep:
        nonlocal ahead, sleeps
        sleeps += 1
        begun = begin(timer, length)
        ahead = -3_600_000_000_000
        if resumed and sleeps == 1:
            raise KeyboardInterrupt
        return begun

    monkeypatch.setattr(Timer, "sleep", sleep)
    if resumed:
        with Runner(Journal(path)) as runner, pytest.raises(KeyboardInterrupt):
            runner.run(flow, "1")
    # A sleep of an hour is no failure of this test but an end of it.
    with Runner(Journal(path)) as runner, concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(runner.run, flow, "1").result(60) == {"one": 2}
    assert sleeps == 1 + resumed


@pytest.mark.parametrize("state", ["{", "[]", "null", '{"breaker": 5}', '{"breaker": "!!"}', '{"breaker": "AAAA"}'])
def test_guards_that_somebody_has_changed_are_named(path: Path, state: str) -> None:
    flow = Workflow("guarded")
    flow.step(name="one", guards={"breaker": {"failures": 2}})(lambda: 1)
    with Runner(Journal(path)) as runner:
        runner.run(flow, "1")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE guards SET state = ?", (state,))
        database.commit()
    with Runner(Journal(path)) as runner, pytest.raises(JournalError, match="guarded/one"):
        runner.run(flow, "2")


def test_guards_of_another_kind_are_refused_by_name(path: Path) -> None:
    kinds: Any = ({"budget": {"kind": "token"}}, {"budget": {"kind": "share"}})
    for guards, match in zip(kinds, ("", "guarded/one"), strict=True):
        flow = Workflow("guarded")
        flow.step(name="one", guards=guards)(lambda: 1)
        with Runner(Journal(path)) as runner:
            if match:
                with pytest.raises(DefinitionChanged, match=match):
                    runner.run(flow, "2")
            else:
                runner.run(flow, "1")


@pytest.mark.skipif(os.name == "nt", reason="an open file stays there")
def test_a_file_that_is_removed_while_it_is_open_is_noticed(runner: Runner, path: Path) -> None:
    flow = Workflow("gone")
    flow.step(name="one")(lambda: 1)
    runner.run(flow, "1")
    path.rename(path.with_name("moved.db"))
    with pytest.raises(JournalDamaged, match="removed or replaced"):
        runner.run(flow, "2")
    path.with_name("moved.db").rename(path)
    assert runner.run(flow, "2") == {"one": 1}


CHANGES = {
    "UPDATE events SET payload = '{}' WHERE sequence = 3": "event 3, SUCCEEDED of one, is not as recorded",
    "UPDATE events SET payload = replace(payload, '7', '8') WHERE sequence = 3": "event 3, SUCCEEDED of one",
    "UPDATE events SET payload = 'null' WHERE sequence = 3": "step 'one', event 3: payload and detail are no objects",
    "UPDATE events SET payload = x'ff' WHERE sequence = 3": "step 'one', event 3: the payload is no JSON",
    "UPDATE events SET event_type = 'SKIPPED' WHERE sequence = 3": "event 3, SKIPPED of one",
    "UPDATE events SET occurred_at = 1 WHERE sequence = 2": "event 2, STARTED of one",
    "DELETE FROM events WHERE sequence = 3": "event 3 of 4 is missing",
    "DELETE FROM events WHERE sequence = 4": "event 4 of 4 is missing",
    "DELETE FROM events WHERE step <> ''": "event 2 of 4 is missing",
    "UPDATE workflows SET last_sequence = 3": "event 4 comes after the last one, 3",
    "UPDATE workflows SET status = 'COMPLETED'": "it is COMPLETED, and step 'two' has no end",
}


@pytest.mark.parametrize("statement", CHANGES)
def test_a_journal_that_somebody_has_changed_is_named_and_nothing_is_run(path: Path, statement: str) -> None:
    flow = Workflow("changed")
    ran: list[str] = []

    @flow.step
    def one() -> int:
        ran.append("one")
        return 7

    @flow.step(after=[one])
    async def two(one: int) -> None:
        ran.append("two")
        raise KeyboardInterrupt

    with Runner(Journal(path)) as runner, pytest.raises(KeyboardInterrupt):
        runner.run(flow, "1")
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    with Runner(Journal(path)) as runner:
        for _ in range(2):
            with pytest.raises(JournalDamaged, match="workflow '1'") as told:
                runner.run(flow, "1")
            assert CHANGES[statement] in str(told.value)
    assert ran == ["one", "two"]
