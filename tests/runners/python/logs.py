"""What a recorded call writes down, what a log makes, and which timer of many is due."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from holdoff import Guards, Policy
from holdoff.log import Event, EventError, Recorder, ReplayError, replay
from holdoff.machines import Step, Wheel
from recorded import Case, Different
from words import failure, number, plain, same, step, written


def guards_of(policy: Policy, seed: int, now: int) -> Guards:
    """New guards of the policy's sections, as a process makes them."""
    return Guards.restore(policy, {}, seed=seed, now=now)


class Session:
    """A recorded call, its guards and its log in both forms."""

    def __init__(self, case: Case) -> None:
        self.policy, self.seed = Policy.from_dict(case["policy"]), number(case["seed"])
        self.task: str | None = case.get("task")
        now = number(case["inputs"][0]["now"])
        self.guards = guards_of(self.policy, self.seed, now)
        self.call, self.step, events = Recorder.begin(self.policy, self.seed, now, guards=self.guards)
        self.events: list[Case] = []
        self.bytes = b""
        self.write(events, None)

    def write(self, events: tuple[Event, ...], text: str | None) -> None:
        for event in events:
            fields = event.to_dict(self.task, text)
            same(fields, json.loads(event.to_json(self.task, text)))
            same(event.to_dict(), Event.from_dict(fields).to_dict())
            self.events.append(fields)
            self.bytes += event.to_bytes(text if event.kind == "ATTEMPT_FAILED" else None)

    def put(self, given: Case) -> Step:
        step, events = self.said(given["op"], given, number(given["now"]))
        self.write(events, given.get("text"))
        return step

    def said(self, op: str, given: Case, now: int) -> tuple[Step, tuple[Event, ...]]:
        policy, call, guards = self.policy, self.call, self.guards
        if op == "succeed":
            return call.succeed(number(given["ticket"]), now, guards=guards)
        if op == "fail":
            return call.fail(policy, number(given["ticket"]), now, failure(given["failure"]), guards=guards)
        if op == "abandon":
            return call.abandon(number(given["ticket"]), now, guards=guards)
        if op == "tick":
            return call.tick(policy, now, guards=guards)
        if op == "cancel":
            return call.cancel(now, guards=guards)
        if op == "resume":
            self.read_back(now)
            self.guards = guards_of(policy, self.seed, now)
            return self.call.resume(policy, now, reruns=given["reruns"], guards=self.guards)
        raise Different(f"unknown input {op!r}")

    def read_back(self, now: int) -> None:
        """The call that another process makes of the log, which shares nothing with this one."""
        again = replay(self.policy, self.bytes, mode="verify")
        same(self.call.call.save(self.policy, now).hex(), again.call.save(self.policy, now).hex())
        if not self.call.is_guarded and again != self.call:
            raise Different(f"{again} was made of the log of {self.call}")
        self.call = again


def run_log(case: Case) -> None:
    session, inputs, steps = Session(case), case["inputs"], case["steps"]
    same(plain(steps[0]), step(session.step), 0)
    for at, (given, expected) in enumerate(zip(inputs[1:], steps[1:], strict=True), 1):
        same(plain(expected), step(session.put(given)), at)
    for at, (expected, got) in enumerate(zip(case["events"], session.events, strict=True)):
        # In the order of its fields, too.
        same(json.dumps(expected), json.dumps(got), at)
    same(case["bytes"], session.bytes.hex())
    read = Event.read_all(session.bytes)
    same([event.to_dict() for event, _ in read], [Event.from_dict(fields).to_dict() for fields in session.events])
    for (event, text), fields in zip(read, session.events, strict=True):
        same(fields.get("failureReason", "") if event.kind == "ATTEMPT_FAILED" else "", text)
    at = number(case["saved_at"])
    session.read_back(at)
    same(case["saved"], session.call.call.save(session.policy, at).hex())


def read(events: list[Case]) -> Iterator[Event]:
    """The events of their fields; one that cannot be read is the next of its log unless it says otherwise."""
    for expected, fields in enumerate(events, 1):
        try:
            yield Event.from_dict(fields)
        except EventError as error:
            error.sequence = error.sequence or expected
            raise


def state(of: Recorder, policy: Policy, at: Any) -> Case:
    return {
        "step": step(of.step),
        "sequence": of.sequence,
        "attempt": of.attempt,
        "reruns": of.reruns,
        "saved_at": at,
        "saved": of.call.save(policy, number(at)).hex(),
    }


def run_replay(case: Case) -> None:
    policy = Policy.from_dict(case["policy"])
    log = read(case["events"]) if "events" in case else bytes.fromhex(case["bytes"])
    try:
        call = replay(policy, log, mode=case["mode"], any_policy=case.get("any_policy", False))
    except (EventError, ReplayError) as e:
        error: Case = {"code": e.code, "name": e.name, "sequence": e.sequence}
        if isinstance(e, ReplayError) and e.computed is not None:
            error["computed"] = e.computed.to_dict()
        return same(case.get("error"), error)
    same(case.get("error"), None)
    if "state" in case:
        same(plain(case["state"]), plain(state(call, policy, case["state"]["saved_at"])))
    if "resume" in case:
        go_on(call, policy, case["resume"])
    return None


def go_on(call: Recorder, policy: Policy, expected: Case) -> None:
    now = number(expected["now"])
    said, events = call.resume(policy, now, reruns=expected["reruns"], guards=guards_of(policy, 0, now))
    same(plain(expected["step"]), step(said))
    same(expected["events"], [event.to_dict() for event in events])
    if "state" in expected:
        same(plain(expected["state"]), plain(state(call, policy, expected["state"]["saved_at"])))


class Timers:
    """A wheel whose timers are numbered as they come."""

    def __init__(self) -> None:
        self.wheel = Wheel()
        self.keys: list[int] = []
        self.numbers: list[int] = []
        """The number of the timer at each index: what belongs to timers needs no more than a list."""

    def put(self, op: Case) -> Case:
        wheel = self.wheel
        if op["op"] == "insert":
            key = wheel.insert(number(op["at"]))
            if key in self.keys:
                raise Different(f"timer {len(self.keys)} has a key that there was before")
            index = Wheel.index(key)
            if index > len(self.numbers):
                raise Different(f"index {index} comes after {len(self.numbers)} others")
            self.numbers[index : index + 1] = [len(self.keys)]
            self.keys.append(key)
            return {}
        if op["op"] == "cancel":
            timer: int = op["timer"]
            return {"cancelled": wheel.cancel(self.keys[timer])}
        if op["op"] == "pop":
            due = wheel.pop(number(op["now"]))
            return {"fired": due and {"timer": self.numbers[Wheel.index(due[0])], "at": written(due[1])}}
        if op["op"] == "look":
            wake = wheel.next_wake
            return {"next_wake": None if wake is None else written(wake), "len": len(wheel)}
        if op["op"] == "clear":
            wheel.clear()
            return {}
        raise Different(f"unknown op {op['op']!r}")


def run_wheel(case: Case) -> None:
    timers = Timers()
    for at, (op, expected) in enumerate(zip(case["ops"], case["answers"], strict=True)):
        same(plain(expected), timers.put(op), at)


KINDS: Final[dict[str, Callable[[Case], None]]] = {"log": run_log, "replay": run_replay, "wheel": run_wheel}
