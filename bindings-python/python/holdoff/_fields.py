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
    """The number that each failure multiplies the delay by. From 0 on. For exponential, decorrelated. Default: 2;
    decorrelated: 3.
    """
    increment: Duration | None
    """The time that each failure adds to the delay. For linear. Default: the first delay."""
    max: Duration | Literal["none"] | None
    """The longest delay. Not for constant and list. Default: 5s; at least ten times a first delay that is given."""
    exponent: float | None
    """The power that the delay grows with. From 0 on. For polynomial. Default: 2."""
    times: int | None
    """The number of delays before the next stage takes over. 1 to 268435455. Not for list. Default: the last stage
    stays.
    """
    floor: Duration | None
    """The shortest delay: the range of a delay is raised to it, and draws stay uniform above it. Not for decorrelated
    and decorrelated_v2. Default: 0s.
    """
    offset: Duration | None
    """The time that is added to each delay after the jitter, before the cap. Default: 0s."""
    until: Duration | None
    """The time since the start after which the next stage takes over; the time of the last stage ends the operation.
    Above 0. Default: a stage ends by its delays only.
    """
    repeat: bool | None
    """Begins with the first stage again after the delays of this one, which is the last. Default: false."""
    delays: Sequence[Duration] | None
    """The delays, one by one, up to 64. Unless ``attempts`` is given, there is one attempt more. For list."""


class Jitter(TypedDict, total=False):
    """How delays are spread."""

    kind: JitterKind | None
    """How delays are spread, so that clients do not come back at the same moment. Default: full."""
    factor: float | None
    """The part of the delay that is spread. From 0 on. For additive, proportional, subtractive. Needed there."""
    bound: Duration | None
    """The most that may be added to a delay. For bounded. Needed there."""
    grows: bool | None
    """Multiplies the bound by the number of the delay, from 1. For bounded. Default: false."""


class Hint(TypedDict, total=False):
    """What is done with a server's hint on when to come back."""

    mode: HintMode | None
    """The use of a server's hint: never come back before it, add the spread to it, ignore it, take it as it is, or
    take the longer of it and the delay. Default: floor.
    """
    max: Duration | Literal["none"] | None
    """The longest hint that is obeyed. Default: 1m."""
    over: HintOver | None
    """The use of a longer hint: give up, wait for ``hint.max``, or wait as without a hint (as for a hint of no time).
    Default: stop.
    """
    reach: Duration | Literal["none"] | None
    """How far a hint may move a delay beyond the policy's own. Default: none."""


class BudgetFields(TypedDict, total=False):
    """How many retries there may be for the calls there are."""

    kind: BudgetKind | None
    """How the budget counts retries. Default: ratio."""
    capacity: int | None
    """The most tokens there are, and how many there are at first. 0 to 1000000. For token, throttle, default. Default:
    500; throttle: 10, default: 20.
    """
    cost: int | None
    """The tokens that a retry costs. 0 to 1000000. For token. Default: 5."""
    timeout_cost: int | None
    """The tokens that a retry after a timeout costs. 0 to 1000000. For token. Default: the cost."""
    throttled_cost: int | None
    """The tokens that a retry after throttling costs. 0 to 1000000. For token. Default: the cost."""
    reward: float | None
    """The tokens that a success gives; of a token budget that returns ``last`` only a success without a retry. From 0
    on. For token, throttle. Default: 1; throttle: 0.1.
    """
    refill: float | None
    """The tokens that come back by themselves each second. From 0 on. For token. Default: 0."""
    ratio: float | None
    """The retries for each call. From 0 on. For ratio, share. Default: 0.1; share: 0.2."""
    window: Duration | None
    """How far back calls count. Above 0. For ratio, requests, window. Default: 10s; requests: 2m."""
    min_per_second: float | None
    """The retries a second that are allowed in any case. From 0 on. For ratio. Default: 0.1."""
    min_concurrency: int | None
    """The retries at once that are allowed in any case. From 0 on. For share. Default: 3."""
    k: float | None
    """The requests that are let through for each one that is accepted. From 0 on. For requests. Default: 2."""
    limit: int | None
    """The retries in a window. From 0 on. For window. Needed there."""
    hinted_cost: int | None
    """The tokens that a retry costs that sleeps for a server's hint. 0 to 1000000. For token. Default: the cost after
    its failure.
    """
    grace: Duration | None
    """The time after the budget was full in which it refuses no retry: the retry takes what tokens are left. For
    token. Default: 0s.
    """
    returns: Literal["last", "all"] | None
    """The withdrawals that a success returns: the latest of its call, or all of them, and then it gives the reward,
    too. For token. Default: last.
    """


class OpenFor(TypedDict, total=False):
    """How long a breaker stays open, longer with each opening in a row."""

    kind: OpenForKind | None
    """How the open time grows with each opening in a row. Default: constant."""
    initial: Duration | Sequence[Duration] | None
    """The time that the breaker stays open at first; or a list of the times of one opening in a row after the other,
    whose last one repeats. Default: 30s.
    """
    delay: Duration | Sequence[Duration] | None
    """Another name of ``initial``."""
    factor: float | None
    """The number that each opening in a row multiplies the open time by. From 0 on. For exponential. Default: 2."""
    increment: Duration | None
    """The time that each opening in a row adds to the open time. For linear. Default: the open time at first."""
    exponent: float | None
    """The power that the open time grows with. From 0 on. For polynomial. Default: 2."""
    max: Duration | Literal["none"] | None
    """The longest open time. Not for constant. Default: none."""


class BreakerFields(TypedDict, total=False):
    """When a breaker stops calls to a server that keeps failing."""

    kind: BreakerKind | None
    """The condition that opens the breaker: failures in a row, or a share of the latest calls or of the calls of a
    sliding time. Default: consecutive.
    """
    failures: int | None
    """The failures in a row that open the breaker. From 1 on. For consecutive. Default: 5."""
    size: int | None
    """The number of latest calls that count. 1 to 128. For count. Default: 100."""
    window: Duration | None
    """How far back calls count. Above 0. For time. Default: 30s."""
    slots: int | None
    """The number of parts that the window is cut into. 1 to 10. For time. Default: 10."""
    failure_rate: float | None
    """The share of failures that opens the breaker. Above 0, at most 1. For count, time. Default: 0.5."""
    slow_after: Duration | Literal["none"] | None
    """The time from which on a call is slow. For count, time. Default: none."""
    slow_rate: float | None
    """The share of slow calls that opens the breaker; needs ``slow_after``. Above 0, at most 1. For count, time.
    Default: slow calls do not count.
    """
    min_calls: int | None
    """The number of calls below which no share counts. From 1 on. For count, time. Default: 10; at most the size."""
    open_for: Duration | Sequence[Duration] | OpenFor | None
    """The time that the breaker stays open at first; or a list of the times of one opening in a row after the other,
    whose last one repeats. Default: 30s.
    """
    jitter: float | None
    """The part of itself that an open time is lengthened by at most. From 0 on. Default: 0."""
    probes: int | None
    """The calls at once that may try a half-open breaker. From 1 on. Default: 1."""
    successes: int | None
    """The successes in a row that close a half-open breaker. From 1 on. Default: 1."""
    probe_failures: int | None
    """The failures of calls that try a half-open breaker which do not open it again: 3, with 7 successes, if 3 of 10
    may fail. From 0 on. Default: 0.
    """
    reopen: Reopen | None
    """The condition that opens a half-open breaker again: its first failure, or as many in a row as ``failures``. For
    consecutive. Default: first.
    """
    mode: BreakerMode | None
    """``enforce`` makes the breaker refuse calls, ``observe`` only counts what it would refuse. Default: enforce."""
    hint: BreakerHint | None
    """With ``open`` a server's hint opens the breaker. Default: ignore."""
    refusal: Refusal | None
    """The behaviour of a call that the breaker refuses: give up, or sleep until the breaker would let it through.
    Default: stop.
    """
    ramp: Literal["double", "none"] | None
    """How calls that waited begin when the breaker closes: first one, then as many as have succeeded, doubled each
    round; or all at once. Default: double.
    """


class LimiterFields(TypedDict, total=False):
    """How many attempts there may be in a time."""

    kind: LimiterKind | None
    """How calls are counted. Default: gcra."""
    limit: float | None
    """The number of calls in each ``per``. From 0 on. Needed."""
    per: Duration | None
    """The time that the limit is for. Above 0. Default: 1s."""
    burst: int | None
    """The number of calls that may come at once. From 1 on. Not for window and log. Default: the limit."""
    refusal: Refusal | None
    """The behaviour of a call that the limiter refuses: give up, or sleep until the limiter would let it through.
    Default: stop.
    """


class BulkheadFields(TypedDict, total=False):
    """How many attempts may run at once."""

    limit: int | None
    """The number of attempts that may run at once. From 1 on. Needed."""
    queue: int | None
    """The number of calls that may wait for a place. 0 to 65536. Default: 0."""
    max_wait: Duration | Literal["none"] | None
    """The time that a call waits for a place at most. Default: none."""


class AdaptiveFields(TypedDict, total=False):
    """A rate of attempts that follows the server's throttling."""

    kind: AdaptiveKind | None
    """How the rate moves. Default: cubic."""
    beta: float | None
    """The number that throttling multiplies the rate by. Above 0, at most 1. Default: 0.7; aimd: 0.5."""
    scale: float | None
    """How fast a cubic rate grows, in calls a second for each cubed second. Above 0. For cubic. Default: 0.4."""
    smooth: float | None
    """The weight of the latest half second in the measured rate. Above 0, at most 1. For cubic. Default: 0.8."""
    increase: float | None
    """The calls a second that each success adds to the rate. From 0 on. For aimd. Default: 1."""
    min_rate: float | None
    """The lowest rate, in calls a second. Above 0. Default: 0.5."""
    max_rate: float | None
    """The highest rate, in calls a second. Above 0. For aimd. Default: 1000."""
    initial_rate: float | None
    """The rate at first, in calls a second. Above 0. For aimd. Default: 10."""
    refusal: Refusal | None
    """The behaviour of a call that finds no token: give up, or sleep until there is one. Default: stop."""


class StretchFields(TypedDict, total=False):
    """Longer delays while many attempts fail."""

    factor: float | None
    """The number that delays are multiplied by when every attempt fails. From 1 on. Needed."""
    window: Duration | None
    """How far back attempts count. Above 0. Default: 30s."""
    min_calls: int | None
    """The number of attempts below which delays stay as they are. From 1 on. Default: 10."""


class HedgeFields(TypedDict, total=False):
    """A second attempt beside a slow one."""

    delay: Duration | None
    """The time after an attempt's start at which the next one starts beside it. Needed."""
    percentile: float | None
    """The share of attempts that end before the next one starts; takes the place of ``delay`` once enough attempts
    were measured. Above 0, at most 1. Default: the delay alone counts.
    """
    attempts: int | None
    """The number of attempts in a round, the first one included. 1 to 8. Default: 2."""


class PauseFields(TypedDict, total=False):
    """A pause of all calls for as long as a server asks one of them to stay away."""

    max: Duration | Literal["none"] | None
    """The longest pause, from the hint on. Default: 1m."""
    refusal: Refusal | None
    """The behaviour of a call that meets the pause: sleep until its turn behind it, or give up. Default: wait."""


class NestedFields(TypedDict, total=False):
    """What a retry does inside another one."""

    mode: NestedMode | None
    """The behaviour of a retry inside another one, or around one. Default: allow."""
    cap: int | None
    """The number of attempts that nested retries may make together. From 1 on. For cap. Needed there."""


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
    """The value that ``backoff.max`` bounds: the jittered delay with its spread kept, the delay before jitter, or the
    jittered delay cut off. Default: keep_spread.
    """
    attempts: int | Literal["forever"] | None
    """The number of attempts, the first one included. From 1 on. Default: 3; one more than the delays of a backoff
    that ends; forever with a deadline.
    """
    total: int | Literal["forever"] | None
    """The number of attempts in all, with the failures that rules count for themselves. From 1 on. Default: forever."""
    deadline: Duration | Literal["none"] | None
    """The time that the whole operation may take, sleeps included. Above 0. Default: none."""
    deadline_from: Literal["start", "first_failure"] | None
    """The moment from which the deadline counts: the start of the first attempt, or the first failure. Default: start.
    """
    limits: Literal["first", "last"] | None
    """With ``last``, an operation ends when attempts and deadline are both spent; otherwise when the first of them is.
    Default: first.
    """
    min_attempt: Duration | None
    """The time that an attempt must have left before the deadline to be worth starting. Default: 0s."""
    on_deadline: OnDeadline | None
    """The behaviour when the next attempt would not fit before the deadline: give up at once, or sleep less for a last
    attempt (needs ``min_attempt``). Default: stop.
    """
    attempt_timeout: Duration | Literal["none"] | None
    """The time that one attempt may take. Above 0. Default: none."""
    abort_at_deadline: bool | None
    """Aborts the running attempt at the deadline; with false, the deadline only stops attempts from beginning.
    Default: true.
    """
    delay_from: Literal["failure", "start"] | None
    """The moment from which a delay counts: the failure, or the start of the attempt that failed. Default: failure."""
    reset_after: Duration | Literal["none"] | None
    """The time that an attempt must run before it fails to begin the operation anew: its counts, delays and deadline.
    Above 0. Default: none.
    """
    preset: PresetName | None
    """The named policy that the other fields start from. Default: default."""


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
