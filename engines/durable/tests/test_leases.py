"""Leases after an outage of the journal, and when a clock is set: the living keep theirs, and those of the dead end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from holdoff.testing import VirtualTime, virtual_time
from holdoff_durable import Entry, Journal, JournalUnavailable, Runner, Workflow as Flow, WorkflowBusy
from holdoff_durable._clock import Timer
from holdoff_durable._lease import new_owner

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
LEASE = 30.0


def elsewhere() -> str:
    """An owner on another machine, of which nobody here knows whether it lives."""
    owner = new_owner().split(" ")
    owner[-4] = "0" * 16
    return " ".join(owner)


class Scene:
    """A workflow that a runner elsewhere has, and a runner that wants it."""

    def __init__(self, path: Path, clock: VirtualTime) -> None:
        self.clock = clock
        self.ahead = 0
        self.appended = 0
        self.journal = Journal(path, clock=self.time)
        self.flow = Flow("leased")
        self.flow.step(name="one")(lambda: 1)
        shape = self.flow.shape
        self.journal.begin("1", name="leased", input=None, definition=self.flow.fingerprint, steps=shape, at=1)
        self.owner = elsewhere()
        self.lease = self.journal.take("1", self.owner, LEASE)
        self.runner = Runner(self.journal, lease=LEASE)

    def time(self) -> int:
        """The clock of the journal."""
        return 1_700_000_000 * SECOND + round(self.clock.now * SECOND) + self.ahead

    @property
    def lease_until(self) -> int:
        record = self.journal.workflow("1")
        assert record is not None
        return record.lease_until

    def run(self) -> float:
        """Seconds until the runner has taken the workflow over and run it."""
        began = self.clock.now
        assert self.runner.run(self.flow, "1") == {"one": 1}
        return self.clock.now - began

    def renew(self) -> None:
        """The other runner renews its leases, in a loop of its own."""
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self.journal.renew_async(self.owner, LEASE)).result()

    def append(self) -> None:
        """A sign of life of the runner elsewhere."""
        self.appended += 1
        self.journal.append("1", [Entry("", 1 + self.appended, "NOTE", self.appended)], lease=self.lease)


@pytest.fixture(name="scene")
def make_scene(tmp_path: Path, clock: VirtualTime) -> Scene:
    return Scene(tmp_path / "journal.db", clock)


def test_an_append_renews_the_lease(scene: Scene) -> None:
    for _ in range(4):
        scene.clock.advance(29)
        scene.append()
    scene.clock.advance(29)
    with pytest.raises(WorkflowBusy, match="its lease ends in 1 s"):
        scene.runner.run(scene.flow, "1")


def test_a_silent_owner_is_looked_at_again_before_it_is_overtaken(scene: Scene) -> None:
    scene.clock.advance(31)
    assert 10 <= scene.run() < 10.1


SIGNS: dict[str, Callable[[Scene], object]] = {
    "renews": Scene.renew,
    "appends": Scene.append,
}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("set_by", [0, HOUR, -HOUR], ids=["outage", "clock forward", "clock back"])
def test_a_living_owner_is_not_overtaken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: str, set_by: int
) -> None:
    """After an outage longer than its lease, or after the clock was set, the owner gives its sign of life."""
    pause = Timer.pause

    async def meanwhile(timer: Timer, length: int) -> None:
        SIGNS[sign](scene)
        await pause(timer, length)

    monkeypatch.setattr(Timer, "pause", meanwhile)
    with virtual_time() as clock:
        scene = Scene(tmp_path / "journal.db", clock)
        scene.ahead = set_by
        clock.advance(0 if set_by else 1000)
        with pytest.raises(WorkflowBusy, match="its lease ends in"):
            scene.runner.run(scene.flow, "1")
        scene.append()


@pytest.mark.parametrize("set_by", [HOUR, -HOUR, -HOUR * 24 * 3650], ids=["forward", "back", "ten years back"])
def test_a_dead_owner_is_overtaken_whatever_the_clock_says(scene: Scene, set_by: int) -> None:
    scene.ahead = set_by
    assert scene.run() < LEASE


def test_a_dead_owner_that_was_seen_before_is_overtaken_at_once(scene: Scene) -> None:
    def look() -> tuple[int, int]:
        return scene.runner._known(scene.journal.workflows()).get("1", (0, 0))

    assert look() == (scene.lease_until, 0)
    scene.clock.advance(29)
    assert look() == (scene.lease_until, 29 * SECOND)
    scene.append()
    assert look() == (scene.lease_until, 0)
    # A gap between two looks, in which nobody could renew if the journal was away.
    scene.clock.advance(60)
    assert look() == (scene.lease_until, 0)
    scene.clock.advance(11)
    answers: dict[str, Any] = {}
    began = scene.clock.now

    async def resume() -> None:
        tasks: set[asyncio.Task[None]] = set()
        await scene.runner._resume({"leased": scene.flow}, answers.__setitem__, tasks)
        await asyncio.gather(*tasks)

    asyncio.run(resume())
    assert answers == {"1": {"one": 1}}
    assert scene.clock.now - began < 1


def test_what_was_seen_before_an_outage_is_forgotten(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.runner._known(scene.journal.workflows())
    scene.clock.advance(31)
    workflows = scene.journal.workflows
    away = [JournalUnavailable("away", "there")]

    def unwell() -> Any:
        if away:
            raise away.pop()
        return workflows()

    monkeypatch.setattr(scene.journal, "workflows", unwell)
    began = scene.clock.now
    assert scene.runner.resume_all([scene.flow]) == {"1": {"one": 1}}
    assert scene.clock.now - began >= 10


def test_an_outage_while_a_lease_is_taken_begins_the_wait_anew(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.clock.advance(31)
    take = scene.journal.begin_and_take_async
    calls: list[float] = []

    async def unwell(*arguments: Any, **options: Any) -> Any:
        calls.append(scene.clock.now)
        if len(calls) == 2:
            raise JournalUnavailable("away", "there")
        return await take(*arguments, **options)

    monkeypatch.setattr(scene.journal, "begin_and_take_async", unwell)
    assert scene.run() >= 20
    assert len(calls) == 4


def test_leases_are_renewed_as_soon_as_the_journal_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = Flow("renewed")
    renewed = asyncio.Event()
    away = [JournalUnavailable("away", "there")] * 3

    @flow.step
    async def one() -> None:
        await renewed.wait()

    with Runner(Journal(tmp_path / "journal.db"), lease=0.3) as runner:
        renew = runner.journal.renew_async

        async def unwell(owner: str, lasting: float) -> int:
            if away:
                raise away.pop()
            renewed.set()
            return await renew(owner, lasting)

        monkeypatch.setattr(runner.journal, "renew_async", unwell)
        runner.run(flow, "1")
    assert not away
