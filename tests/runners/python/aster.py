"""Aster's retry of workflow tasks: its formula, its registry around one task, its event log, its delay queue.

The machines say when to try, how long to wait and when to stop. What Aster adds as a host is here: it appends events,
words its exceptions, and takes delays from a log when it replays one. Its milliseconds run as ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from holdoff import ConfigError, Failure, Policy
from holdoff.log import Event, Recorder
from holdoff.machines import Call, Schedule, Step, Wheel
from holdoff.testing import jittered
from holdoff.types import Word
from recorded import LONGEST, OUT_OF_DOMAIN, Case, Different, Verdict, nanos, refusal, same, steps, whole

_UNIFORM: Final = 1 << 50
"""The largest bound of which a uniform says each number."""
_WORD: Final = 2**64


def aster(case: Case) -> Verdict:
    op = case["config"]["op"]
    if op not in _OPS:
        raise Different(f"an unknown operation: {op!r}")
    return _OPS[op](case)


def policy_of(config: Case, attempts: object) -> Policy | ConfigError:
    """A `RetryPolicy` as a policy: any strategy but exponential is linear, and what is added stays below half the base,
    however long the delay is."""
    base = whole(config, "base_delay_ms")
    backoff: Case = {"kind": "linear", "initial": nanos(base), "max": "none"}
    if str(config["strategy"]).lower() == "exponential":
        # Aster multiplies in doubles from the first delay on.
        initial = nanos(min(int(float(base)), LONGEST))
        backoff = {"kind": "exponential", "initial": initial, "factor": 2, "max": "none"}
    bound = below(base)
    jitter: object = {"kind": "bounded", "bound": nanos(bound)} if bound else "none"
    document: Case = {"backoff": backoff, "jitter": jitter, "cap": "before_jitter", "attempts": attempts}
    if config.get("replay"):
        # A delay from the log is obeyed to the letter, whatever the policy says.
        document |= {"jitter": "none", "hint": {"mode": "exact", "max": "none"}}
    if config.get("timeout_ms") is not None:
        document["attempt_timeout"] = nanos(whole(config, "timeout_ms"))
    return refusal(lambda: Policy.from_dict(document))


def below(base: int) -> int:
    """What the jitter stays below."""
    return max(base, 0) // 2


def uniform(raw: int | None, bound: int) -> float:
    """The uniform that the recorded number is: the middle of its place among as many as there are."""
    return (raw % bound + 0.5) / bound if bound and raw is not None else 0.0


def refused(config: Case, error: ConfigError) -> Verdict:
    """A configuration outside the domain is refused by the name of what is wrong with it."""
    if error.name != ("not_a_duration" if whole(config, "base_delay_ms") < 0 else "attempts_range"):
        raise Different(f"a configuration outside the domain gives {error}")
    return OUT_OF_DOMAIN


def formula(case: Case) -> Verdict:
    """`calculateBackoff`: the delay after any attempt. One above 2^63-1 stays there."""
    config = case["config"]
    bound = below(whole(config, "base_delay_ms"))
    policy = policy_of(config, "forever")
    if isinstance(policy, ConfigError):
        return refused(config, policy)
    deviations = 0
    for at, (of, expected) in steps(case):
        # An attempt below the first reads as the first.
        delay = Schedule.base_at(policy, max(whole(of, "attempt"), 1) - 1)
        if bound > _UNIFORM:
            got = jittered(policy, delay, drawn=whole(of, "raw"))
        else:
            got = jittered(policy, delay, uniform(of.get("raw"), bound))
        if expected != got:
            if got != LONGEST:
                raise Different(f"input {at}: expected {expected}, got {got}")
            deviations += 1
    return deviations


def about_to_draw(draw: int) -> int:
    """The seed whose next draw is this one (docs/spec.md, rule 2.2, backwards)."""
    added, inverse = 0x14057B7EF767814F, 0xC097EF87329E28A5
    mixed = draw << 27
    x = mixed ^ (mixed >> 18) ^ (mixed >> 36)
    return ((x - added) * inverse - added) % _WORD


def told(event: Case) -> tuple[str, Event] | None:
    """An event of Aster's as one of ours, and whose it is; nothing for one that says nothing of a retry. What Aster's
    registry does not write down (place, time, cause) does not matter to what is read back."""
    if event.get("type") != "RETRY_SCHEDULED" or event.get("taskId") is None:
        return None
    fields = {
        "version": 1,
        "sequence": 1,
        "type": event["type"],
        "at": "0",
        "attemptNumber": whole(event, "attempt_number", 1),
        "backoffDelayMs": max(whole(event, "backoff_delay_ms"), 0),
        "cause": "backoff",
        "payload": {"taskId": event["taskId"]},
    }
    return str(event["taskId"]), Event.from_dict(fields)


def counters(before: dict[str, int], log: list[Case]) -> dict[str, int]:
    """How many tries of each task a log says to have been made: those before the latest that was scheduled, at least
    one."""
    counted = dict(before)
    for task, event in filter(None, map(told, log)):
        counted[task] = max(counted.get(task, 1), event.attempt - 1)
    return counted


def restored(case: Case) -> Verdict:
    """`restoreRetryState`."""
    config, log = case["config"], case["inputs"]
    is_out = any(whole(event, "attempt_number", 1) < 1 for event in log)
    try:
        got = counters(config.get("counters_before") or {}, log)
    except ValueError:
        if is_out:
            return OUT_OF_DOMAIN
        raise
    same(0, "whether an attempt below the first is refused", False, is_out)
    same(0, "counters", case["expected"], [got])
    return 0


class Registry:
    """The registry around one task: `run` and `run_with_timeout`, with a virtual clock."""

    def __init__(self, case: Case, policy: Policy) -> None:
        self.config: Case = case["config"]
        self.inputs: list[Any] = case["inputs"]
        self.policy = policy
        self.now = self.calls = 0
        self.events: list[Case] = []
        # The class and the message of what was thrown last; no class for a timeout.
        self.last: tuple[str | None, str | None] = (None, None)

    def reason(self) -> str:
        thrown, message = self.last
        if thrown is None:
            return "任务超时: t"
        return thrown if message is None else message

    def seed(self) -> int:
        """The seed whose next draw is the one recorded for the next event."""
        raw = self.config["raws"][len(self.events)]
        return about_to_draw(int(uniform(raw, below(whole(self.config, "base_delay_ms"))) * 2**32))

    def resumed(self, call: Call) -> Call:
        """The call after its sleep, its next draw the recorded one, with a clock that starts anew: the sum of all
        delays may be longer than time."""
        saved = call.to_dict(self.policy, self.now)
        self.now = 0
        return Call.resume(saved | {"seed": str(self.seed())}, self.policy, self.now)

    def begun(self) -> tuple[Call, Step]:
        """The call as it begins: that of a log has failed before, and makes no more tries than the policy allows."""
        call, step = Call.begin(self.policy, self.seed(), self.now)
        if not self.config.get("restore"):
            return call, step
        last = min(counters({}, self.config["log"]).get("t", 1), whole(self.config, "max_attempts"))
        while call.attempt < last:
            assert step.ticket is not None
            until = call.fail(self.policy, step.ticket, self.now, Failure("transient")).until
            assert until is not None
            self.now = until
            call = self.resumed(call)
            step = call.tick(self.policy, self.now)
        return call, step

    def call(self, abort_at: int | None) -> bool:
        """Calls the task once; whether it succeeds. "null:" is an exception without a message, "error:" a
        `java.lang.Error`, which is wrapped."""
        self.calls += 1
        if self.config["op"] == "run":
            text = self.inputs[self.calls - 1]
            kind, _, rest = text.partition(":")
            if kind == "error":
                self.last = "Exception", f"java.lang.StackOverflowError: {rest}"
            else:
                self.last = "RuntimeException", None if kind == "null" else text
            return bool(text == "ok")
        if self.calls > self.inputs[0]["slow_calls"]:
            return True
        assert abort_at is not None
        self.now, self.last = abort_at, (None, None)
        return False

    def failure(self, attempt: int) -> Failure | None:
        """What the machine is told. A delay from the log is a hint; nothing if the log should say one and does not, or
        if nobody is there to be told of a retry."""
        config = self.config
        kind: Word = "timeout" if self.last[0] is None else "transient"
        if attempt >= whole(config, "max_attempts"):
            return Failure(kind)
        if config["op"] == "run" and config.get("workflow_id") is None:
            return None
        if not config.get("replay"):
            return Failure(kind)
        for event in config["log"] if config.get("event_store") is not False else ():
            about = event["type"] == "RETRY_SCHEDULED" and event["taskId"] == "t"
            if about and event["attempt_number"] == attempt + 1 and event["backoff_delay_ms"] is not None:
                return Failure(kind, hint_ns=max(event["backoff_delay_ms"], 0))
        return None

    def append(self, attempt: int, delay: int) -> None:
        reason = self.reason()
        self.events.append(
            {
                "seq": len(self.config.get("log") or ()) + len(self.events) + 1,
                "type": "RETRY_SCHEDULED",
                "payload": {"reason": reason, "taskId": "t"},
                "attempt_number": attempt + 1,
                "backoff_delay_ms": delay,
                "failure_reason": reason,
            }
        )

    def run(self) -> Case:
        call, step = self.begun()
        while True:
            ticket = step.ticket
            if ticket is not None:
                if self.call(step.abort_at):
                    step = call.succeed(ticket, self.now)
                    continue
                failure = self.failure(call.attempt)
                # The registry throws where nobody hears it: the machine is not told, and waits for the attempt.
                if failure is None:
                    return self.report(call, call.tick(self.policy, self.now))
                step = call.fail(self.policy, ticket, self.now, failure)
            elif step.until is not None:
                self.append(call.attempt, step.until - self.now)
                self.now = step.until
                call = self.resumed(call)
                step = call.tick(self.policy, self.now)
            else:
                return self.report(call, step)

    def report(self, call: Call, step: Step) -> Case:
        """What a recording says about the end of the run."""
        outcome, status = {
            "succeeded": ("ok", "COMPLETED"),
            "gave_up": ("throws", "FAILED"),
            None: ("hangs", "RUNNING"),
        }[step.outcome]
        config, (thrown, message) = self.config, self.last
        events = self.events if config.get("event_store") is not False else []
        report: Case = {"outcome": outcome, "calls": self.calls, "status": status, "events": events}
        if config["op"] == "run":
            report["attempt_counter_after"] = call.attempt if outcome == "hangs" else None
        if outcome != "throws":
            return report
        if thrown is not None:
            most, text = config["max_attempts"], "null" if message is None else message
            same(0, "why it gave up", "attempts", step.reason)
            return report | {
                "class": "MaxRetriesExceededException",
                "message": f"Max retries ({most}) exceeded: {text}",
                "max_attempts": most,
                "failure_reason": message,
                "cause_class": thrown,
                "cause_message": message,
            }
        return report | {
            "class": "RuntimeException",
            "message": "Async task execution failed",
            "cause_class": "TimeoutException",
            "cause_message": self.reason(),
        }


def flow(case: Case) -> Verdict:
    config = case["config"]
    policy = policy_of(config, config["max_attempts"])
    if isinstance(policy, ConfigError):
        return refused(config, policy)
    got = Registry(case, policy).run()
    (expected,) = case["expected"]
    deviations = 0
    for recorded, event in zip(expected["events"], got["events"], strict=False):
        # A delay that wrapped there is the longest here.
        if event["backoff_delay_ms"] == LONGEST != recorded["backoff_delay_ms"]:
            event["backoff_delay_ms"] = recorded["backoff_delay_ms"]
            deviations += 1
    same(0, "run", expected, got)
    return deviations


def schedule(case: Case) -> Verdict:
    """`scheduleRetry`: when a timer is due that is set now. One beyond 2^63-1 stays there and does not fire at once."""
    deviations = 0
    for at, (of, expected) in steps(case):
        now, delay = whole(of, "now"), max(whole(of, "delay_ms"), 0)
        if now < 0:
            return OUT_OF_DOMAIN
        wheel = Wheel()
        wheel.insert(now + delay)
        due = wheel.next_wake
        same(at, "due", now + delay, due)
        same(at, "whether it fires at once", delay == 0, wheel.pop(now) is not None)
        if expected != due:
            # It wrapped there, and fires at the next tick.
            same(at, "wrapped", expected, now + delay - _WORD)
            deviations += 1
    return deviations


def poll(case: Case) -> Verdict:
    """`poll`: at most one timer a tick. Of those that are due at one time, ours fire in the order in which they came,
    and theirs in that of a heap."""
    wheel, tasks, due_at = Wheel(), dict[int, str](), dict[str, int]()
    for entry in case["config"]["queue"]:
        task, at = entry["taskId"], whole(entry, "trigger_at")
        if at < 0:
            return OUT_OF_DOMAIN
        tasks[wheel.insert(at)] = task
        due_at[task] = at
    deviations, theirs, ours = 0, list[str](), list[str]()
    for at, (now, expected) in steps(case):
        fired = wheel.pop(now)
        got = [] if fired is None else [tasks[fired[0]]]
        if expected != got:
            same(at, "due", [due_at[task] for task in expected], [due_at[task] for task in got])
            deviations += 1
        theirs += expected
        ours += got
    same(0, "all that fired", sorted(theirs), sorted(ours))
    return deviations


def drawn(case: Case) -> Verdict:
    """`nextInt`, `nextDouble`: Aster's log keeps what was drawn, and ours the seed. What takes the place of a recorded
    draw: from the seed that the event of a start brings back come the same delays."""
    policy = Policy()
    for at, (raw, _) in steps(case):
        seed = raw % _WORD
        _, _, (started,) = Recorder.begin(policy, seed, 0)
        kept = Event.from_json(started.to_json()).seed
        assert kept is not None
        same(at, "delays", list(Schedule(policy, seed)), list(Schedule(policy, kept)))
    return OUT_OF_DOMAIN


_OPS: dict[str, Callable[[Case], Verdict]] = {
    "calculateBackoff": formula,
    "run": flow,
    "run_with_timeout": flow,
    "restoreRetryState": restored,
    "scheduleRetry": schedule,
    "poll": poll,
    "nextInt": drawn,
    "nextDouble": drawn,
}
