"""The types of arguments, for annotations; nothing of the library imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypedDict

from ._holdoff import (
    Adaptive,
    Breaker,
    Budget,
    Bulkhead,
    Failure,
    Guards,
    Hedge,
    Limiter,
    Outcome,
    RetryEvent,
    Stretch,
)
from ._literals import (
    AdaptiveKind,
    BreakerHint,
    BreakerKind,
    BreakerMode,
    BudgetKind,
    Cap,
    GrpcName,
    HintOver,
    LimiterKind,
    NestedMode,
    OnDeadline,
    OpenForKind,
    Reopen,
    RetryKind,
)
from ._literals import BackoffKind as BackoffKind
from ._literals import FormName as FormName
from ._literals import HintMode as HintMode
from ._literals import JitterKind as JitterKind
from ._literals import PresetName as PresetName
from ._literals import Refusal as Refusal
from ._literals import Word as Word

Duration: TypeAlias = float | str | timedelta
"""A length of time: seconds, text with a unit such as ``"250ms"``, or a timedelta."""
Limit: TypeAlias = Duration | Literal["none"]
"""A length of time, or "none" for no limit."""
HintSeconds: TypeAlias = float | Literal["never"]
"""A server's hint: seconds, or "never"."""
StepKind: TypeAlias = Literal["attempt", "sleep", "wait", "stop"]
"""The kind of a step of a call."""
OutcomeWord: TypeAlias = Literal["succeeded", "gave_up", "cancelled"]
"""How a call ended."""
DecisionKind: TypeAlias = Literal["sleep", "give_up"]
"""The kind of a decision."""
PeriodicKind: TypeAlias = Literal["run", "sleep", "wait", "stop"]
"""The kind of a step of a repeated task."""
NextStep: TypeAlias = Literal["sleep", "attempt", "wait", "stop"]
"""The next action of the loop of several attempts."""
Said: TypeAlias = Failure | Word
"""The result of a function that classifies an error."""
On: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool | Said]
"""The errors to retry."""
OnResult: TypeAlias = Callable[[Any], bool | Said | None] | bool
"""The returned values that are failures: a function of the value, or True for HTTP answers."""
OnRetry: TypeAlias = Callable[[RetryEvent], object]
"""A hook that is called before each sleep."""
OnGiveUp: TypeAlias = Callable[[Outcome], object]
"""A hook that is called after the last failure."""
Classify: TypeAlias = Callable[[Exception], Said | None]
"""A function from errors to failures; None for the default classification."""
Fallback: TypeAlias = Callable[[Exception], object]
"""A function that replaces the last error."""
Headers: TypeAlias = Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[str | bytes, str | bytes]]
"""Header lines: any mapping of names to values (of httpx, requests, aiohttp, urllib), or pairs of both."""
GrpcCode: TypeAlias = GrpcName | int
"""A status code of gRPC: its name or its number."""


class Backoff(TypedDict, total=False):
    """How the delay grows from one failure to the next; one stage of a chain."""

    kind: BackoffKind | None
    delay: Duration | None
    initial: Duration | None
    factor: float | None
    increment: Duration | None
    exponent: float | None
    max: Duration | Literal["none"] | None
    delays: Sequence[Duration] | None
    times: int | None
    on: RetryKind | None


class Jitter(TypedDict, total=False):
    """How delays are spread."""

    kind: JitterKind | None
    factor: float | None
    bound: Duration | None


class Hint(TypedDict, total=False):
    """The use of a server's hint."""

    mode: HintMode | None
    max: Duration | Literal["none"] | None
    over: HintOver | None
    reach: Duration | Literal["none"] | None


class Causes(TypedDict, total=False):
    """Failures that are worth another try; a list that is given is all there is of its sort."""

    http: Sequence[int | Literal["1xx", "2xx", "3xx", "4xx", "5xx"]] | None
    grpc: Sequence[GrpcCode] | None
    kinds: Sequence[RetryKind] | None
    patterns: Sequence[str] | None


class RetryOn(Causes, total=False):
    """The failures to retry for all operations, and for operations that may not run twice."""

    non_idempotent: Causes | None


class BudgetFields(TypedDict, total=False):
    """How many retries there may be, all calls taken together."""

    kind: BudgetKind | None
    capacity: int | None
    cost: int | None
    timeout_cost: int | None
    throttled_cost: int | None
    reward: float | None
    refill: float | None
    ratio: float | None
    window: Duration | None
    min_per_second: float | None
    min_concurrency: int | None
    k: float | None
    limit: int | None


class OpenFor(TypedDict, total=False):
    """How long a breaker stays open, longer with each opening in a row."""

    kind: OpenForKind | None
    initial: Duration | None
    factor: float | None
    increment: Duration | None
    exponent: float | None
    max: Duration | Literal["none"] | None


class BreakerFields(TypedDict, total=False):
    """When the other side is not to be called."""

    kind: BreakerKind | None
    failures: int | None
    size: int | None
    window: Duration | None
    slots: int | None
    failure_rate: float | None
    slow_after: Duration | Literal["none"] | None
    slow_rate: float | None
    min_calls: int | None
    open_for: OpenFor | Duration | None
    jitter: float | None
    probes: int | None
    successes: int | None
    reopen: Reopen | None
    mode: BreakerMode | None
    hint: BreakerHint | None
    refusal: Refusal | None


class LimiterFields(TypedDict, total=False):
    """How many attempts there may be in a time."""

    kind: LimiterKind | None
    limit: float | None
    per: Duration | None
    burst: int | None
    refusal: Refusal | None


class BulkheadFields(TypedDict, total=False):
    """How many attempts there may be at once."""

    limit: int | None
    queue: int | None
    max_wait: Duration | Literal["none"] | None


class AdaptiveFields(TypedDict, total=False):
    """A rate of attempts that follows the server's throttling."""

    kind: AdaptiveKind | None
    beta: float | None
    scale: float | None
    smooth: float | None
    increase: float | None
    min_rate: float | None
    max_rate: float | None
    initial_rate: float | None
    refusal: Refusal | None


class StretchFields(TypedDict, total=False):
    """Longer delays while much fails."""

    factor: float | None
    window: Duration | None
    min_calls: int | None


class HedgeFields(TypedDict, total=False):
    """A second attempt beside a slow one."""

    delay: Duration | None
    percentile: float | None
    attempts: int | None


class NestedFields(TypedDict, total=False):
    """The mode of a retry inside another retry."""

    mode: NestedMode | None
    cap: int | None


BudgetConfig: TypeAlias = BudgetFields | BudgetKind | None
"""The budget section of a document. The other guards have the same kind of type."""
BreakerConfig: TypeAlias = BreakerFields | BreakerKind | None
LimiterConfig: TypeAlias = LimiterFields | None
BulkheadConfig: TypeAlias = BulkheadFields | int | None
AdaptiveConfig: TypeAlias = AdaptiveFields | AdaptiveKind | None
StretchConfig: TypeAlias = StretchFields | float | None
HedgeConfig: TypeAlias = HedgeFields | Duration | None


class GuardOptions(TypedDict, total=False):
    """Guards: each a configuration, or a shared object."""

    budget: Budget | BudgetConfig
    breaker: Breaker | BreakerConfig
    limiter: Limiter | LimiterConfig
    adaptive: Adaptive | AdaptiveConfig
    bulkhead: Bulkhead | BulkheadConfig
    stretch: Stretch | StretchConfig
    hedge: Hedge | HedgeConfig


GuardsOption: TypeAlias = Guards | GuardOptions
"""Guards of a call: an object, or its options."""


class PolicyFields(TypedDict, total=False):
    """The fields of a policy. None is the default."""

    preset: PresetName | None
    backoff: Backoff | Sequence[Backoff] | BackoffKind | None
    jitter: Jitter | JitterKind | None
    cap: Cap | None
    attempts: int | Literal["forever"] | None
    deadline: Duration | Literal["none"] | None
    min_attempt: Duration | None
    on_deadline: OnDeadline | None
    attempt_timeout: Duration | Literal["none"] | None
    hint: Hint | HintMode | None
    retry_on: RetryOn | None
    budget: BudgetConfig
    breaker: BreakerConfig
    limiter: LimiterConfig
    adaptive: AdaptiveConfig
    bulkhead: BulkheadConfig
    stretch: StretchConfig
    hedge: HedgeConfig
    nested: NestedFields | NestedMode | None
