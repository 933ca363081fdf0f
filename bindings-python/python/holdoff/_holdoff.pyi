# Printed by `cargo xtask generate`.
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, ParamSpec, TypeVar, final, overload

from _typeshed import SupportsGetItem
from matplotlib.axes import Axes
from numpy import float64
from numpy.typing import NDArray
from typing_extensions import Unpack

from ._fields import *
from ._limit import Entered
from ._literals import (
    Answer,
    BreakerState,
    Cause,
    Ended,
    EventKind,
    InTime,
    Level,
    PresetName,
    ReplayMode,
    StopReason,
    Word,
)
from .types import (
    Attempts,
    AttemptsOptions,
    CallOptions,
    DecisionKind,
    Decorated,
    Duration,
    FormName,
    GrpcCode,
    Headers,
    HintSeconds,
    Limit,
    Method,
    NextStep,
    OutcomeWord,
    PeriodicKind,
    PolicyFields,
    RetryingOptions,
    RetryOptions,
    StepKind,
)

__all__ = [
    "Adaptive",
    "Breaker",
    "Bucket",
    "Budget",
    "Bulkhead",
    "Call",
    "Chaos",
    "Decision",
    "Event",
    "Explanation",
    "Failure",
    "Gate",
    "GateConfig",
    "GuardedCall",
    "Guards",
    "Hedge",
    "Keyed",
    "KeyedGuards",
    "Layered",
    "Layers",
    "Limiter",
    "Lint",
    "LoopBackoff",
    "NEVER",
    "Notify",
    "Operation",
    "Outcome",
    "Pause",
    "Periodic",
    "PeriodicStep",
    "Policy",
    "Recorder",
    "Retry",
    "Retrying",
    "Row",
    "Rows",
    "Schedule",
    "Scope",
    "Step",
    "Stretch",
    "Token",
    "WaitBackoff",
    "Wheel",
    "__version__",
    "answer_of",
    "attempts",
    "classify_built_in",
    "code_flags",
    "enter_limit",
    "enter_token",
    "forked",
    "grpc_failure",
    "hint_of",
    "http_failure",
    "is_coroutine_function",
    "jittered",
    "leave_scope",
    "limit_nanos",
    "lint_nested",
    "monotonic_ns",
    "next_at",
    "overridden_time",
    "override_attempts",
    "override_budgets",
    "override_time",
    "override_uniform",
    "parse_duration",
    "pinned",
    "preset_names",
    "remaining",
    "replay",
    "report_unraisable",
    "retry",
    "seed",
    "seed_at",
    "tell_of",
    "token",
    "unpickled_guard",
    "unpickled_guards",
    "unpickled_retrying",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

@overload
def retry(function: Method, /, **options: Unpack[RetryOptions]) -> Method: ...
@overload
def retry(function: Callable[_P, _R], /, **options: Unpack[RetryOptions]) -> Decorated[_P, _R]:
    """Retry a function: a decorator, bare or with options and with the fields of a policy."""

@overload
def retry(function: None = None, /, **options: Unpack[RetryOptions]) -> Retrying: ...

NEVER: Final[int]
__version__: Final[str]

@final
class Adaptive:
    """
    A rate of attempts that follows the server's throttling. All calls that use the object share it.
    """
    def __new__(
        cls, config: AdaptiveConfig = None, /, *, now: int | None = None, **fields: Unpack[AdaptiveFields]
    ) -> Adaptive: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def give_back(self, cost: float = 1.0, now: int | None = None) -> None:
        """
        Returns unused ones.
        """
    @property
    def limits(self) -> bool:
        """
        True once it limits.
        """
    @property
    def measured(self) -> float:
        """
        The measured rate of answers, a second.
        """
    @property
    def rate(self) -> float:
        """
        Calls a second.
        """
    def refuses(self, cost: float = 1.0, now: int | None = None) -> int | None:
        """
        When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
        """
    @staticmethod
    def restore(config: AdaptiveConfig, state: bytes, now: int | None = None) -> Adaptive:
        """
        A guard with this configuration and a saved state.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """
    @staticmethod
    def started(
        config: AdaptiveConfig,
        *,
        rate: float = 0.0,
        tokens: float = 0.0,
        measured: float = 0.0,
        last_max_rate: float = 0.0,
        throttled_at: int | None = None,
        limits: bool = True,
        now: int | None = None,
    ) -> Adaptive:
        """
        A guard in the middle of its life: rates in calls a second, `throttled_at` in nanoseconds.
        """
    def take(self, cost: float = 1.0, now: int | None = None) -> bool:
        """
        Takes `cost` tokens; returns True if they were there. If not, nothing is taken.
        """
    def tokens(self, now: int | None = None) -> float:
        """
        The tokens at that time.
        """
    def update(self, throttled: bool = False, now: int | None = None) -> None:
        """
        An answer came: adjusts the rate.
        """

@final
class Breaker:
    """
    When a breaker stops calls to a server that keeps failing. All calls that use the object share it.
    """
    def __new__(
        cls,
        config: BreakerConfig = None,
        /,
        *,
        seed: int | None = None,
        now: int | None = None,
        **fields: Unpack[BreakerFields],
    ) -> Breaker: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def abandon(self, permit: int, now: int | None = None) -> None:
        """
        A call with this permit never ran, or ended without a result that counts.
        """
    def acquire(self, now: int | None = None) -> int | None:
        """
        A permit for a call; None when it may not run: ask again at `retry_at`.
        """
    def force_close(self, now: int | None = None) -> None:
        """
        Closes the breaker.
        """
    def hint(self, span: int, now: int | None = None) -> None:
        """
        The server asked for a pause of `span` nanoseconds: the breaker opens that long if its configuration says so.
        """
    def isolate(self, now: int | None = None) -> None:
        """
        Opens the breaker until it is reset or forced closed.
        """
    @property
    def openings(self) -> int:
        """
        How often the breaker has opened.
        """
    def rates(self, now: int | None = None) -> tuple[int, int, int]:
        """
        How many calls the window holds, how many of them failed, and how many were slow.
        """
    def record(self, permit: int, failed: bool = False, took: int | None = None, now: int | None = None) -> None:
        """
        A call with this permit ended after `took` nanoseconds.
        """
    def refuses(self, now: int | None = None) -> int | None:
        """
        Until when a call at that time would be refused; None when it would not be.
        """
    def reset(self, now: int | None = None) -> None:
        """
        Closes the breaker and forgets all results.
        """
    @staticmethod
    def restore(config: BreakerConfig, state: bytes, now: int | None = None) -> Breaker:
        """
        A guard with this configuration and a saved state.
        """
    @property
    def retry_at(self) -> int:
        """
        When to ask again after a refusal; NEVER when nobody knows.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """
    def state(self, now: int | None = None) -> BreakerState:
        """
        "closed", "open", "half_open" or "isolated".
        """

@final
class Bucket:
    """
    Tokens that drip into a bucket: `rate` in each `per`, and at most `burst` at once. May be shared by threads.
    """
    def __new__(cls, /, rate: float, burst: int, *, per: Duration | None = None, now: int | None = None) -> Bucket:
        """
        A full bucket.
        """
    def reserve(self, now: int, count: int = 1, *, longest: Limit | None = None) -> int | None:
        """
        Takes `count` tokens; returns how many nanoseconds it takes until they are there. None, and nothing is taken, for
        more than a burst or when it takes longer than `longest`; with 0 only tokens that are there are taken.
        """
    def tokens(self, now: int) -> float:
        """
        The tokens at that time; negative while tokens are reserved that are not there yet.
        """

@final
class Budget:
    """
    How many retries there may be for the calls there are. All calls that use the object share it.
    """
    def __new__(
        cls,
        config: BudgetConfig = None,
        /,
        *,
        seed: int | None = None,
        now: int | None = None,
        **fields: Unpack[BudgetFields],
    ) -> Budget: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def admit(self, now: int | None = None) -> bool:
        """
        An attempt, the first or a later one, is about to start: returns True if it may.
        """
    def balance(self, now: int | None = None) -> float:
        """
        How many tokens, or retries, are left.
        """
    def begin(self, now: int | None = None) -> None:
        """
        A call begins.
        """
    def end(self, withdrawal: int | None = None) -> None:
        """
        The call is over; with the payment of a retry that still runs, if any.
        """
    def fail(self, kind: Word | None = None, now: int | None = None) -> None:
        """
        An attempt failed, retried or not.
        """
    def refund(self, withdrawal: int, now: int | None = None) -> None:
        """
        A paid retry will never run.
        """
    def rejection(self, now: int | None = None) -> float:
        """
        The chance that an attempt is refused: 0 except for a budget of requests.
        """
    @staticmethod
    def restore(config: BudgetConfig, state: bytes, now: int | None = None) -> Budget:
        """
        A guard with this configuration and a saved state.
        """
    def retried(self) -> None:
        """
        A paid retry has run.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """
    def succeed(self, withdrawal: int | None = None, now: int | None = None) -> None:
        """
        The call succeeded, with its payment if any.
        """
    def withdraw(self, kind: Word | None = None, now: int | None = None) -> int | None:
        """
        Pays for a retry after such a failure: returns the payment; None when there may be no retry.
        """

@final
class Bulkhead:
    """
    How many attempts may run at once. All calls that use the object share it.
    """
    def __new__(cls, config: BulkheadConfig = None, /, **fields: Unpack[BulkheadFields]) -> Bulkhead: ...
    def __reduce__(self) -> Any:
        """
        Pickled without the attempts that run: a copy in another process has places of its own.
        """
    def __repr__(self) -> str: ...
    def enter(self) -> Literal["entered", "refused"] | int:
        """
        Asks for a place: "entered", "refused", or a place in the queue.
        """
    def enter_from(self, place: int) -> Literal["entered", "refused"] | int:
        """
        The same for a waiter in the queue.
        """
    def leave(self) -> None:
        """
        An attempt that ran is done.
        """
    def leave_queue(self, place: int) -> None:
        """
        A waiter leaves the queue.
        """
    @property
    def running(self) -> int:
        """
        How many attempts run.
        """
    @property
    def waiting(self) -> int:
        """
        How many waiters are in the queue.
        """

@final
class Call:
    """
    The whole loop as a machine. Every method returns the current step; see the guide for the contract.
    """
    def __repr__(self) -> str: ...
    @property
    def attempt(self) -> int:
        """
        The attempt in flight or, asleep or at the end, the last one that ran.
        """
    @staticmethod
    def begin(policy: Policy | PresetName, seed: int, now: int) -> tuple[Call, Step]:
        """
        Begin a call: the machine and its first step, the first attempt.
        """
    def cancel(self, now: int) -> Step:
        """
        The caller cancels the call.
        """
    def fail(self, policy: Policy | PresetName, ticket: int, now: int, failure: Failure) -> Step:
        """
        The attempt with this ticket failed.
        """
    def remaining(self, now: int) -> int:
        """
        Nanoseconds still to sleep; 0 when the call does not sleep.
        """
    @staticmethod
    def resume(
        state: bytes | str | Mapping[str, Any],
        policy: Policy | PresetName,
        now: int,
        *,
        away: Duration | None = None,
        force: bool = False,
    ) -> Call:
        """
        Resumes a saved state: bytes, JSON text or a dict, from any language, on a clock that reads `now`. Time
        since the save is counted only if `away` is given; `force` accepts a state that was saved under another
        policy.
        """
    def save(self, policy: Policy | PresetName, now: int) -> bytes:
        """
        The state at that time as bytes, for `resume`, without permits of guards. The policy is that of the operation.
        """
    @property
    def started(self) -> int:
        """
        When the call began.
        """
    def succeed(self, ticket: int, now: int) -> Step:
        """
        The attempt with this ticket succeeded.
        """
    def tick(self, policy: Policy | PresetName, now: int) -> Step:
        """
        Time has passed: returns the next attempt when its sleep is over.
        """
    def to_dict(self, policy: Policy | PresetName, now: int) -> dict[str, str | int]:
        """
        The state at that time as a dict: the fields of its JSON.
        """
    def to_json(self, policy: Policy | PresetName, now: int) -> str:
        """
        The state at that time as JSON text.
        """
    @staticmethod
    def underway(seed: int, started: int) -> Call:
        """
        A call whose first attempt, ticket 1, has run since `started`: for hosts that make the machine after the first failure.
        """

@final
class Chaos:
    """
    Which attempts fail on purpose and how long each is held up, by its number from 0.
    """
    def __new__(
        cls,
        /,
        *,
        seed: int | None = None,
        failure_rate: float = 0.0,
        latency_rate: float = 1.0,
        shortest: Duration | None = None,
        longest: Duration | None = None,
    ) -> Chaos: ...
    def __repr__(self) -> str: ...
    def fails(self, k: int) -> bool:
        """
        True if the attempt fails on purpose.
        """
    def latency(self, k: int) -> int:
        """
        The nanoseconds by which the attempt is held up.
        """

@final
class Decision:
    """
    The answer to a failure: sleep until a time, or give up for a reason.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def cause(self) -> Cause | None:
        """
        Sleep: "backoff", "hint" or "clip".
        """
    @property
    def kind(self) -> DecisionKind:
        """
        "sleep" or "give_up".
        """
    @property
    def reason(self) -> StopReason | None:
        """
        Give up: why.
        """
    @property
    def retry_at(self) -> int | None:
        """
        Give up: when another try might succeed; NEVER if unknown.
        """
    @property
    def until(self) -> int | None:
        """
        Sleep: until when.
        """

@final
class Event:
    """
    One thing that happened to a call. Fields that its kind has no use for are None; times are nanoseconds.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """
        Events are pickled as their JSON.
        """
    def __repr__(self) -> str: ...
    @property
    def at(self) -> int:
        """
        When it happened.
        """
    @property
    def attempt(self) -> int:
        """
        The attempt that failed, is scheduled or begins; at an end the last attempt that ran, 0 for none.
        """
    @property
    def backoff_delay_ms(self) -> int | None:
        """
        Retry scheduled: the same in whole milliseconds, rounded up.
        """
    @property
    def cause(self) -> Cause | None:
        """
        Retry scheduled: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
        """
    @property
    def delay(self) -> float | None:
        """
        Retry scheduled: seconds until the next attempt is due.
        """
    @property
    def delay_ns(self) -> int | None:
        """
        Retry scheduled: the same in nanoseconds.
        """
    @property
    def failure(self) -> Failure | None:
        """
        Attempt failed: its kind and the server's hint.
        """
    @staticmethod
    def from_dict(fields: Mapping[str, Any], /) -> Event:
        """
        The event with these fields; its texts stay with the caller.
        """
    @staticmethod
    def from_json(text: str | bytes, /) -> Event:
        """
        The event in this JSON; its texts stay with the caller.
        """
    @property
    def hint(self) -> HintSeconds | None:
        """
        Attempt failed: the failure's hint in seconds, "never", or None without a hint.
        """
    @property
    def hint_ns(self) -> int | None:
        """
        Attempt failed: the failure's hint in nanoseconds; None when there is none or it is "never".
        """
    @property
    def is_end(self) -> bool:
        """
        True if it is the last event.
        """
    @property
    def is_guarded(self) -> bool | None:
        """
        Started: True if the call shares guards.
        """
    @property
    def kind(self) -> EventKind:
        """
        "STARTED", "ATTEMPT_FAILED", "RETRY_SCHEDULED", "RESUMED", "SUCCEEDED", "GAVE_UP" or "CANCELLED".
        """
    @property
    def policy(self) -> int | None:
        """
        Started: the fingerprint of the call's policy.
        """
    @staticmethod
    def read_all(log: bytes, /) -> list[tuple[Event, str]]:
        """
        The events of a log's bytes, each with its text.
        """
    @property
    def reason(self) -> StopReason | None:
        """
        Gave up: why.
        """
    @property
    def retry_at(self) -> int | None:
        """
        Gave up: when another try might succeed; NEVER if unknown.
        """
    @property
    def seed(self) -> int | None:
        """
        Started: the seed of the call.
        """
    @property
    def sequence(self) -> int:
        """
        Its place in the log of its call, from 1.
        """
    def to_bytes(self, failure_reason: str | None = None) -> bytes:
        """
        Its bytes with the text of the failure, at most 65535 bytes. A log is the bytes of its events, one after the other.
        """
    def to_dict(self, task: str | None = None, failure_reason: str | None = None) -> dict[str, Any]:
        """
        The fields of its JSON, with the name of the task and the text of the failure if given.
        """
    def to_json(self, task: str | None = None, failure_reason: str | None = None) -> str:
        """
        Its JSON in one line, with the name of the task and the text of the failure if given.
        """
    @property
    def until(self) -> int | None:
        """
        Retry scheduled: when the next attempt is due.
        """

@final
class Explanation:
    """
    The explanation of a policy: its rows by iteration, and the whole as text by str().
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __iter__(self) -> Rows: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...

@final
class Failure:
    """
    One failed attempt: its kind, the server's hint on when to come back, and the rule of the policy that takes it.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(
        cls,
        /,
        kind: Word | None = None,
        *,
        hint: Duration | Literal["never"] | None = None,
        hint_ns: int | None = None,
        rule: int | None = None,
    ) -> Failure: ...
    def __repr__(self) -> str: ...
    @property
    def hint(self) -> HintSeconds | None:
        """
        Seconds to wait after the failure, "never" for no retry, or None without a hint.
        """
    @property
    def hint_ns(self) -> int | None:
        """
        The hint in nanoseconds; None when there is none or it is "never".
        """
    @property
    def kind(self) -> Word:
        """
        "transient", "throttled", "timeout" or "permanent".
        """
    @property
    def rule(self) -> int | None:
        """
        The number of the policy's rule that takes the failure, from 1; None if none does or the policy has not judged it.
        """

@final
class Gate:
    """
    The failures of one key, and until when it is closed. Times are ints of nanoseconds.
    """
    def __new__(cls, /, *, seed: int | None = None) -> Gate: ...
    def __repr__(self) -> str: ...
    def covers(self, config: GateConfig, event: int) -> bool:
        """
        True if the delay of the last failure, counted from the failure, covers an event at that time.
        """
    def covers_since(self, config: GateConfig, event: int, now: int) -> bool:
        """
        True if less time than the delay of the last failure has passed since an event at that time.
        """
    @property
    def delay(self) -> int:
        """
        The delay of the last failure, in nanoseconds; 0 when no failure counts.
        """
    def draws(self, config: GateConfig, event: int) -> bool:
        """
        True if a failure at that time would draw a uniform.
        """
    def failure(self, config: GateConfig, now: int, *, event: int | None = None) -> int:
        """
        A failure: returns for how long the gate closes. `event` is when the failed operation happened, now unless given.
        """
    @property
    def failures(self) -> int:
        """
        How many failures count now.
        """
    def forget(self) -> None:
        """
        Starts anew.
        """
    def is_discardable(self, config: GateConfig, now: int) -> bool:
        """
        True if the gate can be thrown away at that time.
        """
    def is_open(self, now: int) -> bool:
        """
        True if the gate is open at that time.
        """
    @property
    def release(self) -> int:
        """
        When the gate opens or opened.
        """
    def release_at(self, release: int) -> None:
        """
        Opens at that time and at no other, until the next failure.
        """
    def success(self, config: GateConfig, now: int) -> None:
        """
        A success: forgives as many failures as the configuration says.
        """

@final
class GateConfig:
    """
    How the delays of a gate grow, checked once.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(
        cls,
        /,
        *,
        initial: Duration | None = None,
        factor: float = 2.0,
        max: Limit | None = None,
        jitter: float = 0.0,
        direction: Literal["up", "down"] = "up",
        growth: Literal["power", "feedback"] = "power",
        grace: int = 0,
        grace_delay: Duration | None = None,
        ahead: bool = False,
        forgives: int | Literal["all"] | None = None,
        rest: Duration | None = None,
        quiet: Limit | None = None,
        keep: Limit | None = None,
        keep_failed: Limit | None = None,
        quantum: Duration | None = None,
    ) -> GateConfig: ...
    def __repr__(self) -> str: ...
    @staticmethod
    def chromium(
        *,
        initial_delay_ms: int,
        multiply_factor: float,
        jitter_factor: float,
        maximum_backoff_ms: int | None = None,
        entry_lifetime_ms: int | None = None,
        errors_to_ignore: int = 0,
        always_use_initial_delay: bool = False,
    ) -> GateConfig:
        """
        Chromium's net::BackoffEntry, from the fields of its policy; times in milliseconds, None for its -1.
        """
    @staticmethod
    def fast_slow(fast: Duration, slow: Duration, max_fast_attempts: int) -> GateConfig:
        """
        An item of Kubernetes' ItemFastSlowRateLimiter.
        """
    @staticmethod
    def flowcontrol(
        initial: Duration, max: Duration, *, max_jitter: float = 0.0, quiet: Duration | None = None
    ) -> GateConfig:
        """
        An entry of Kubernetes' flowcontrol.Backoff; quiet stands for its HasExpiredFunc, twice max unless given.
        """
    @staticmethod
    def item_exponential(base: Duration, max: Duration) -> GateConfig:
        """
        An item of Kubernetes' ItemExponentialFailureRateLimiter.
        """

@final
class GuardedCall:
    """
    The whole loop of a call that shares guards with others, or that hedges; driven as a `Call` is, with the additions that the
    guide names.
    """
    def __copy__(self) -> GuardedCall:
        """
        A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
        """
    def __repr__(self) -> str: ...
    def abandon(self, guards: Guards, ticket: int, now: int) -> Step:
        """
        The attempt with this ticket ended without a result that guards should count.
        """
    @property
    def attempt(self) -> int:
        """
        How many attempts have been started.
        """
    @staticmethod
    def begin(policy: Policy | PresetName, guards: Guards, seed: int, now: int) -> tuple[GuardedCall, Step]:
        """
        Begin a call: the machine and its first step, which may be a sleep or a stop.
        """
    def cancel(self, guards: Guards, now: int) -> Step:
        """
        The caller cancels the call. Hosts that drop a call before it stops must cancel it.
        """
    def fail(self, policy: Policy | PresetName, guards: Guards, ticket: int, now: int, failure: Failure) -> Step:
        """
        The attempt with this ticket failed.
        """
    @property
    def flying(self) -> int:
        """
        How many attempts are in flight.
        """
    def remaining(self, now: int) -> int:
        """
        Nanoseconds still to sleep; 0 when the call does not sleep.
        """
    @staticmethod
    def resume(
        state: bytes | str | Mapping[str, Any],
        policy: Policy | PresetName,
        guards: Guards,
        now: int,
        *,
        away: Duration | None = None,
        force: bool = False,
    ) -> GuardedCall:
        """
        Resumes a saved state, of this or of a `Call`, under these guards: as `Call.resume`.
        """
    def save(self, policy: Policy | PresetName, now: int) -> bytes:
        """
        The state at that time as bytes, for `resume`, without permits of guards. The policy is that of the operation.
        """
    @property
    def started(self) -> int:
        """
        When the call began.
        """
    def succeed(self, guards: Guards, ticket: int, now: int) -> Step:
        """
        The attempt with this ticket succeeded: the call is over.
        """
    def tick(self, policy: Policy | PresetName, guards: Guards, now: int) -> Step:
        """
        Time has passed, or a place in the bulkhead or at the breaker has come free.
        """
    def to_dict(self, policy: Policy | PresetName, now: int) -> dict[str, str | int]:
        """
        The state at that time as a dict: the fields of its JSON.
        """
    def to_json(self, policy: Policy | PresetName, now: int) -> str:
        """
        The state at that time as JSON text.
        """

@final
class Guards:
    """
    Guards that calls share: each a configuration, or a guard object that others share too.
    """
    def __new__(
        cls, /, *, seed: int | None = None, now: int | None = None, **guards: Unpack[GuardOptions]
    ) -> Guards: ...
    def __reduce__(self) -> Any:
        """
        Pickled with the guards and their states.
        """
    def __repr__(self) -> str: ...
    @property
    def adaptive(self) -> Adaptive | None:
        """
        A rate of attempts that follows the server's throttling.
        """
    @property
    def breaker(self) -> Breaker | None:
        """
        When a breaker stops calls to a server that keeps failing.
        """
    @property
    def budget(self) -> Budget | None:
        """
        How many retries there may be for the calls there are.
        """
    @property
    def bulkhead(self) -> Bulkhead | None:
        """
        How many attempts may run at once.
        """
    @property
    def hedge(self) -> Hedge | None:
        """
        A second attempt beside a slow one.
        """
    @property
    def limiter(self) -> Limiter | None:
        """
        How many attempts there may be in a time.
        """
    @property
    def pause(self) -> Pause | None:
        """
        A pause of all calls for as long as a server asks one of them to stay away.
        """
    @staticmethod
    def restore(
        options: GuardOptions | Policy, saved: Mapping[str, bytes], *, seed: int | None = None, now: int | None = None
    ) -> Guards:
        """
        Guards with these options, or of this policy, with the states from `save`. Guards without a saved state are new.
        """
    def save(self, now: int | None = None) -> dict[str, bytes]:
        """
        The state of each guard as bytes, by its name. A bulkhead has no state to save: running attempts are not saved.
        """
    @property
    def stretch(self) -> Stretch | None:
        """
        Longer delays while many attempts fail.
        """

@final
class Hedge:
    """
    A second attempt beside a slow one. All calls that use the object share it.
    """
    def __new__(cls, config: HedgeConfig = None, /, **fields: Unpack[HedgeFields]) -> Hedge: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    @property
    def attempts(self) -> int:
        """
        How many attempts there may be at once.
        """
    @property
    def delay(self) -> int:
        """
        How long after an attempt the next one starts beside it, in nanoseconds.
        """
    @property
    def quantile(self) -> int | None:
        """
        How long the percentile of attempts takes, in nanoseconds; None before the first.
        """
    def record(self, took: int) -> None:
        """
        An attempt that succeeded took that many nanoseconds.
        """
    @property
    def records(self) -> int:
        """
        How many attempts have been recorded.
        """
    @staticmethod
    def restore(config: HedgeConfig, state: bytes, now: int | None = None) -> Hedge:
        """
        A guard with this configuration and a saved state.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """

@final
class Keyed:
    """
    A gate for each key, bounded: a new key replaces the key used longest ago. May be shared by threads.
    """
    def __len__(self) -> int: ...
    def __new__(
        cls, /, config: GateConfig, *, most: int = 65536, idle: Limit | None = None, seed: int | None = None
    ) -> Keyed:
        """
        At most `most` keys; keys unused for more than `idle` are forgotten.
        """
    def __repr__(self) -> str: ...
    def collect(self, now: int) -> int:
        """
        Throws away idle keys and discardable gates; returns how many.
        """
    def failure(self, key: str, now: int, *, event: int | None = None) -> int:
        """
        A failure of this key: returns for how long it closes. As Gate.failure.
        """
    def forget(self, key: str) -> bool:
        """
        Forgets the key; returns True if it was known.
        """
    def is_open(self, key: str, now: int) -> bool:
        """
        True if the key is open at that time.
        """
    def keys(self) -> list[str]:
        """
        The keys in their order.
        """
    def peek(self, key: str, now: int) -> Gate | None:
        """
        A copy of the key's gate; None when there is no gate.
        """
    def release_at(self, key: str, now: int, release: int) -> None:
        """
        Opens the key at that time and at no other, until its next failure.
        """
    def success(self, key: str, now: int) -> None:
        """
        A success of this key.
        """

@final
class KeyedGuards:
    """
    A set of guards for each key: a host, a partition, a tenant. A new key replaces the key used longest ago, but only at rest: a set
    is kept while a call or the program holds it, while its breaker is open or counts a failure, while calls are in its bulkhead,
    and while its budget or limiter is not full. If there is no such place, new keys share one set until it is at rest. May be
    shared by threads.
    """
    def __len__(self) -> int: ...
    def __new__(
        cls, /, *, most: int = 10000, idle: Limit | None = None, seed: int | None = None, **guards: Unpack[GuardOptions]
    ) -> KeyedGuards:
        """
        At most `most` keys; keys at rest that are unused for more than `idle` are forgotten, after ten minutes unless given. A guard
        object is shared by all keys.
        """
    def __repr__(self) -> str: ...
    def forget(self, key: str, /) -> bool:
        """
        Forgets a key; returns True if it was known.
        """
    def keys(self) -> list[str]:
        """
        The keys in their order.
        """
    def of(self, key: str, /, now: int | None = None) -> Guards:
        """
        The guards of a key: the same ones each time, for as long as the key is known. Calls under them have that key: for their
        budget and in their events. Ask anew for each call.
        """

@final
class Layered:
    """
    A call inside a call, from the first attempt to the end; driven as a `Call` is.
    """
    def __repr__(self) -> str: ...
    @property
    def attempt(self) -> int:
        """
        The attempt in flight or the last one that ran, over both levels; from 1.
        """
    @staticmethod
    def begin(layers: Layers, seed: int, now: int) -> tuple[Layered, Step]:
        """
        Begin: the machine and its first step, the first attempt of both levels.
        """
    def cancel(self, now: int) -> Step:
        """
        The caller cancels the call.
        """
    def fail(self, layers: Layers, ticket: int, now: int, failure: Failure, *, outward: Failure | None = None) -> Step:
        """
        The attempt with this ticket failed. `outward` is the failure for the outer level if the inner level gives up now,
        for any reason.
        """
    @property
    def inner_attempt(self) -> int:
        """
        The attempt of the inner level in this attempt of the outer level, from 1.
        """
    @property
    def inner_reason(self) -> StopReason | None:
        """
        Why the inner level last gave up; None when it has not.
        """
    @property
    def outer_attempt(self) -> int:
        """
        The attempt of the outer level, from 1.
        """
    def remaining(self, now: int) -> int:
        """
        Nanoseconds still to sleep; 0 when the call does not sleep.
        """
    @property
    def stopped_by(self) -> Level | None:
        """
        The level that gave up: "inner", "outer", or "cap" (the cap stopped a level that would have continued); None unless a
        level gave up.
        """
    def succeed(self, ticket: int, now: int) -> Step:
        """
        The attempt with this ticket succeeded.
        """
    def tick(self, layers: Layers, now: int) -> Step:
        """
        Time has passed: returns the next attempt when its sleep is over.
        """
    @staticmethod
    def underway(layers: Layers, seed: int, started: int) -> Layered:
        """
        A call whose first attempt, ticket 1, has run since `started`.
        """
    def would_give_up(self, layers: Layers, ticket: int, now: int, failure: Failure) -> StopReason | None:
        """
        Why the inner level would give up if the attempt with this ticket failed like that; None when it would not.
        """

@final
class Layers:
    """
    The configuration of a retry inside a retry: the policies of both levels, and the limits between them.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(
        cls,
        /,
        outer: Policy | PresetName,
        inner: Policy | PresetName,
        *,
        attempts: int | None = None,
        go_on_after: Sequence[StopReason] | None = None,
    ) -> Layers:
        """
        `attempts` caps both levels together. The outer level continues after the reasons in `go_on_after` of the inner
        level: attempts, deadline and hint unless given.
        """
    def __repr__(self) -> str: ...
    @property
    def attempts(self) -> int | None:
        """
        The most attempts there can be over both levels; None without a limit.
        """

@final
class Limiter:
    """
    How many attempts there may be in a time. All calls that use the object share it.
    """
    def __new__(
        cls, config: LimiterConfig = None, /, *, now: int | None = None, **fields: Unpack[LimiterFields]
    ) -> Limiter: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def give_back(self, count: int = 1, now: int | None = None) -> None:
        """
        Returns unused ones.
        """
    def refuses(self, count: int = 1, now: int | None = None) -> int | None:
        """
        When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
        """
    @staticmethod
    def restore(config: LimiterConfig, state: bytes, now: int | None = None) -> Limiter:
        """
        A guard with this configuration and a saved state.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """
    def take(self, count: int = 1, now: int | None = None) -> bool:
        """
        Takes `count` attempts; returns True if they were there. If not, nothing is taken.
        """

@final
class Lint:
    """
    One warning about a policy.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    @property
    def code(self) -> int:
        """
        Its number, the same in every language.
        """
    @property
    def found(self) -> float | None:
        """
        The value in the policy: seconds or a number; None without one.
        """
    @property
    def limit(self) -> float | None:
        """
        The limit that the value breaks, in the same unit.
        """
    @property
    def name(self) -> str:
        """
        Its word, the same in every language.
        """
    @property
    def text(self) -> str:
        """
        The warning in words.
        """

@final
class LoopBackoff:
    """
    The delays between the runs of a repeated task: a wait backoff that begins again by itself.
    """
    def __new__(
        cls,
        /,
        backoff: WaitBackoff,
        *,
        after_quiet: Duration | None = None,
        every: Duration | None = None,
        now: int | None = None,
        seed: int | None = None,
    ) -> LoopBackoff:
        """
        The delays of a backoff from its current step. The loop backoff begins again when asked more than `after_quiet`
        after it was last asked, or more than `every` after it last began again.
        """
    def __repr__(self) -> str: ...
    @property
    def backoff(self) -> WaitBackoff:
        """
        A copy of the backoff at its current step.
        """
    @property
    def draws(self) -> bool:
        """
        True if a delay draws a uniform.
        """
    @staticmethod
    def exponential(
        initial: Duration,
        max: Duration,
        reset: Duration,
        *,
        factor: float = 2.0,
        jitter: float = 0.0,
        now: int | None = None,
        seed: int | None = None,
    ) -> LoopBackoff:
        """
        Grows from initial by factor up to max, and begins again after more than reset without being asked: Kubernetes'
        NewExponentialBackoffManager.
        """
    @staticmethod
    def jittered(period: Duration, jitter: float = 0.0, *, seed: int | None = None) -> LoopBackoff:
        """
        The same delay each time and up to jitter of it more: Kubernetes' NewJitteredBackoffManager.
        """
    def next(self, now: int) -> int:
        """
        The delay to wait at that time.
        """
    @staticmethod
    def with_reset(
        backoff: WaitBackoff, reset: Duration, *, now: int | None = None, seed: int | None = None
    ) -> LoopBackoff:
        """
        Steps the backoff and begins again every reset: Kubernetes' Backoff.DelayWithReset.
        """

@final
class Notify:
    """
    The line of a guard, for the waits that are written in Python.
    """
    def add_waiter(self, place: int, seen: int, waker: Callable[[], object]) -> int | None:
        """
        Have the waker called once, in any thread, when the call at `place` of the line can go on. Returns the number for
        `remove_waiter`; None when the count has passed `seen` already, and the waker will not be called.
        """
    def remove_waiter(self, place: int, number: int) -> None:
        """
        Removes a waker.
        """

@final
class Operation:
    """
    One operation.

    # Contract
    Call `begin` once, and `cancel` on every way out. Before an attempt call `resume` until it returns no more seconds to wait; then
    run the attempt, unless `over` is true: then return `result`. After an attempt call `fail` if it raised, `reject` if it
    returned. The machine is made at the first failure; under guards it is made in `begin`.
    """
    def __new__(
        cls, /, settings: Retrying, about: tuple[Any, ...] | None = None, noted: int | None = None
    ) -> Operation:
        """
        An operation of the function and its arguments in `about`. `noted` is the number of the latest refusal of its budgets before a first
        attempt that has run.
        """
    @property
    def attempt(self) -> int:
        """
        The number of the attempt.
        """
    def begin(self, *, asynchronous: bool = False) -> None:
        """
        The first attempt is about to run. Raises Cancelled when it must not.
        """
    def beside(self) -> bool:
        """
        While an attempt runs: returns True if another one starts beside it.
        """
    def cancel(self) -> None:
        """
        The caller cancels the operation.
        """
    def cancel_at(self) -> int | None:
        """
        When to cancel the attempt, in nanoseconds of the clock; None without a limit, or if an attempt around it is cancelled by then.
        """
    def cancelled(self) -> Exception:
        """
        The Cancelled exception, caused by the last error.
        """
    @property
    def deadline_ns(self) -> int | None:
        """
        When waits for the user's own functions end, in nanoseconds of the clock; None without a deadline.
        """
    def enter(self, *, watched: bool) -> Entered:
        """
        Enters the scope of an attempt; `leave_scope` undoes that. `watched`: the attempt is cancelled at its limit.
        """
    def fail(self, attempt: int, error: Exception, *, timed_out: bool = False, gave_up: bool = False) -> NextStep:
        """
        The attempt with this number failed: "sleep", "attempt" (start another one), "wait" (others still run) or "stop": raise
        the error, which carries the outcome.
        """
    @property
    def fallback(self) -> Any | None:
        """
        The function that replaces the error that is about to be raised, if any.
        """
    @property
    def hedges(self) -> bool:
        """
        True if a second attempt may run beside the first.
        """
    def hook_answers(self) -> list[tuple[str, Awaitable[object]]] | None:
        """
        The answers of asynchronous hooks since the last time, to be awaited; None without any.
        """
    def interrupt(self, error: BaseException) -> None:
        """
        An error ends the wait before the next attempt; its context is the last failure.
        """
    def limit_ns(self) -> int | None:
        """
        The nearest of the attempt's own limit and those around it, in nanoseconds of the clock; None without a limit.
        """
    @property
    def notify(self) -> tuple[Notify, int, int] | None:
        """
        The line in which the call waits for others, its place there, and the count to wait past; None unless it waits for others.
        """
    @property
    def over(self) -> bool:
        """
        True if no attempt follows a value that failed, because the wait took too long or a body is used up: return `result` then.
        """
    def reject(self, attempt: int, value: Any, *, gave_up: bool = False) -> NextStep:
        """
        The attempt with this number returned; at "stop" the value is the result.
        """
    @property
    def result(self) -> Any:
        """
        The returned value after which no attempt follows.
        """
    def resume(self) -> float | None:
        """
        The seconds to wait next; None when the next attempt runs now.
        """
    @property
    def sleep(self) -> Any | None:
        """
        The user's own sleep.
        """
    def sleep_until_due(self) -> None:
        """
        Sleep in this thread until the next attempt is due, woken at once by the token.
        """
    @property
    def token(self) -> Any | None:
        """
        The token of the caller.
        """
    @property
    def wake_at(self) -> int | None:
        """
        When to call `beside`, in nanoseconds of the clock; None for never.
        """

@final
class Outcome:
    """
    Why there was no other attempt, and when another try might succeed.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __getnewargs__(self) -> tuple[StopReason, int, int | None, str | None, bool]:
        """
        Outcomes are pickled with their errors.
        """
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(
        cls,
        /,
        reason: StopReason,
        attempts: int,
        retry_at_ns: int | None = None,
        details: str | None = None,
        innermost: bool = False,
    ) -> Outcome: ...
    def __repr__(self) -> str: ...
    @property
    def attempts(self) -> int:
        """
        How many attempts began.
        """
    @property
    def description(self) -> str:
        """
        The reason in a sentence; for a budget of tokens also how many are spent and when there are more.
        """
    @property
    def innermost(self) -> bool:
        """
        True if the retry was "innermost": a retry around it whose policy has no `nested` does not repeat what it gave up.
        """
    @property
    def reason(self) -> StopReason:
        """
        "permanent", "attempts", "deadline", "hint", "budget", "breaker", "limiter", "bulkhead", "body" or "cancelled".
        """
    @property
    def retry_at(self) -> float | None:
        """
        When another try might succeed, on the clock of time.monotonic; None if unknown.
        """
    @property
    def retry_at_ns(self) -> int | None:
        """
        When another try might succeed, on the clock of time.monotonic_ns; None if unknown.
        """
    @property
    def retry_in(self) -> float | None:
        """
        Seconds from now until another try might succeed, 0 when that is past; None if unknown.
        """

@final
class Pause:
    """
    A pause of all calls for as long as a server asks one of them to stay away. All calls that use the object share it.
    """
    def __new__(
        cls, config: PauseConfig = None, /, *, now: int | None = None, **fields: Unpack[PauseFields]
    ) -> Pause: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def hint(self, span: int, now: int | None = None) -> None:
        """
        The server said not to come before `span` nanoseconds are over.
        """
    def refuses(self, now: int | None = None) -> int | None:
        """
        The time from which an attempt may begin, in nanoseconds; None when it may begin now.
        """
    @staticmethod
    def restore(config: PauseConfig, state: bytes, now: int | None = None) -> Pause:
        """
        A guard with this configuration and a saved state.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """

@final
class Periodic:
    """
    A repeated task as a machine. Every method returns the current step.
    """
    def __new__(
        cls,
        /,
        loop_backoff: LoopBackoff,
        *,
        timer: Literal["variable", "grid", "grid_skipping", "no_wait"] = "variable",
        sliding: bool = True,
        immediate: bool = True,
        first_is_sure: bool = False,
        by_steps: bool = False,
        last_at_deadline: bool = False,
        deadline: Limit | None = None,
        seed: int | None = None,
        now: int | None = None,
    ) -> Periodic: ...
    def __repr__(self) -> str: ...
    def cancel(self) -> PeriodicStep:
        """
        The caller cancels the task; a run in flight is the last one.
        """
    def finish(self, run: int, now: int, answer: Answer = "again") -> PeriodicStep:
        """
        The run with this number ended: "again", "done" or "failed".
        """
    @property
    def interval(self) -> int:
        """
        The last interval; of a grid, its mesh.
        """
    @property
    def intervals(self) -> int:
        """
        How many intervals the loop backoff was asked for.
        """
    @property
    def runs(self) -> int:
        """
        The number of the run in flight or else the last one; 0 before the first.
        """
    def tick(self, now: int) -> PeriodicStep:
        """
        Time has passed: begins the task, or starts the next run if it is due.
        """

@final
class PeriodicStep:
    """
    The next action for the host of a `Periodic`. Fields that do not fit the kind are None.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def ended(self) -> Ended | None:
        """
        Stop: "cancelled", "done", "failed", "deadline" or "steps".
        """
    @property
    def kind(self) -> PeriodicKind:
        """
        "run", "sleep", "wait" or "stop".
        """
    @property
    def run(self) -> int | None:
        """
        Run: its number, from 1, which goes back with the answer.
        """
    @property
    def until(self) -> int | None:
        """
        Sleep: when to tick.
        """

@final
class Policy:
    """
    When to retry and when to give up; immutable, to be shared by any number of operations.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, name: PresetName | None = None, /, **fields: Unpack[PolicyFields]) -> Policy: ...
    def __reduce__(self) -> tuple[Callable[[str, list[str]], Policy], tuple[str, list[str]]]: ...
    def __repr__(self) -> str: ...
    def _repr_html_(self) -> str:
        """
        The policy in a notebook.
        """
    @staticmethod
    def _restored(text: Any, error_types: SupportsGetItem[int, str]) -> Policy:
        """
        For pickle: the types of errors that are never retried are in no document.
        """
    def after_inner(self, failure: Failure) -> Failure:
        """
        The failure for this policy after a retry inside gave up on a failure.
        """
    def attempts_inside(self, token: Token | None = None) -> int | None:
        """
        The most attempts inside the retries of the token, the first included; None without a limit.
        """
    def call(self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """
        Call the function until it succeeds or the policy gives up.
        """
    def explain(self, *, rows: int | None = None, after: Word | None = None) -> Explanation:
        """
        The explanation of the policy: the rows of its delays, and the whole as text by str(). `rows` is the most rows;
        `after` is the kind of failure.
        """
    @property
    def fingerprint(self) -> int:
        """
        A number for the decisions of the policy; the same in every language.
        """
    @staticmethod
    def from_dict(fields: Mapping[str, Any], /) -> Policy:
        """
        The policy of a document: a mapping of fields, nested or with dots in their names, whose times have a unit.
        """
    @staticmethod
    def from_form(form: FormName, document: str | bytes | Mapping[str, Any], *, entry: int | None = None) -> Policy:
        """
        The policy in another system's form: JSON text or its parsed value. `entry` selects an entry of a service config.
        """
    @staticmethod
    def from_json(text: str | bytes, /) -> Policy:
        """
        The policy of a document: JSON text.
        """
    @property
    def guards(self) -> Guards | None:
        """
        Its own guards, which all calls under this object share; None if its fields have none.
        """
    def is_failure(self, status: int, *, idempotent: bool = True) -> bool:
        """
        True if an HTTP answer is a failure: from 400 on, and below if a rule of the policy that retries names its status.
        """
    def judge(
        self,
        failure: Failure,
        *,
        http: int | None = None,
        grpc: GrpcCode | object | None = None,
        codes: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        message: str = "",
        idempotent: bool = True,
        unsent: bool = False,
        program_fault: bool = False,
        should_retry: bool | None = None,
    ) -> Failure:
        """
        The failure after the policy's rules, for an error with this HTTP status, gRPC code (a number, its name or an enum
        member), codes, names of its class and of those it derives from, and message. `unsent` is true if the request was never
        sent, `program_fault` for an error of the program itself, `should_retry` the value of the header x-should-retry.
        """
    def lints(self, *, within: Duration | None = None) -> list[Lint]:
        """
        Warnings about the policy, and about a timeout of `within` around it.
        """
    def plot(self, ax: Axes | None = None, *, rows: int | None = None, after: Word | None = None) -> Axes:
        """
        Draws when each retry begins with matplotlib (`pip install "holdoff[plot]"`): the range, the typical time and the
        deadline. `ax` is the axes to draw on, new ones by default; `rows` and `after` are those of `explain`.
        """
    def retrying(self, **options: Unpack[CallOptions]) -> Retrying:
        """
        A caller with this policy and these options, to call or to decorate functions with.
        """
    def simulate(
        self,
        calls: int = 10000,
        seed: int = 0,
        *,
        retries: int | None = None,
        after: Word | None = None,
        attempt: Duration | None = None,
    ) -> NDArray[float64]:
        """
        The delays of many calls whose attempts all fail, in milliseconds: an array of numpy with a row for each call and a
        column for each retry, NaN after the call gave up. `seed` is that of all calls together; `retries` is the most retries
        (100, and 10 of a policy that retries for ever), `after` the kind of failure, `attempt` how long each attempt takes.
        """
    def to_dict(self) -> dict[str, Any]:
        """
        The document as a dict; from_dict makes the same policy of it.
        """
    def to_form(self, form: FormName) -> str:
        """
        The policy in another system's form, as JSON text. Raises ConfigError for a field that the form does not have.
        """
    def to_json(self) -> str:
        """
        The policy as a document: JSON text in one line. `from_json` makes the same policy of it in every language.
        """
    @property
    def total_wait(self) -> float | None:
        """
        The sum of all sleeps without jitter, in seconds; None without an end. The deadline does not count.
        """
    @property
    def total_wait_ns(self) -> int | None:
        """
        The same in nanoseconds, exactly.
        """

@final
class Recorder:
    """
    The whole loop as a machine that returns events to write down: each method returns the current step and the events of the
    transition. Driven as a `Call` is, or with guards as a `GuardedCall`; it does not hedge.
    """
    def __copy__(self) -> Recorder:
        """
        A copy, for a transition that may have to be made again with guards that others have changed meanwhile.
        """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    def abandon(self, ticket: int, now: int, *, guards: Guards | None = None) -> tuple[Step, tuple[Event, ...]]:
        """
        The attempt with this ticket ended without a result that guards should count.
        """
    @property
    def attempt(self) -> int:
        """
        The attempt in flight or else the last one that ran, 0 for none.
        """
    @staticmethod
    def begin(
        policy: Policy | PresetName, seed: int, now: int, *, guards: Guards | None = None
    ) -> tuple[Recorder, Step, tuple[Event, ...]]:
        """
        Begin a call: the machine, its first step and its first events.
        """
    @property
    def call(self) -> Call:
        """
        A copy of the call in its current state, to be saved or looked at.
        """
    def cancel(self, now: int, *, guards: Guards | None = None) -> tuple[Step, tuple[Event, ...]]:
        """
        The caller cancels the call.
        """
    def fail(
        self, policy: Policy | PresetName, ticket: int, now: int, failure: Failure, *, guards: Guards | None = None
    ) -> tuple[Step, tuple[Event, ...]]:
        """
        The attempt with this ticket failed.
        """
    @property
    def is_guarded(self) -> bool:
        """
        True if the call began with guards.
        """
    def remaining(self, now: int) -> int:
        """
        Nanoseconds still to sleep; 0 when the call does not sleep.
        """
    @property
    def reruns(self) -> int:
        """
        How often the attempt in flight was run again because it was interrupted.
        """
    def resume(
        self, policy: Policy | PresetName, now: int, *, reruns: int = 3, guards: Guards | None = None
    ) -> tuple[Step, tuple[Event, ...]]:
        """
        Continue live from a log that was replayed. An attempt that was in flight runs again under its own number, at most
        `reruns` times; then it has failed, by a timeout.
        """
    @property
    def sequence(self) -> int:
        """
        The number of the latest event.
        """
    @property
    def started(self) -> int:
        """
        When the call began.
        """
    @property
    def step(self) -> Step:
        """
        The current step.
        """
    def succeed(self, ticket: int, now: int, *, guards: Guards | None = None) -> tuple[Step, tuple[Event, ...]]:
        """
        The attempt with this ticket succeeded.
        """
    def tick(
        self, policy: Policy | PresetName, now: int, *, guards: Guards | None = None
    ) -> tuple[Step, tuple[Event, ...]]:
        """
        Time has passed, or a place in the bulkhead or at the breaker has come free.
        """

@final
class Retry:
    """
    The state of one operation without its loop: one decision for each failure.
    """
    def __new__(cls, /, seed: int, started: int) -> Retry: ...
    def __repr__(self) -> str: ...
    def deadline(self, policy: Policy | PresetName) -> int:
        """
        When the operation as a whole must be over; NEVER without a deadline.
        """
    @property
    def failures(self) -> int:
        """
        How many attempts have failed.
        """
    def on_failure(self, policy: Policy | PresetName, now: int, failure: Failure) -> Decision:
        """
        Decide what to do about an attempt that failed at that time.
        """
    @staticmethod
    def resume(
        state: bytes | str | Mapping[str, Any],
        policy: Policy | PresetName,
        now: int,
        *,
        away: Duration | None = None,
        force: bool = False,
    ) -> Retry:
        """
        Resumes a saved state: bytes, JSON text or a dict, from any language, on a clock that reads `now`. Time
        since the save is counted only if `away` is given; `force` accepts a state that was saved under another
        policy.
        """
    def save(self, policy: Policy | PresetName, now: int) -> bytes:
        """
        The state at that time as bytes, for `resume`, without permits of guards. The policy is that of the operation.
        """
    @property
    def started(self) -> int:
        """
        When the first attempt began.
        """
    def to_dict(self, policy: Policy | PresetName, now: int) -> dict[str, str | int]:
        """
        The state at that time as a dict: the fields of its JSON.
        """
    def to_json(self, policy: Policy | PresetName, now: int) -> str:
        """
        The state at that time as JSON text.
        """

@final
class Retrying:
    """
    A policy with the options of one use: call functions with it, or decorate them.
    """
    @overload
    def __call__(self, function: Method, /) -> Method: ...
    @overload
    def __call__(self, function: Callable[_P, _R], /) -> Decorated[_P, _R]:
        """
        The function, retried.
        """
    def __new__(cls, policy: Policy | PresetName | None = None, /, **options: Unpack[RetryingOptions]) -> Retrying: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its policy and its options.
        """
    @property
    def _guarded(self) -> bool:
        """
        True if the first attempt has a limit, a token, a judged value, hooks, or guards.
        """
    @property
    def _hedges(self) -> bool:
        """
        True if a second attempt may run beside the first.
        """
    @property
    def _refusals(self) -> int:
        """
        The number of the latest refusal of the budgets that its loops bring.
        """
    @property
    def _replaces(self) -> bool:
        """
        True if a function replaces the last error.
        """
    def _run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], /) -> Any:
        """
        Calls a function that is no `async def`, with these arguments.
        """
    def _succeeded(self) -> None:
        """
        The first attempt succeeded, without an operation.
        """
    def call(self, function: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """
        Call the function until it succeeds or the policy gives up.
        """
    def failure_of(self, error: Exception, *, timed_out: bool = False) -> Failure | None:
        """
        The failure of an error; None for a fault of the program itself, which guards do not count, and for control flow.
        """
    @property
    def guards(self) -> Guards | None:
        """
        The guards of the option, else the policy's own; None without any.
        """
    @property
    def policy(self) -> Policy:
        """
        The policy.
        """
    def with_options(self, **options: Unpack[RetryOptions]) -> Retrying:
        """
        A caller with the given options and fields instead of its own; all others stay.
        """

@final
class Row:
    """
    One retry: the delay before it, and the sum of the delays so far, in nanoseconds.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def in_time(self) -> InTime:
        """
        Before the deadline "always", "sometimes" or "never".
        """
    @property
    def max(self) -> int:
        """
        The longest delay.
        """
    @property
    def max_total(self) -> int:
        """
        The sum so far when every draw is at the long end.
        """
    @property
    def min(self) -> int:
        """
        The shortest delay.
        """
    @property
    def min_total(self) -> int:
        """
        The sum so far when every draw is at the short end.
        """
    @property
    def retry(self) -> int:
        """
        The number of the retry, from 1.
        """
    @property
    def typical(self) -> int:
        """
        The delay when every draw is 1/2.
        """
    @property
    def typical_total(self) -> int:
        """
        The sum so far when every draw is 1/2.
        """

@final
class Rows:
    """
    The rows of an explanation, one by one.
    """
    def __iter__(self) -> Rows: ...
    def __next__(self) -> Row: ...

@final
class Schedule:
    """
    The delays of a policy in nanoseconds, one after the other, as if every attempt failed at once.
    """
    def __iter__(self) -> Schedule: ...
    def __new__(cls, /, policy: Policy | PresetName, seed: int) -> Schedule: ...
    def __next__(self) -> int: ...
    @staticmethod
    def base_at(policy: Policy | PresetName, n: int) -> int:
        """
        The base delay, before jitter, after failure n (from 0), in nanoseconds.
        """

@final
class Scope:
    """
    A scope: a block of code with a limit or a token, or an attempt of a retry.
    """

@final
class Step:
    """
    The next action for the host of a `Call`. Fields that do not fit the kind are None.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self) -> str: ...
    @property
    def abort_at(self) -> int | None:
        """
        Attempt: when to abort it; NEVER without a limit.
        """
    @property
    def attempt(self) -> int | None:
        """
        Attempt: its number, from 1.
        """
    @property
    def cause(self) -> Cause | None:
        """
        Sleep: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead".
        """
    @property
    def kind(self) -> StepKind:
        """
        "attempt", "sleep", "wait" or "stop".
        """
    @property
    def outcome(self) -> OutcomeWord | None:
        """
        Stop: "succeeded", "gave_up" or "cancelled".
        """
    @property
    def reason(self) -> StopReason | None:
        """
        Gave up: why.
        """
    @property
    def retry_at(self) -> int | None:
        """
        Gave up: when another try might succeed; NEVER if unknown.
        """
    @property
    def ticket(self) -> int | None:
        """
        Attempt: its ticket, which goes back with its result.
        """
    @property
    def until(self) -> int | None:
        """
        Sleep, wait: when to tick.
        """
    @property
    def wake_at(self) -> int | None:
        """
        Attempt: when to tick although it still runs; NEVER unless the call hedges.
        """

@final
class Stretch:
    """
    Longer delays while many attempts fail. All calls that use the object share it.
    """
    def __new__(
        cls, config: StretchConfig = None, /, *, now: int | None = None, **fields: Unpack[StretchFields]
    ) -> Stretch: ...
    def __reduce__(self) -> Any:
        """
        Pickled with its state: a copy in another process goes on from there by itself.
        """
    def __repr__(self) -> str: ...
    def counts(self, now: int | None = None) -> tuple[int, int]:
        """
        How many attempts the window holds, and how many of them failed.
        """
    def record(self, failed: bool, now: int | None = None) -> None:
        """
        An attempt ended.
        """
    @staticmethod
    def restore(config: StretchConfig, state: bytes, now: int | None = None) -> Stretch:
        """
        A guard with this configuration and a saved state.
        """
    def save(self, now: int | None = None) -> bytes:
        """
        The state as bytes, for `restore`.
        """
    def stretch(self, delay: int, now: int | None = None) -> int:
        """
        The stretched delay, both in nanoseconds.
        """

@final
class Token:
    """
    The attempt that a retry runs in, and the retries around it.
    """

    GRPC: Final[str]
    """
    The name of the gRPC metadata whose value is `grpc`.
    """
    HEADER: Final[str]
    """
    The name of the header whose value is `header`.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __new__(cls, /, attempt: int, attempts: int | None = None, parent: Token | None = None) -> Token:
        """
        The token of attempt `attempt` of `attempts`, inside `parent`; None for a retry without a limit.
        """
    def __repr__(self) -> str: ...
    @property
    def allowed(self) -> int | None:
        """
        How many attempts all retries around may make together; None for ever, or too many to count.
        """
    @property
    def attempt(self) -> int:
        """
        The number of the attempt, from 1.
        """
    @property
    def depth(self) -> int:
        """
        How many retries there are around.
        """
    @staticmethod
    def from_grpc(value: str | bytes, /) -> Token | None:
        """
        The token in a value of `grpc-previous-rpc-attempts`; None if there is none.
        """
    @staticmethod
    def from_header(value: str | bytes, /) -> Token | None:
        """
        The token in a value of `x-retry-attempt`; None if there is none. Read it only of a caller that you trust: a stranger who
        sends it turns your retries off.
        """
    @property
    def grpc(self) -> str | None:
        """
        The value of the gRPC metadata `grpc-previous-rpc-attempts`; None for a first attempt.
        """
    @property
    def header(self) -> str:
        """
        The value of the header `x-retry-attempt`.
        """

@final
class WaitBackoff:
    """
    A backoff of steps: each step returns the delay and moves on (Kubernetes' wait.Backoff). Delays are nanoseconds.
    """
    def __copy__(self) -> WaitBackoff: ...
    def __new__(
        cls,
        /,
        duration: Duration,
        *,
        factor: float = 0.0,
        jitter: float = 0.0,
        cap: Limit | None = None,
        steps: int = 0,
        seed: int | None = None,
    ) -> WaitBackoff: ...
    def __repr__(self) -> str: ...
    @property
    def cap(self) -> int | None:
        """
        The largest duration; None without a cap.
        """
    @property
    def draws(self) -> bool:
        """
        True if a step draws a uniform.
        """
    @property
    def duration(self) -> int:
        """
        The delay of the next step, before jitter.
        """
    @property
    def factor(self) -> float:
        """
        The factor of each step; 0 for none.
        """
    @property
    def jitter(self) -> float:
        """
        The part of a delay that jitter may add.
        """
    @staticmethod
    def kubernetes(
        duration: Duration,
        *,
        factor: float = 0.0,
        jitter: float = 0.0,
        steps: int = 0,
        cap_ns: int = 0,
        seed: int | None = None,
    ) -> WaitBackoff:
        """
        From the fields of a Kubernetes wait.Backoff, where a jitter, steps or cap (nanoseconds) that is not positive
        means none.
        """
    @staticmethod
    def kubernetes_jitter(duration: Duration, max_factor: float, *, seed: int | None = None) -> WaitBackoff:
        """
        Kubernetes' wait.Jitter: the same delay and up to max_factor of it more; a factor that is not positive reads as 1.
        """
    def step(self) -> int:
        """
        Returns the next delay and moves on.
        """
    @property
    def steps(self) -> int:
        """
        How many steps may still multiply the duration.
        """

@final
class Wheel:
    """
    Timers, the next one due first. Times are nanoseconds since any epoch. May be shared by threads.
    """
    def __len__(self) -> int:
        """
        How many timers are pending, those included that never fire.
        """
    def __new__(cls, /) -> Wheel: ...
    def __repr__(self) -> str: ...
    def cancel(self, key: int) -> bool:
        """
        Cancel a timer: returns True if it was pending, and neither fired nor cancelled before.
        """
    def clear(self) -> None:
        """
        Cancel all timers.
        """
    @staticmethod
    def index(key: int) -> int:
        """
        A number that no other pending timer has, below the most timers that were ever pending at once since the wheel was
        made or cleared: the index of a list with an item for each timer.
        """
    def insert(self, at: int) -> int:
        """
        Add a timer that is due at that time. NEVER never fires. The key is an int that no earlier timer had.
        """
    @property
    def next_wake(self) -> int | None:
        """
        When the next timer is due; None when there is no timer, or no timer that ever fires.
        """
    def pop(self, now: int) -> tuple[int, int] | None:
        """
        The next timer that is due at that time, and when it was due; None when no timer is. By time, and then as they were
        added.
        """

def answer_of(ended: Any, itself: bool) -> tuple[int, Any] | None:
    """
    The status and the headers of the answer in an error or a value; `itself` does not look for the answer that an error carries.
    """

def attempts(policy: Policy | PresetName | None = None, **options: Unpack[AttemptsOptions]) -> Attempts:
    """
    Attempts at a block of code, to loop over with `for` or `async for`: each is a context manager.
    """

def classify_built_in() -> None:
    """
    From now on, plain built-in errors are looked up in `holdoff.classifiers`, too.
    """

def code_flags(function: object, /) -> int:
    """
    The flags of the code that runs when the function is called: through partial objects, methods and callable objects.
    """

def enter_limit(nanos: int | None, /) -> Entered:
    """
    Enters a block with a limit that many nanoseconds from now; None sets none.
    """

def enter_token(token: Token | None, /) -> Entered:
    """
    Enters a block with a token, or without one.
    """

def forked() -> None:
    """
    This process is the child of a fork. No attempt of its parent's guards ends here, so they begin anew.
    """

def grpc_failure(code: GrpcCode | object, pushback: str | bytes | None = None) -> Failure | None:
    """
    The failure that the end of a gRPC call is, from its status code, as a number, its name or an enum member, and the value
    of its grpc-retry-pushback-ms. None for OK.
    """

def hint_of(
    headers: Headers, *, status: int | None = None, wall_ns: int | None = None
) -> int | Literal["never"] | None:
    """
    The hint in header lines: nanoseconds, "never", or None. The time of the wall clock is for dates: nanoseconds since the
    Unix epoch, NEVER if it is not known.
    """

def http_failure(
    status: int, retry_after: str | bytes | None = None, *, headers: Headers | None = None, wall_ns: int | None = None
) -> Failure | None:
    """
    The failure that an HTTP answer is, from its status and its header lines, or the value of its Retry-After alone. None for
    an answer that is no failure.
    """

def is_coroutine_function(function: object, /) -> bool:
    """
    True if calling the function makes a coroutine: an `async def`, also inside partial objects, methods and callable
    objects.
    """

def jittered(
    policy: Policy | PresetName, delay: int, u: float = 0.0, *, longest: int | None = None, drawn: int | None = None
) -> int:
    """
    The delay that the policy's jitter makes of a delay for the draw u from [0, 1). `longest` is the cap, no limit unless
    given; `drawn` is the whole number that bounded jitter takes in place of u. All in nanoseconds.
    """

def leave_scope(entered: Entered, /) -> bool:
    """
    Leaves a scope. True if a retry in it ended without a success, and none succeeded after it.
    """

def limit_nanos(limit: Any, /) -> int | None:
    """
    The nanoseconds of a limit: 0 if the time is up, None for "none".
    """

def lint_nested(policies: Sequence[Policy | PresetName], /) -> Lint | None:
    """
    The warning about retries inside one another, the outermost first; None without one. Its `found` is how often the
    innermost operation runs at most, None without a limit.
    """

def monotonic_ns() -> int:
    """
    The clock of the machines: nanoseconds of `time.monotonic_ns`.
    """

def next_at(schedule: Schedule, kind: Word, u: float) -> int | None:
    """
    The next delay of a schedule after a failure of this kind if the generator drew u from [0, 1); None at the end.
    """

def overridden_time() -> Any | None:
    """
    The replacement of the clock and the sleep, if any.
    """

def override_attempts(most: int | None) -> int | None:
    """
    Limits the attempts of every operation; None removes the limit. Returns the limit before.
    """

def override_budgets(off: bool, /) -> bool:
    """
    Turns the budgets of all loops off or on, for `holdoff.testing`. Returns True if they were off.
    """

def override_time(replacement: Any | None, /) -> Any | None:
    """
    Replaces the clock and the sleep of every operation, for `holdoff.testing`. Returns the previous replacement.
    """

def override_uniform(uniform: float | None, /) -> float | None:
    """
    Replaces every draw of gates, backoffs and periodics, for `holdoff.testing`. Returns the uniform that was in force.
    """

def parse_duration(text: str, /) -> int:
    """
    The nanoseconds in a text such as ``"250ms"``, ``"1.5s"`` or ``"2m"``.
    """

def pinned(policy: Policy | PresetName, draw: int) -> Schedule:
    """
    The delays of a policy if the generator drew nothing but this number: 0 shows the bottom of every range, 2**31 its
    middle, 2**32-1 its top.
    """

def preset_names() -> list[PresetName]:
    """
    The names of the presets.
    """

def remaining() -> float | None:
    """
    Seconds until the code that runs now must be over, never 0; None when nothing limits it. Raises TimeoutError when no time is left.

    For operations that cannot be aborted from outside: hand it on as their timeout.
    """

def replay(
    policy: Policy | PresetName,
    events: Iterable[Event] | bytes,
    *,
    mode: ReplayMode = "follow",
    any_policy: bool = False,
) -> Recorder:
    """
    The recorder of a log: of its events, or of their bytes. Where the policy decides otherwise than the log, mode "follow"
    keeps the recorded decision and "verify" raises ReplayError. `any_policy` accepts a log of another policy.
    """

def report_unraisable(error: BaseException, object: object) -> None:
    """
    Hands an error that nobody can handle to ``sys.unraisablehook``, with the object that raised it.
    """

def seed(n: int | None, /) -> None:
    """
    Make every later operation repeatable: the k-th operation that fails, or that begins under guards, gets the k-th seed of
    the sequence that n starts.

    None goes back to seeds from the operating system.
    """

def seed_at(n: int, k: int, /) -> int:
    """
    The seed of the k-th failing operation, k from 0, of a program seeded with n.
    """

def tell_of(listens: bool, logs: bool) -> None:
    """
    Says whether there are listeners, and whether retries are logged.
    """

def token() -> Token | None:
    """
    The token of the attempt that runs now, to be sent as a header; None outside of an attempt with a token.
    """

def unpickled_guard(section: str, document: str, state: bytes, /) -> object:
    """
    For pickle: the guard of that section of a document, with its state.
    """

def unpickled_guards(guards: dict[str, object], names_budget: bool, key: str | None, /) -> Guards:
    """
    For pickle: the set of these guards.
    """

def unpickled_retrying(policy: Policy, options: dict[str, object], /) -> Retrying:
    """
    For pickle: a caller with this policy and these options.
    """
