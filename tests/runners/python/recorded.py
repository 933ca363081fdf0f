"""Files recorded from the reference systems, in their own formats: which machine runs which kind.

A runner reads a case's configuration into a machine, hands it the inputs and compares; it decides nothing itself. It
answers with the number of inputs of which the original's result is no example, or with one of the two words below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from math import inf, isnan
from typing import Any, Final, TypeVar

from holdoff import ConfigError, Failure, Policy
from holdoff.machines import Bucket, Call, Gate, GateConfig, Keyed, LoopBackoff, Schedule, WaitBackoff
from holdoff.testing import uniform
from holdoff.types import Word

Case = dict[str, Any]
ELSEWHERE: Final = "elsewhere"
"""It needs a host of its own, which the Rust runner has."""
OUT_OF_DOMAIN: Final = "out of domain"
"""The configuration is outside the declared domain (docs/internals/compat.md), and what is promised there holds."""
Verdict = int | str
LONGEST = 2**63 - 1
"""The longest span."""
LAST = 2**64 - 2
"""The last time there is."""

_T = TypeVar("_T")


class Different(Exception):
    """A case whose answer is not the expected one."""


class OutOfDomain(Exception):
    """A configuration that its constructor has no type for."""


def same(at: int, what: str, expected: object, got: object) -> None:
    if expected != got:
        raise Different(f"input {at}: {what}: expected {expected!r}, got {got!r}")


def nanos(value: int) -> str:
    return f"{value}ns"


def whole(of: Case, name: str, missing: int = 0) -> int:
    """A whole number, perhaps written as 2.0."""
    value = of.get(name)
    if value is None:
        return missing
    if int(value) != value:
        raise Different(f"{name} is no whole number: {value!r}")
    return int(value)


def real(of: Case, name: str) -> float:
    """A number, or the word for one that JSON cannot write. A field that is not there is zero, as in Go."""
    value = of.get(name)
    return 0.0 if value is None else float(value)


def span(of: Case, name: str) -> str:
    """A Go duration, zero when it is not there."""
    return nanos(whole(of, name))


def steps(case: Case) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Each input with what was recorded for it."""
    return enumerate(zip(case["inputs"], case["expected"], strict=True))


def refusal(make: Callable[[], _T]) -> _T | ConfigError:
    """What is made of a configuration, or what is wrong with it."""
    try:
        return make()
    except ConfigError as error:
        return error


class Wrapped:
    """Counts the inputs whose recorded result is no example. No negative number goes into a case that runs, so one that
    comes out left the range of an integer."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, *recorded: object) -> bool:
        wrapped = any(isinstance(one, int) and one < 0 for one in recorded)
        self.count += wrapped
        return wrapped


def wait_backoff(config: Case) -> WaitBackoff:
    return WaitBackoff.kubernetes(
        span(config, "duration"),
        factor=real(config, "factor"),
        jitter=real(config, "jitter"),
        steps=whole(config, "steps"),
        cap_ns=whole(config, "cap"),
    )


def k8s_backoff(case: Case) -> Verdict:
    config = case["config"]

    def make() -> WaitBackoff:
        if config.get("op") == "Jitter":
            return WaitBackoff.kubernetes_jitter(span(config, "duration"), real(config, "max_factor"))
        return WaitBackoff(0) if config.get("nil") else wait_backoff(config)

    backoff = refusal(make)
    if isinstance(backoff, ConfigError):
        return OUT_OF_DOMAIN
    wrapped, lost = Wrapped(), False
    for at, (u, expected) in steps(case):
        same(at, "whether a uniform is drawn", u is not None, backoff.draws)
        with uniform(u or 0.0):
            delay, recorded = backoff.step(), whole(expected, "delay")
        after = whole(expected, "duration_after") if "duration_after" in expected else None
        if wrapped(recorded, after):
            # The duration went out of range, now or before, or else the sum of it and its jitter.
            if not lost:
                same(at, "delay", recorded if recorded >= 0 else LONGEST, delay)
            if after is not None and after < 0:
                lost = True
                same(at, "saturated duration", LONGEST if backoff.cap is None else backoff.cap, backoff.duration)
        else:
            same(at, "delay", recorded, delay)
        if after is not None and after >= 0:
            same(at, "duration after it", after, backoff.duration)
            same(at, "steps after it", whole(expected, "steps_after"), backoff.steps)
    return wrapped.count


def loop_backoff(config: Case, now: int) -> LoopBackoff | ConfigError:
    """A manager, made at that time."""

    def make() -> LoopBackoff:
        if config["kind"] == "NewJitteredBackoffManager":
            return LoopBackoff.jittered(span(config, "duration"), real(config, "jitter"))
        if config["kind"] == "DelayWithReset":
            return LoopBackoff.with_reset(wait_backoff(config), span(config, "reset"), now=now)
        if config["kind"] != "NewExponentialBackoffManager":
            raise Different(f"unknown manager {config['kind']!r}")
        initial, longest, reset = span(config, "init"), span(config, "max"), span(config, "reset")
        factor, jitter = real(config, "factor"), real(config, "jitter")
        return LoopBackoff.exponential(initial, longest, reset, factor=factor, jitter=jitter, now=now)

    return refusal(make)


def uniforms(config: Case) -> Iterator[float]:
    """The draws that a case scripts."""
    inner: Case = config.get("backoff") or {}
    script: list[float] = config.get("uniforms") or inner.get("uniforms") or []
    return iter(script)


def k8s_manager(case: Case) -> Verdict:
    # A clock that runs backwards needs room before the start.
    clock, config = 1 << 60, case["config"]
    made = loop_backoff(config, clock)
    if isinstance(made, ConfigError):
        return OUT_OF_DOMAIN
    draws, wrapped = uniforms(config), Wrapped()
    for at, (advance, expected) in steps(case):
        clock = min(max(clock + int(advance), 0), LONGEST)
        with uniform(next(draws) if made.draws else 0.0):
            delay = made.next(clock)
        if wrapped(expected) or expected == delay:
            continue
        # The sum of a wrapped duration and its jitter may be positive again.
        if not config.get("impl_defined"):
            same(at, "delay", expected, delay)
        wrapped.count += 1
    return wrapped.count


def drawn(script: float) -> float:
    """The uniform that the original drew. This family scripts the source below Go's generator, whose `Float64` takes 53
    low bits of a number into which the script wrote 43, so that every draw is the 1024th part of what is written."""
    return int(script * 2**31 * 2**12) / 2**53


def k8s_flowcontrol(case: Case) -> Verdict:
    config = case["config"]

    def make() -> GateConfig:
        rule: str | None = config.get("has_expired")
        quiet = None
        if rule is not None:
            # `event-last >= N`, said as more than the nanosecond before.
            quiet = nanos(int(rule.removeprefix("event-last >= ")) - 1)
        jitter = real(config, "max_jitter_factor")
        return GateConfig.flowcontrol(span(config, "initial"), span(config, "max"), max_jitter=jitter, quiet=quiet)

    gates = refusal(make)
    if isinstance(gates, ConfigError):
        return OUT_OF_DOMAIN
    draws, wrapped = iter(config.get("uniforms") or ()), Wrapped()
    # Events may be before the start.
    keyed, clock = Keyed(gates, most=1 << 20), 1 << 62
    lost: set[str] = set()
    # Twice the maximum is the time after which an entry has expired, and a negative one is always over.
    anything = config.get("impl_defined") or (config.get("has_expired") is None and 2 * whole(config, "max") > LONGEST)
    for at, (of, expected) in steps(case):
        clock = min(max(clock + whole(of, "ns"), 0), LONGEST)
        event = min(max(clock + whole(of, "event_offset"), 0), LONGEST)
        op, key = of["op"], of.get("id", "")
        gate = keyed.peek(key, clock) or Gate()
        got: object = None
        if op == "next":
            with uniform(drawn(next(draws)) if gate.draws(gates, event) else 0.0):
                got = keyed.failure(key, clock, event=event)
        elif op == "get":
            got = gate.delay
        elif op == "in_backoff_since_update":
            got = gate.covers(gates, event)
        elif op == "in_backoff_since":
            got = gate.covers_since(gates, event, clock)
        elif op in ("reset", "delete"):
            keyed.forget(key)
            lost.discard(key)
        elif op == "gc":
            keyed.collect(clock)
            got = {key: keyed.peek(key, clock) is not None for key in expected}
        elif op != "advance":
            raise Different(f"unknown op {op!r}")
        # A wrapped delay is doubled again, which may give any number, until the entry is gone.
        if wrapped(expected):
            lost.add(key)
        elif key not in lost and not anything:
            same(at, "answer", expected, got)
        elif expected != got:
            wrapped.count += 1
    return wrapped.count


class Limiter:
    """A rate limiter of the work queue."""

    def __init__(self, config: Case) -> None:
        self.items: Keyed | None = None
        self.bucket: Bucket | None = None
        self.of: list[Limiter] = []
        kind = config["kind"]
        if kind == "ItemExponentialFailure":
            gates = GateConfig.item_exponential(span(config, "base"), span(config, "max"))
            self.items = Keyed(gates, most=1 << 20)
        elif kind == "ItemFastSlow":
            fast, slow = span(config, "fast"), span(config, "slow")
            self.items = Keyed(GateConfig.fast_slow(fast, slow, whole(config, "max_fast_attempts")), most=1 << 20)
        elif kind == "Bucket":
            burst = whole(config, "burst")
            if burst < 0:
                raise OutOfDomain
            self.bucket = Bucket(real(config, "limit_per_s"), burst)
        elif kind == "MaxOf":
            self.of = [Limiter(one) for one in config["of"]]
        else:
            raise Different(f"unknown limiter {kind!r}")

    def when(self, key: str, now: int) -> int:
        if self.items is not None:
            with uniform(0.0):
                return self.items.failure(key, now)
        if self.bucket is not None:
            wait = self.bucket.reserve(now)
            # Go says "never" as its longest duration.
            return LONGEST if wait is None else wait
        # Ask all of them, since each counts.
        return max([one.when(key, now) for one in self.of], default=0)

    def requeues(self, key: str, now: int) -> int:
        if self.items is not None:
            gate = self.items.peek(key, now)
            return 0 if gate is None else gate.failures
        return max((one.requeues(key, now) for one in self.of), default=0)

    def forget(self, key: str) -> None:
        if self.items is not None:
            self.items.forget(key)
        for one in self.of:
            one.forget(key)


def leaves(config: Case, failures: int) -> bool:
    """Whether an exponential limiter inside another leaves the range of an integer after that many failures: its
    product is exactly 2^63, or no number."""

    def is_out(one: Case) -> bool:
        if "base" not in one:
            return False
        product = real(one, "base") * (2.0**failures if failures < 1024 else inf)
        return product == 2.0**63 or isnan(product)

    return any(is_out(one) or leaves(one, failures) for one in config.get("of") or ())


def k8s_workqueue(case: Case) -> Verdict:
    config = case["config"]
    try:
        limiter = Limiter(config)
    except (ConfigError, OutOfDomain):
        return OUT_OF_DOMAIN
    longest, wrapped = whole(config, "max", LONGEST), Wrapped()
    for at, (of, expected) in steps(case):
        op, key, now = of["op"], of.get("id", ""), whole(of, "at")
        got: int | None = None
        if op == "when":
            got = limiter.when(key, now)
        elif op == "requeues":
            got = limiter.requeues(key, now)
        elif op == "forget":
            limiter.forget(key)
        else:
            raise Different(f"unknown op {op!r}")
        if wrapped(expected):
            same(at, "a delay in range", True, got is not None and got <= longest)
        elif expected != got and op == "when" and leaves(config, limiter.requeues(key, now) - 1):
            # The longest of several hides the negative one.
            wrapped.count += 1
        else:
            same(at, "answer", expected, got)
    return wrapped.count


def node_policy(config: Case) -> Policy:
    """A langgraphgo `RetryConfig`. `MaxDelay` holds from the second delay on, so one below `InitialDelay` is a chain:
    the first delay once, and then what it grows to, at most `MaxDelay`."""
    if config.get("config_nil"):
        return Policy("langgraphgo")
    initial, longest = whole(config, "initial_delay"), whole(config, "max_delay")
    factor, tries = real(config, "backoff_factor"), whole(config, "max_attempts")
    # More than a policy counts is for ever.
    attempts = "forever" if tries > 2**32 - 1 else tries

    def made(*stages: Case) -> Policy:
        backoff = stages[0] if len(stages) == 1 else stages
        return Policy.from_dict({"backoff": backoff, "jitter": "none", "attempts": attempts})

    def exponential(initial: int, longest: str) -> Case:
        return {"kind": "exponential", "initial": nanos(initial), "factor": factor, "max": longest}

    if longest >= initial or longest < 0:
        return made(exponential(initial, nanos(longest)))
    second = min(Schedule.base_at(made(exponential(initial, "none")), 1), longest)
    first = {"kind": "constant", "delay": nanos(initial), "times": 1}
    return made(first, exponential(second, nanos(longest)))


class Node:
    """A scripted node and its host, `RetryNode.Execute`, with a virtual clock."""

    def __init__(self, case: Case) -> None:
        self.config: Case = case["config"]
        self.script = iter(case["inputs"])
        self.now = self.calls = 0
        self.delays: list[int] = []
        cancel_at = whole(self.config, "cancel_at", -1)
        self.ends: float = cancel_at if cancel_at >= 0 else inf
        self.deadline = bool(self.config.get("cancel_is_deadline"))

    def call(self) -> str:
        result = next(self.script)
        self.calls += 1
        self.now = min(self.now + whole(result, "took"), LAST)
        return str(result["result"])

    def wait(self, until: int) -> bool:
        """Waits until then or until the context ends; whether that was first."""
        self.delays.append(until - self.now)
        cancelled = self.now >= self.ends or self.ends < until
        if not cancelled:
            self.now = until
        elif self.now < self.ends:
            self.now = int(self.ends)
        return cancelled

    def kind(self, text: str) -> Word:
        said = "all" if self.config.get("config_nil") else self.config.get("retryable")
        retryable = said in (None, "nil", "all") or said == f"equals {text}"
        return "transient" if retryable else "permanent"

    def execute(self, policy: Policy) -> Case:
        """What a recording of the execution says."""
        name, last = self.config.get("node", ""), ""
        call, step = Call.begin(policy, 0, self.now)
        while True:
            ticket = step.ticket
            if ticket is not None:
                if self.now >= self.ends:
                    return self.cancelled(call, "")
                last = self.call()
                if last == "ok":
                    step = call.succeed(ticket, self.now)
                else:
                    step = call.fail(policy, ticket, self.now, Failure(self.kind(last)))
            elif step.until is not None:
                if self.wait(step.until):
                    return self.cancelled(call, " during backoff")
                step = call.tick(policy, self.now)
            elif step.outcome == "succeeded":
                done = {"calls": self.calls, "delays": self.delays, "now": self.now}
                return {**done, "error": None, "value": "s!"}
            elif step.reason == "permanent":
                return self.failed(f"non-retryable error in {name}: {last}", last)
            elif step.reason == "attempts":
                return self.failed(f"max retries ({call.attempt}) exceeded for {name}: {last}", last)
            else:
                raise Different(f"unexpected: {step!r}")

    def cancelled(self, call: Call, during: str) -> Case:
        if call.cancel(self.now).outcome != "cancelled":
            raise Different("a call that is cancelled goes on")
        error = "context deadline exceeded" if self.deadline else "context canceled"
        ended = self.failed(f"retry cancelled{during}: {error}", error)
        return {**ended, "is_canceled": not self.deadline, "is_deadline": self.deadline}

    def saturates(self, recorded: list[int]) -> None:
        """Where the original's product leaves the range of an integer, ours is the longest delay."""
        promised = [delay if delay >= 0 else whole(self.config, "max_delay") for delay in recorded]
        if self.ends != inf:
            # A context ends in the wait that the original skips.
            promised = promised[: len(self.delays)]
        # Waits that go past the end of time are as long as there is time.
        in_time = sum(1 for clock in accumulate(self.delays) if clock < LONGEST) + 1
        same(0, "delays", promised[:in_time], self.delays[:in_time])

    def failed(self, text: str, wraps: str) -> Case:
        return {
            "calls": self.calls,
            "delays": self.delays,
            "error": text,
            "unwraps_to": [wraps],
            "is_canceled": False,
            "is_deadline": False,
            "value_is_zero": True,
            "now": self.now,
        }


def retry_node(case: Case) -> Verdict:
    config = case["config"]
    factor = real(config, "backoff_factor")
    outside = {
        ("attempts", "attempts_range"): whole(config, "max_attempts") < 1,
        ("backoff.initial", "not_a_duration"): whole(config, "initial_delay") < 0,
        ("backoff.max", "not_a_duration"): whole(config, "max_delay") < 0,
        ("backoff.factor", "factor_range"): not 0 <= factor < inf,
    }
    policy = refusal(lambda: node_policy(config))
    if any(outside.values()) and not config.get("config_nil"):
        if isinstance(policy, ConfigError) and outside.get((policy.path, policy.name)):
            return OUT_OF_DOMAIN
        raise Different(f"a configuration outside the domain gives {policy}")
    if isinstance(policy, ConfigError):
        raise Different(f"the policy is refused: {policy}")
    node = Node(case)
    got, expected = node.execute(policy), case["expected"][0]
    if config.get("impl_defined"):
        node.saturates(expected["delays"])
        return OUT_OF_DOMAIN
    same(0, "execution", expected, got)
    return 0


KINDS: dict[str, Callable[[Case], Verdict]] = {
    "k8s_backoff": k8s_backoff,
    "k8s_flowcontrol": k8s_flowcontrol,
    "k8s_manager": k8s_manager,
    "k8s_workqueue": k8s_workqueue,
    "langgraphgo_retrynode": retry_node,
}
