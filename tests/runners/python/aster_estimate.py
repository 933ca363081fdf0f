"""Aster's linter of retries, `checkRetrySemantics`, on a policy's sum and lints: how long all waits take, and whether
that is too long. Only the words are here."""

from __future__ import annotations

from typing import Final

from holdoff import ConfigError, Policy
from recorded import Case, Different, Verdict, refusal, same, steps, whole

_BASE: Final = 1000
"""The base delay of every clause, in milliseconds."""
_COMMA: Final = "\N{FULLWIDTH COMMA}"


def aster_estimate(case: Case) -> Verdict:
    config, deviations = case["config"], 0
    for at, (of, expected) in steps(case):
        if config.get("op") == "describeDuration":
            same(at, "words", expected, words(None if of == "Infinity" else of))
        else:
            deviations += not linted(at, config, of, expected)
    return deviations


def policy_of(config: Case, attempts: int, unit: str) -> Policy | ConfigError:
    """The policy of a `retry` clause, with milliseconds in this unit: no jitter, since the sum is one without."""
    backoff: Case = {"kind": config["backoff"], "initial": f"{whole(config, 'base_ms', _BASE)}{unit}", "max": "none"}
    if config["backoff"] != "linear":
        backoff |= {"kind": "exponential", "factor": 2}
    document: Case = {"backoff": backoff, "jitter": "none", "attempts": attempts}
    if whole(config, "timeout_ms") > 0:
        document["deadline"] = f"{whole(config, 'timeout_ms')}{unit}"
    return refusal(lambda: Policy.from_dict(document))


def linted(at: int, config: Case, attempts: int, expected: Case) -> bool:
    """One number of attempts; whether the original's result is an example."""
    policy = policy_of(config, attempts, "ms")
    # A sum in milliseconds may be longer than any span: there they run as ticks.
    ticks = policy_of(config, attempts, "ns")
    if isinstance(policy, ConfigError) or isinstance(ticks, ConfigError):
        if attempts < 1 and isinstance(policy, ConfigError) and policy.name == "attempts_range":
            return False
        raise Different(f"input {at}: the policy is refused: {policy}")
    total, found = ticks.total_wait_ns, {lint.name for lint in policy.lints()}
    # Aster does not sum up more than 30 exponential waits and says infinity; the sum is finite and ours is it.
    is_example: bool = expected["estimate_ms"] != "Infinity"
    shown = total if is_example else None
    clause, timeout = f"retry(backoff={config['backoff']}, maxAttempts={attempts})", whole(config, "timeout_ms")
    warning = None
    if "wait_above_deadline" in found:
        warning = f"{clause} 预估累计等待 {words(shown)}{_COMMA}超过 timeout={words(timeout)}"
    elif "many_attempts" in found:
        warning = f"{clause} 预计累计等待 {words(shown)}{_COMMA}建议最多 10 次"
    elif "long_wait" in found:
        limit = "300秒" if config["backoff"] == "linear" else "15分钟"
        warning = f"{clause} 预计累计等待 {words(shown)}{_COMMA}超过推荐窗口 {limit}"
    if not is_example and timeout > 0 and "wait_above_deadline" not in found:
        # Infinity is above every timeout, and the sum is not above this one.
        return False
    same(at, "estimate", expected, {"estimate_ms": total if is_example else "Infinity", "warning": warning})
    return is_example


def words(ms: int | None) -> str:
    """A duration in Aster's words: the nearest of the unit that suits it."""
    if ms is None:
        return "不可估算"
    for below, unit, word in (
        (1_000, 1, "ms"),
        (600_000, 1_000, "秒"),
        (3_600_000, 60_000, "分钟"),
        (86_400_000, 3_600_000, "小时"),
    ):
        if ms < below:
            return f"{(ms + unit // 2) // unit}{word}"
    return f"{(ms + 43_200_000) // 86_400_000}天"
