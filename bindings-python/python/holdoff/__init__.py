"""Retry with backoff, jitter, deadlines and server hints, decided by a pure state machine.

    @holdoff.retry(on=httpx.HTTPError, attempts=5, deadline=30)
    def fetch(url): ...

Every decision (how long, whether at all) comes from the core that all languages of holdoff share.
"""

from ._attempts import Attempt, Attempts, attempts
from ._cancel import Cancel
from ._errors import Cancelled, ConfigError
from ._holdoff import (
    NEVER,
    Call,
    Decision,
    Failure,
    Outcome,
    Policy,
    Retry,
    RetryEvent,
    Retrying,
    Schedule,
    Step,
    __version__,
    grpc_failure,
    http_failure,
    outcome_of,
    parse_duration,
    parse_hint,
    remaining,
    retry,
    seed,
    seed_at,
)
from ._words import FailureKind

__all__ = [
    "NEVER",
    "Attempt",
    "Attempts",
    "Call",
    "Cancel",
    "Cancelled",
    "ConfigError",
    "Decision",
    "Failure",
    "FailureKind",
    "Outcome",
    "Policy",
    "Retry",
    "RetryEvent",
    "Retrying",
    "Schedule",
    "Step",
    "__version__",
    "attempts",
    "grpc_failure",
    "http_failure",
    "outcome_of",
    "parse_duration",
    "parse_hint",
    "remaining",
    "retry",
    "seed",
    "seed_at",
]
