"""The types of the fields of policies and guards. Generated from core/src/fields.rs by `cargo xtask generate`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal, TypeAlias, TypedDict

from ._holdoff import (
    Adaptive,
    Breaker,
    Budget,
    Bulkhead,
    Hedge,
    Limiter,
    Pause,
    Stretch,
)
from ._literals import (
    AdaptiveKind,
    BackoffKind,
    BreakerHint,
    BreakerKind,
    BreakerMode,
    BudgetKind,
    Cap,
    HintMode,
    HintOver,
    JitterKind,
    LimiterKind,
    NestedMode,
    OnDeadline,
    OpenForKind,
    PresetName,
    Refusal,
    Reopen,
)

Duration: TypeAlias = float | str | timedelta
"""A length of time: seconds, text with a unit such as ``"250ms"``, or a timedelta."""


_From = TypedDict("_From", {"from": int | None}, total=False)


class Backoff(_From, total=False):
    """How delays grow from one failure to the next; one stage of a chain."""

    kind: BackoffKind | None
    """How delays grow from one failure to the next. Default: exponential."""
    initial: Duration | None
    """The first delay. Not for list. Default: 100ms."""
    delay: Duration | None
    """Another name of ``initial``."""
    factor: float | None
    """Multiplies the delay after each failure. 0 or more. For exponential, decorrelated. Default: 2; decorrelated: 3.
    """
    increment: Duration | None
    """Is added to the delay after each failure. For linear. Default: the first delay."""
    max: Duration | Literal["none"] | None
    """The longest delay. Not for constant and list. Default: 5s; at least ten times a first delay that is given."""
    exponent: float | None
    """The exponent of the growing delay. 0 or more. For polynomial. Default: 2."""
    times: int | None
    """The number of delays before the next stage takes over. 1 to 268435455. Not for list. Default: the last stage
    stays.
    """
    floor: Duration | None
    """The shortest delay; jitter stays uniform above it. Not for decorrelated and decorrelated_v2. Default: 0s."""
    offset: Duration | None
    """Is added to each delay after the jitter, before the cap. Default: 0s."""
    until: Duration | None
    """The time since the start after which the next stage takes over; that of the last stage ends the operation. Above
    0. Default: a stage ends by its delays only.
    """
    repeat: bool | None
    """Continues with the first stage after the last one. Default: false."""
    delays: Sequence[Duration] | None
    """The delays, at most 64. ``attempts`` defaults to one more. For list."""


class Jitter(TypedDict, total=False):
    """How delays are spread."""

    kind: JitterKind | None
    """How delays are randomised, so that clients do not retry at the same moment. Default: full."""
    factor: float | None
    """The part of the delay that is random. 0 or more. For additive, proportional, subtractive. Needed there."""
    bound: Duration | None
    """The most that is added to a delay. For bounded. Needed there."""
    grows: bool | None
    """Multiplies the bound by the number of the delay, from 1. For bounded. Default: false."""


class Hint(TypedDict, total=False):
    """What is done with a server's hint on when to come back."""

    mode: HintMode | None
    """How a server's Retry-After is used: the delay is never shorter; it replaces the delay and gets the jitter; it is
    ignored; it is the delay exactly; or the longer of both counts. Default: floor.
    """
    max: Duration | Literal["none"] | None
    """The longest Retry-After that is obeyed. Default: 1m."""
    over: HintOver | None
    """What happens at a Retry-After above ``hint.max``: give up, wait for ``hint.max``, or ignore it, and a
    Retry-After of 0 too. Default: stop.
    """
    reach: Duration | Literal["none"] | None
    """How much longer than the policy's own delay Retry-After may make it. Default: none."""


class BudgetFields(TypedDict, total=False):
    """How many retries there may be for the calls there are."""

    kind: BudgetKind | None
    """How the budget counts retries. Default: ratio."""
    capacity: int | None
    """The most tokens, and the tokens at first. 0 to 1000000. For token, throttle, default. Default: 500; throttle:
    10, default: 20.
    """
    cost: int | None
    """The tokens that a retry costs. 0 to 1000000. For token. Default: 5."""
    timeout_cost: int | None
    """The tokens that a retry costs after a timeout. 0 to 1000000. For token. Default: the cost."""
    throttled_cost: int | None
    """The tokens that a retry costs after throttling. 0 to 1000000. For token. Default: the cost."""
    reward: float | None
    """The tokens that a success gives, rounded to three decimals; if ``returns`` is ``last``, only a success without a
    retry. 0 or more. For token, throttle. Default: 1; throttle: 0.1.
    """
    refill: float | None
    """The tokens that return each second. 0 or more. For token. Default: 0."""
    ratio: float | None
    """The retries allowed for each call. 0 or more. For ratio, share. Default: 0.1; share: 0.2."""
    window: Duration | None
    """How far back calls count. Above 0. For ratio, requests, window. Default: 10s; requests: 2m."""
    min_per_second: float | None
    """The retries per second that are always allowed. 0 or more. For ratio. Default: 0.1."""
    min_concurrency: int | None
    """The concurrent retries that are always allowed. 0 or more. For share. Default: 3."""
    k: float | None
    """The requests allowed for each one that the server accepts. 0 or more. For requests. Default: 2."""
    limit: int | None
    """The retries in a window. 0 or more. For window. Needed there."""
    hinted_cost: int | None
    """The tokens that a retry costs if it waits for Retry-After. 0 to 1000000. For token. Default: the cost after its
    failure.
    """
    grace: Duration | None
    """For this long after the budget was full, every retry is allowed; it takes the tokens that are left. For token.
    Default: 0s.
    """
    returns: Literal["last", "all"] | None
    """The tokens that a success returns: the last cost of its call, or all of them and then the reward. For token.
    Default: last.
    """


class OpenFor(TypedDict, total=False):
    """How long a breaker stays open, longer with each opening in a row."""

    kind: OpenForKind | None
    """How the open time grows with each opening in a row. Default: constant."""
    initial: Duration | Sequence[Duration] | None
    """How long the breaker stays open; or a list with a time for each opening in a row, whose last one repeats.
    Default: 30s.
    """
    delay: Duration | Sequence[Duration] | None
    """Another name of ``initial``."""
    factor: float | None
    """Multiplies the open time at each opening in a row. 0 or more. For exponential. Default: 2."""
    increment: Duration | None
    """Is added to the open time at each opening in a row. For linear. Default: the open time at first."""
    exponent: float | None
    """The exponent of the growing open time. 0 or more. For polynomial. Default: 2."""
    max: Duration | Literal["none"] | None
    """The longest open time. Not for constant. Default: none."""


class BreakerFields(TypedDict, total=False):
    """When a breaker stops calls to a server that keeps failing."""

    kind: BreakerKind | None
    """What opens the breaker: failures in a row, or a share of the latest calls or of the calls in a window. Default:
    consecutive.
    """
    failures: int | None
    """The failures in a row that open the breaker. 1 or more. For consecutive. Default: 5."""
    size: int | None
    """The number of latest calls that count. 1 to 128. For count. Default: 100."""
    window: Duration | None
    """How far back calls count. Above 0. For time. Default: 30s."""
    slots: int | None
    """The number of parts of the window. 1 to 10. For time. Default: 10."""
    failure_rate: float | None
    """The share of failures that opens the breaker. Above 0, at most 1. For count, time. Default: 0.5."""
    slow_after: Duration | Literal["none"] | None
    """A call that takes this long or longer is slow. For count, time. Default: none."""
    slow_rate: float | None
    """The share of slow calls that opens the breaker; needs ``slow_after``. Above 0, at most 1. For count, time.
    Default: slow calls do not count.
    """
    min_calls: int | None
    """With fewer calls, no share counts. 1 or more. For count, time. Default: 10; at most the size."""
    open_for: Duration | Sequence[Duration] | OpenFor | None
    """How long the breaker stays open; or a list with a time for each opening in a row, whose last one repeats.
    Default: 30s.
    """
    jitter: float | None
    """An open time is lengthened at random by up to this part of itself. 0 or more. Default: 0."""
    probes: int | None
    """The calls that may try a half-open breaker at once. 1 or more. Default: 1."""
    successes: int | None
    """The successes in a row that close a half-open breaker. 1 or more. Default: 1."""
    probe_failures: int | None
    """The failed probes that do not open it again: 3, with 10 probes and 7 successes, if 3 of 10 may fail. 0 or more.
    Default: 0.
    """
    reopen: Reopen | None
    """What opens a half-open breaker again: the first failure, or as many in a row as ``failures``. For consecutive.
    Default: first.
    """
    mode: BreakerMode | None
    """Whether the breaker refuses calls, or only counts what it would refuse. Default: enforce."""
    hint: BreakerHint | None
    """Whether a Retry-After opens the breaker. Default: ignore."""
    refusal: Refusal | None
    """A refused call gives up, or sleeps until the breaker lets it through. Default: stop."""
    ramp: Literal["double", "none"] | None
    """How waiting calls start when the breaker closes: one, two, four and so on as they succeed, at most 32 in 10 ms;
    or all at once. Default: double.
    """


class LimiterFields(TypedDict, total=False):
    """How many attempts there may be in a time."""

    kind: LimiterKind | None
    """How calls are counted. Default: gcra."""
    limit: float | None
    """The calls allowed in each ``per``. 0 or more. Needed."""
    per: Duration | None
    """The period of the limit. Above 0. Default: 1s."""
    burst: int | None
    """The calls that may come at once. 1 or more. Not for window and log. Default: the limit."""
    refusal: Refusal | None
    """A refused call gives up, or sleeps until the limiter lets it through. Default: stop."""


class BulkheadFields(TypedDict, total=False):
    """How many attempts may run at once."""

    limit: int | None
    """The attempts that may run at once. 1 or more. Needed."""
    queue: int | None
    """The calls that may wait for a place. 0 to 65536. Default: 0."""
    max_wait: Duration | Literal["none"] | None
    """The longest wait for a place. Default: none."""


class AdaptiveFields(TypedDict, total=False):
    """A rate of attempts that follows the server's throttling."""

    kind: AdaptiveKind | None
    """How the rate moves. Default: cubic."""
    beta: float | None
    """Multiplies the rate at each throttling. Above 0, at most 1. Default: 0.7; aimd: 0.5."""
    scale: float | None
    """How fast a cubic rate grows, in calls per second for each cubed second. Above 0. For cubic. Default: 0.4."""
    smooth: float | None
    """The weight of the latest half second in the measured rate. Above 0, at most 1. For cubic. Default: 0.8."""
    increase: float | None
    """The calls per second that each success adds to the rate. 0 or more. For aimd. Default: 1."""
    min_rate: float | None
    """The lowest rate, in calls per second. Above 0. Default: 0.5."""
    max_rate: float | None
    """The highest rate, in calls per second. Above 0. For aimd. Default: 1000."""
    initial_rate: float | None
    """The first rate, in calls per second. Above 0. For aimd. Default: 10."""
    refusal: Refusal | None
    """A refused call gives up, or sleeps until there is a token. Default: stop."""


class StretchFields(TypedDict, total=False):
    """Longer delays while many attempts fail."""

    factor: float | None
    """Multiplies delays when every attempt fails; in proportion when fewer fail. 1 or more. Needed."""
    window: Duration | None
    """How far back attempts count. Above 0. Default: 30s."""
    min_calls: int | None
    """With fewer attempts, delays stay as they are. 1 or more. Default: 10."""


class HedgeFields(TypedDict, total=False):
    """A second attempt beside a slow one."""

    delay: Duration | None
    """How long an attempt runs before the next one starts beside it. Needed."""
    percentile: float | None
    """The share of attempts that end before the next one starts; replaces ``delay`` once enough attempts are measured.
    Above 0, at most 1. Default: the delay alone counts.
    """
    attempts: int | None
    """The number of attempts in a round, including the first. 1 to 8. Default: 2."""


class PauseFields(TypedDict, total=False):
    """A pause of all calls for as long as a server asks one of them to stay away."""

    max: Duration | Literal["none"] | None
    """The longest pause after a Retry-After. Default: 1m."""
    refusal: Refusal | None
    """A call during a pause sleeps until its turn, or gives up. Default: wait."""


class NestedFields(TypedDict, total=False):
    """What a retry does inside another one."""

    mode: NestedMode | None
    """What a retry does inside another one. Default: allow."""
    cap: int | None
    """The attempts that nested retries may make together. 1 or more. For cap. Needed there."""


class Stage(Backoff, total=False):
    """One stage of a chain, and what it has instead of the policy's."""

    jitter: Jitter | JitterKind | None
    """How the delays are spread, instead of the policy's ``jitter``."""
    cap: Cap | None
    """The value that ``max`` bounds, instead of the policy's ``cap``."""
    hint: Hint | HintMode | None
    """The use of a server's hint, instead of the policy's ``hint``."""


class Manner(TypedDict, total=False):
    """How long a rule waits, instead of the policy."""

    jitter: Jitter | JitterKind | None
    """How the delays are spread, instead of the policy's ``jitter``."""
    cap: Cap | None
    """The value that ``max`` bounds, instead of the policy's ``cap``."""
    hint: Hint | HintMode | None
    """The use of a server's hint, instead of the policy's ``hint``."""


class PlainFields(TypedDict, total=False):
    """The fields of a policy that are single values."""

    cap: Cap | None
    """How ``backoff.max`` limits a delay: after jitter with its spread kept, before jitter, or by cutting off the
    jittered delay. Default: keep_spread.
    """
    attempts: int | Literal["forever"] | None
    """The number of attempts, including the first. 1 or more. Default: 3; one more than the delays of a backoff that
    ends; forever with a deadline.
    """
    total: int | Literal["forever"] | None
    """The number of attempts in all, including failures that rules count themselves. 1 or more. Default: forever."""
    deadline: Duration | Literal["none"] | None
    """The time limit of the whole operation, sleeps included. Above 0. Default: none."""
    deadline_from: Literal["start", "first_failure"] | None
    """When the deadline begins to count: at the first attempt, or at the first failure. Default: start."""
    limits: Literal["first", "last"] | None
    """Whether the operation ends when the ``first`` of attempts and deadline is used up, or the ``last``. Default:
    first.
    """
    min_attempt: Duration | None
    """An attempt starts only if this much time is left before the deadline. Default: 0s."""
    on_deadline: OnDeadline | None
    """If the next attempt would start too late: give up at once, or sleep less for a last attempt (needs
    ``min_attempt``). Default: stop.
    """
    attempt_timeout: Duration | Literal["none"] | None
    """The time limit of one attempt. Above 0. Default: none."""
    abort_at_deadline: bool | None
    """Aborts the running attempt at the deadline. If false, the deadline only prevents further attempts. Default:
    true.
    """
    delay_from: Literal["failure", "start"] | None
    """When a delay begins to count: at the failure, or at the start of the failed attempt. Default: failure."""
    reset_after: Duration | Literal["none"] | None
    """If an attempt runs this long before it fails, counts, delays and deadline start anew. Above 0. Default: none."""
    preset: PresetName | None
    """The named policy that the other fields change. Default: default."""


BudgetConfig: TypeAlias = BudgetFields | BudgetKind | int | None
"""The budget section of a document. The other guards have the same kind of type."""
BreakerConfig: TypeAlias = BreakerFields | BreakerKind | None
LimiterConfig: TypeAlias = LimiterFields | None
BulkheadConfig: TypeAlias = BulkheadFields | int | None
AdaptiveConfig: TypeAlias = AdaptiveFields | AdaptiveKind | None
StretchConfig: TypeAlias = StretchFields | float | None
HedgeConfig: TypeAlias = HedgeFields | Duration | None
PauseConfig: TypeAlias = PauseFields | Duration | Literal["none"] | None


class GuardOptions(TypedDict, total=False):
    """Guards: each a configuration, or a shared object."""

    budget: Budget | BudgetConfig
    breaker: Breaker | BreakerConfig
    limiter: Limiter | LimiterConfig
    bulkhead: Bulkhead | BulkheadConfig
    adaptive: Adaptive | AdaptiveConfig
    stretch: Stretch | StretchConfig
    hedge: Hedge | HedgeConfig
    pause: Pause | PauseConfig


class GuardSections(TypedDict, total=False):
    """The sections of guards in a policy."""

    budget: BudgetConfig
    """How many retries there may be for the calls there are."""
    breaker: BreakerConfig
    """When a breaker stops calls to a server that keeps failing."""
    limiter: LimiterConfig
    """How many attempts there may be in a time."""
    bulkhead: BulkheadConfig
    """How many attempts may run at once."""
    adaptive: AdaptiveConfig
    """A rate of attempts that follows the server's throttling."""
    stretch: StretchConfig
    """Longer delays while many attempts fail."""
    hedge: HedgeConfig
    """A second attempt beside a slow one."""
    pause: PauseConfig
    """A pause of all calls for as long as a server asks one of them to stay away."""
