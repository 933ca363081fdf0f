"""langgraphgo's breaker and limiter as configurations of ours.

The breaker has two quirks that ours has not: its limit of half-open calls counts all of them but the first, and not
those at once, and passing it opens it again with an old time. From such a call on the two go apart until they meet
again. What was recorded in between has to be what the original's own rules give, which are here for that alone: a wrong
recording is no deviation.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, cast

from holdoff import Breaker, ConfigError, Limiter
from holdoff.machines import NEVER
from recorded import ELSEWHERE, LONGEST, OUT_OF_DOMAIN, Case, Different, Verdict, refusal, same, steps, whole

_MOST: Final = 2**32 - 1


def extras(case: Case) -> Verdict:
    op = case["config"]["op"]
    if op == "CircuitBreaker":
        return breaker(case)
    if op == "RateLimiter":
        return limiter(case)
    if op == "ExponentialBackoffRetry":
        return ELSEWHERE
    raise Different(f"an unknown operation: {op!r}")


def threshold(config: Case, name: str) -> int:
    """A threshold below 1 is one of 1."""
    return min(max(whole(config, name), 1), _MOST)


def breaker_of(config: Case) -> Breaker:
    timeout = whole(config, "timeout")
    if timeout < 0:
        refused = refusal(lambda: Breaker(open_for=f"{timeout}ns"))
        if not (isinstance(refused, ConfigError) and refused.name == "not_a_duration"):
            raise Different(f"a negative time gives {refused}")
    return Breaker(
        kind="consecutive",
        failures=threshold(config, "failure_threshold"),
        # It is open for the timeout, that instant included.
        open_for=f"{max(min(timeout + 1, LONGEST), 0)}ns",
        # Without room for more calls the first one is the only one.
        probes=threshold(config, "half_open_max_calls"),
        successes=threshold(config, "success_threshold"),
        reopen="streak",
        seed=0,
        now=0,
    )


def breaker(case: Case) -> Verdict:
    config, ours, original = case["config"], breaker_of(case["config"]), Original(case["config"])
    node, timeout = config.get("node", "N"), whole(config, "timeout")
    apart, deviations = False, 0
    for at, (given, expected) in steps(case):
        start, took, result = given["at"], given.get("took", 0), given["result"]
        now = start
        error: str | None = f"circuit breaker open for {node}"
        permit = ours.acquire(start)
        if permit is not None:
            now = start + took
            ours.record(permit, result != "ok", took, now)
            error = None if result == "ok" else f"circuit breaker error in {node}: {result}"
        failures, state = ours.rates(now)[0], ours.state(now)
        got = {"error": error, "ran": permit is not None, "state": state, "failures": failures}
        theirs = original.call(node, start, took, result)
        if any(expected[name] != got[name] for name in got):
            # Without a time to be open it reads as half-open from the first instant on.
            at_once = timeout < 0 and state == "half_open" and expected["state"] == "open"
            if not (apart or original.passed_its_limit or at_once) or expected != theirs:
                raise Different(f"input {at}: expected {expected!r}, got {got!r}")
            deviations += 1
        apart = (apart or original.passed_its_limit) and not original.is_as(state, failures, ours.retry_at)
    return deviations


class Original:
    """The original's breaker, to tell what it makes of calls after its limit from a wrong recording."""

    def __init__(self, config: Case) -> None:
        self.failure_threshold = whole(config, "failure_threshold")
        self.success_threshold = whole(config, "success_threshold")
        self.timeout = whole(config, "timeout")
        self.most = whole(config, "half_open_max_calls")
        self.state = "closed"
        self.failures = self.successes = self.calls = self.last_failure = 0
        self.passed_its_limit = False
        """The latest call found the limit of half-open calls."""

    def call(self, node: str, start: int, took: int, result: str) -> Case:
        """What is recorded of a call."""
        refused = self.refuses(start)
        error: str | None = None
        if refused is not None:
            error = f"circuit breaker {refused} for {node}"
        elif result == "ok":
            self.successes, self.failures = self.successes + 1, 0
            if self.state == "half_open" and self.successes >= self.success_threshold:
                self.state = "closed"
        else:
            self.failures, self.successes = self.failures + 1, 0
            self.last_failure = start + took
            if self.failures >= self.failure_threshold:
                self.state = "open"
            error = f"circuit breaker error in {node}: {result}"
        return {
            "error": error,
            "ran": refused is None,
            "state": self.state,
            "failures": self.failures,
            "successes": self.successes,
            "half_open_calls": self.calls,
        }

    def refuses(self, start: int) -> str | None:
        self.passed_its_limit = False
        if self.state == "open":
            if start - self.last_failure <= self.timeout:
                return "open"
            self.state, self.calls = "half_open", 0
        elif self.state == "half_open":
            if self.calls >= self.most:
                self.state, self.passed_its_limit = "open", True
                return "half-open limit reached"
            self.calls += 1
        return None

    def is_as(self, state: str, failures: int, retry_at: int) -> bool:
        """Whether it and ours have met again: what both do from here on is the same."""
        until = max(self.last_failure + self.timeout + 1, 0)
        in_state = state == "closed" or (state == "open" and retry_at == until)
        return in_state and state == self.state and failures == self.failures


def limiter(case: Case) -> Verdict:
    """A sliding log."""
    config = case["config"]
    most, node = whole(config, "max_calls"), config.get("node", "N")
    # A window below zero is as good as none.
    per = f"{max(whole(config, 'window'), 0)}ns"
    ours = refusal(lambda: Limiter(kind="log", limit=max(most, 0), per=per, now=0))
    if isinstance(ours, ConfigError):
        if most < 1 and ours.name == "count_range":
            # There it panics.
            return OUT_OF_DOMAIN
        raise Different(f"the limiter is refused: {ours}")
    for at, (given, expected) in steps(case):
        now: int = cast(Case, given)["at"] if isinstance(given, dict) else given
        again = ours.refuses(1, now)
        error: str | None = None
        if again is not None:
            after = duration((NEVER if again == NEVER else again) - now)
            error = f"rate limit exceeded for {node}, retry after {after}"
        same(
            at, "call", {"error": expected["error"], "ran": expected["ran"]}, {"error": error, "ran": ours.take(1, now)}
        )
    return 0


def duration(nanos: int) -> str:
    """A duration as Go writes it."""

    def part(value: int, unit: int, name: str) -> str:
        text = f"{(Decimal(value) / unit).quantize(Decimal('1.000000000')):f}"
        return text.rstrip("0").rstrip(".") + name

    if nanos == 0:
        return "0s"
    for unit, name in ((1, "ns"), (1_000, "µs"), (1_000_000, "ms")):
        if nanos < unit * 1_000:
            return part(nanos, unit, name)
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours = f"{minutes // 60}h" if minutes >= 60 else ""
    return (f"{hours}{minutes % 60}m" if minutes else "") + part(rest, 1_000_000_000, "s")
