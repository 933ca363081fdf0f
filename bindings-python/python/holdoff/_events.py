"""The events of operations and breakers, and who listens to all of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from ._holdoff import Failure, Outcome
    from ._literals import BreakerState, Cause, StopReason, Word

LISTENERS: list[Callable[[Any], object]] = []
"""Called with the events of all operations."""


def shown_failure(error: BaseException | None, value: object, args: tuple[Any, ...] = ()) -> str:
    """A failed attempt for logs: the type of its error and the beginning of the error's text, or the type and the HTTP
    status of its value, which may be long or secret."""
    if error is None:
        from ._holdoff import answer_of

        found = answer_of(value, True)
        status = None if found is None else found[0]
        return type(value).__name__ + ("" if status is None else f" with status {status}")
    from ._texts import text_of

    text = text_of(error, args)
    return type(error).__name__ + (f": {text}" if text else "")


class CallEvent:
    """An event of an operation."""

    hook: ClassVar[str] = ""
    """The name of the option that takes such events."""
    key: str = ""
    """The server that is called: the option ``key``, else the key of the guards; empty without either."""

    def __init__(
        self, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any], attempt: int, elapsed: float, **fields: Any
    ) -> None:
        self.operation = operation
        """The option ``name``, else the qualified name of the function; empty for a block of code."""
        self.args = args
        """The arguments of the function."""
        self.kwargs = kwargs
        """The arguments of the function that have names."""
        self.attempt = attempt
        """The number of the latest attempt, from 1; 0 if none began."""
        self.elapsed = elapsed
        """Seconds since the operation began."""
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operation} attempt {self.attempt}>"


class AttemptEvent(CallEvent):
    """An attempt is about to run."""

    hook = "on_attempt"


class SuccessEvent(CallEvent):
    """An attempt has succeeded, and the operation with it."""

    hook = "on_success"
    value: Any
    """The value that it returned; None for a block of code."""


class _FailedEvent(CallEvent):
    error: Exception | None
    """The error that the attempt raised; None when it returned."""
    value: Any
    """The value that the attempt returned; None also when it raised."""
    failure: Failure | None
    """The failure that the attempt was classified as; None if a guard let no attempt begin."""

    @property
    def kind(self) -> Word | None:
        """ "transient", "throttled", "timeout" or "permanent"; None if a guard let no attempt begin."""
        return None if self.failure is None else self.failure.kind


class DelayEvent(_FailedEvent):
    """An attempt has failed, and the delay before the next one is not decided."""

    hook = "delay"
    failure: Failure  # pyright: ignore[reportIncompatibleVariableOverride]


class RetryEvent(_FailedEvent):
    """An attempt has failed, and another one follows after a sleep."""

    hook = "on_retry"
    failure: Failure  # pyright: ignore[reportIncompatibleVariableOverride]
    delay_ns: int
    """Nanoseconds until the next attempt."""
    cause: Cause
    """Why the sleep is as long as it is: "backoff", "hint", "clip", "breaker", "limiter" or "bulkhead"."""

    @property
    def delay(self) -> float:
        """Seconds until the next attempt."""
        return self.delay_ns / 1e9

    def __repr__(self) -> str:
        failed = shown_failure(self.error, self.value, self.args)
        return f"<RetryEvent attempt {self.attempt}: {failed}, next in {self.delay:.3g}s ({self.cause})>"


_GUARDS = ("budget", "breaker", "limiter", "bulkhead")


class GiveUpEvent(_FailedEvent):
    """The operation ends without a success."""

    hook = "on_give_up"
    outcome: Outcome
    """Why there is no other attempt, as `outcome_of` tells it."""

    @property
    def reason(self) -> StopReason:
        """The reason of the outcome."""
        return self.outcome.reason

    @property
    def refused_by(self) -> str | None:
        """The guard that refused another attempt; None if none did."""
        return self.outcome.reason if self.outcome.reason in _GUARDS else None

    @property
    def retry_in(self) -> float | None:
        """Seconds until another try might succeed; None if unknown."""
        return self.outcome.retry_in

    def __repr__(self) -> str:
        return f"<GiveUpEvent attempt {self.attempt}: {self.outcome.description}>"


class ChangeEvent:
    """The state of a breaker has changed, as an operation found it. Listeners get it."""

    hook: ClassVar[str] = "on_change"
    """The kind of the event."""

    def __init__(self, name: str, before: BreakerState, after: BreakerState, at: int, key: str = "") -> None:
        self.name = name
        """The key of the `KeyedGuards` that the breaker belongs to, else the option ``name`` of the operation, else its
        ``key``."""
        self.key = key
        """The key of the operation; empty without one."""
        self.before = before
        """The state that listeners heard last: "closed", "open", "half_open" or "isolated"."""
        self.after = after
        """The state now."""
        self.at = at
        """The time of the breaker, in nanoseconds of the clock."""

    def __repr__(self) -> str:
        return f"<ChangeEvent {self.name} from {self.before} to {self.after}>"
