"""Retry with backoff, jitter, deadlines and server hints, decided by a pure state machine.

    @holdoff.retry(on=httpx.HTTPError, attempts=5, deadline=30)
    def fetch(url): ...

Every decision (how long, whether at all) comes from the core that all languages of holdoff share.
"""

from ._cancel import Cancel
from ._errors import Cancelled, ConfigError, Refused
from ._events import RetryEvent
from ._holdoff import (
    Adaptive,
    Breaker,
    Budget,
    Bulkhead,
    Failure,
    Guards,
    Hedge,
    KeyedGuards,
    Limiter,
    Outcome,
    Policy,
    Retrying,
    Stretch,
    Token,
    __version__,
    attempts,
    grpc_failure,
    hint_of,
    http_failure,
    is_coroutine_function,
    parse_duration,
    remaining,
    retry,
    seed,
    token,
)
from ._limit import attempt_cancel, inside, within
from ._outcomes import given_up, outcome_of
from ._presets import presets
from ._words import FailureKind

__all__ = [
    "Adaptive",
    "Breaker",
    "Budget",
    "Bulkhead",
    "Cancel",
    "Cancelled",
    "ConfigError",
    "Failure",
    "FailureKind",
    "Guards",
    "Hedge",
    "KeyedGuards",
    "Limiter",
    "Outcome",
    "Policy",
    "Refused",
    "RetryEvent",
    "Retrying",
    "Stretch",
    "Token",
    "__version__",
    "attempt_cancel",
    "attempts",
    "given_up",
    "grpc_failure",
    "hint_of",
    "http_failure",
    "inside",
    "is_coroutine_function",
    "outcome_of",
    "parse_duration",
    "presets",
    "remaining",
    "retry",
    "seed",
    "token",
    "within",
]
