"""Kubernetes' loops on the periodic machine, driven by a host with virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from holdoff import ConfigError
from holdoff.machines import NEVER, LoopBackoff, Periodic, PeriodicStep, WaitBackoff
from holdoff.testing import uniform
from recorded import (
    LONGEST,
    OUT_OF_DOMAIN,
    Case,
    Different,
    Verdict,
    loop_backoff,
    real,
    refusal,
    same,
    uniforms,
    wait_backoff,
    whole,
)

Answer = Literal["again", "done", "failed"]
Find = Callable[[int], tuple[int, Answer]]
"""How long a run takes, by its number from 0, and what it finds."""


@dataclass
class Seen:
    """What a host saw."""

    starts: list[int] = field(default_factory=list[int])
    intervals: list[int] = field(default_factory=list[int])
    ended: str = "cancelled"
    at: int = 0


class Host:
    """Drives a machine whose loop backoff perhaps draws, and cancels it at a time or with the end of a run."""

    def __init__(self, machine: Periodic, draws: Iterator[float] | None, cancel_at: int | None) -> None:
        self.machine, self.draws, self.cancel_at = machine, draws, cancel_at
        self.seen, self.now = Seen(), 0
        self.next_draw = None if draws is None else next(draws, 0.0)

    def ask(self, input: Callable[[], PeriodicStep]) -> PeriodicStep:
        """An input of the machine, with the draw that it may make."""
        asked = self.machine.intervals
        if self.next_draw is None:
            step = input()
        else:
            with uniform(self.next_draw):
                step = input()
        if self.machine.intervals != asked:
            self.seen.intervals.append(self.machine.interval)
            if self.draws is not None:
                self.next_draw = next(self.draws, 0.0)
        return step

    def run(self, number: int, find: Find, cancel_after: int) -> PeriodicStep:
        takes, answer = find(len(self.seen.starts))
        self.seen.starts.append(self.now)
        self.now += takes
        in_time = self.cancel_at is None or self.cancel_at > self.now
        if not in_time or len(self.seen.starts) == cancel_after:
            self.cancel_at = None
            self.machine.cancel()
        return self.ask(lambda: self.machine.finish(number, self.now, answer))

    def sleep(self, until: int) -> PeriodicStep:
        if self.cancel_at is not None and (self.cancel_at <= self.now or self.cancel_at < until):
            self.now, self.cancel_at = max(self.now, self.cancel_at), None
            return self.machine.cancel()
        self.now = min(max(self.now, until), NEVER - 1)
        return self.ask(lambda: self.machine.tick(self.now))

    def drive(self, find: Find, cancel_after: int = 0) -> Seen:
        step = self.sleep(0)
        while step.ended is None:
            if step.run is not None:
                step = self.run(step.run, find, cancel_after)
            elif step.until is not None:
                step = self.sleep(step.until)
            else:
                raise Different("it waits for a run that has ended")
        self.seen.ended, self.seen.at = step.ended, self.now
        return self.seen


def drive(case: Case, made: LoopBackoff, machine: Periodic, script: Case, find: Find, cancel_after: int = 0) -> Seen:
    cancel_at = whole(case["config"], "cancel_at", -1)
    host = Host(machine, uniforms(script) if made.draws else None, cancel_at if cancel_at >= 0 else None)
    return host.drive(find, cancel_after)


def wrapped(case: Case, name: str, seen: Seen, longest: int | None) -> int | None:
    """How many recorded intervals there are from the first on that left the range of an integer; None if none did. From
    there on the original does not wait, and here the interval is as long as it may be."""
    recorded: list[int] = case["expected"][0].get(name) or []
    if case["config"].get("impl_defined"):
        # An interval that wraps twice may be positive again.
        pairs = enumerate(zip(recorded, seen.intervals, strict=False))
        first = next((at for at, (there, here) in pairs if there != here), None)
    else:
        first = next((at for at, there in enumerate(recorded) if there < 0), None)
    if first is None:
        return None
    same(first, "the intervals before it wraps", recorded[:first], seen.intervals[:first])
    if first < len(seen.intervals):
        same(first, "saturated interval", True, seen.intervals[first] >= (LONGEST if longest is None else longest))
    else:
        same(first, "an end before the wrap", True, seen.ended != "done")
    return len(recorded) - first


def k8s_backoffuntil(case: Case) -> Verdict:
    config, expected, inputs = case["config"], case["expected"][0], case["inputs"]
    made = loop_backoff(config["manager"], 0)
    if isinstance(made, ConfigError):
        return OUT_OF_DOMAIN
    machine = Periodic(made, sliding=bool(config.get("sliding")), seed=0, now=0)
    cancel_after = len(inputs) if whole(config, "cancel_at", -1) < 0 else 0
    seen = drive(case, made, machine, config["manager"], lambda at: (int(inputs[at]), "again"), cancel_after)
    deviations = wrapped(case, "delays", seen, made.backoff.cap)
    if deviations is not None:
        return deviations
    theirs = Seen(expected["starts"] or [], expected["delays"] or [], "cancelled", whole(expected, "returned_at"))
    same(0, "the loop", theirs, seen)
    return 0


def k8s_poll(case: Case) -> Verdict:
    config, expected, inputs = case["config"], case["expected"][0], case["inputs"]
    jitter = real(config["backoff"], "jitter")
    backoff = refusal(lambda: WaitBackoff(0, jitter=jitter) if jitter < 0 else wait_backoff(config["backoff"]))
    if isinstance(backoff, ConfigError):
        return OUT_OF_DOMAIN
    made, immediate = LoopBackoff(backoff), bool(config.get("immediate"))
    varies = backoff.steps > 1 or backoff.draws
    machine = Periodic(
        made,
        timer="variable" if varies else "grid" if backoff.duration > 0 else "no_wait",
        sliding=bool(config.get("sliding")),
        immediate=immediate,
        first_is_sure=immediate,
        seed=0,
        now=0,
    )
    last: Answer = "failed" if config["end"] == "err" else "done"
    find: Find = lambda at: (int(inputs[at]), last if at + 1 == len(inputs) else "again")  # noqa: E731
    seen = drive(case, made, machine, config, find)
    deviations = wrapped(case, "timer_durations", seen, backoff.cap)
    if deviations is not None:
        return deviations
    ended = {"nil": "done", "condition failed": "failed", "context canceled": "cancelled"}[expected["error"]]
    at = whole(expected, "returned_at")
    same(0, "the loop", Seen(expected["starts"] or [], expected["timer_durations"] or [], ended, at), seen)
    return 0


def k8s_exponential_backoff(case: Case) -> Verdict:
    config, expected, inputs = case["config"], case["expected"][0], case["inputs"]
    backoff = refusal(lambda: wait_backoff(config))
    if isinstance(backoff, ConfigError):
        return OUT_OF_DOMAIN
    made = LoopBackoff(backoff)
    answers: dict[str, Answer] = {"done": "done", "error": "failed", "done+error": "failed", "retry": "again"}
    find: Find = lambda at: (0, answers[inputs[at]] if at < len(inputs) else "again")  # noqa: E731
    seen = drive(case, made, Periodic(made, by_steps=True, seed=0, now=0), config, find)
    deviations = wrapped(case, "sleeps", seen, backoff.cap)
    if deviations is not None:
        return deviations
    same(0, "calls", whole(expected, "calls"), len(seen.starts))
    same(0, "sleeps", expected["sleeps"] or [], seen.intervals)
    same(0, "time", whole(expected, "now"), seen.at)
    # The words are the host's: client-go's says its last error where there is one.
    remembers = config.get("op") == "retry.OnError" and seen.starts
    steps = ("transient", False) if remembers else ("timed out waiting for the condition", True)
    words = {
        "done": ("nil", False),
        "failed": ("condition failed", False),
        "steps": steps,
        "deadline": ("context deadline exceeded", True),
        "cancelled": ("context canceled", True),
    }
    same(0, "error", (expected["error"], expected["interrupted"]), words[seen.ended])
    return 0
