"""The types of arguments, for annotations; nothing of the library imports it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal, TypeAlias, TypedDict

from ._holdoff import Failure

Duration: TypeAlias = float | str | timedelta
"""A length of time: seconds, text with a unit such as ``"250ms"``, or a timedelta."""
Word: TypeAlias = Literal["transient", "throttled", "timeout", "permanent"]
"""The kind of a failure."""
Said: TypeAlias = Failure | Word
"""What a function says an error is."""
On: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool | Said]
"""Which errors to retry."""


class Backoff(TypedDict, total=False):
    """How the delay grows from one failure to the next."""

    kind: Literal["constant", "linear", "exponential"] | None
    delay: Duration | None
    initial: Duration | None
    factor: float | None
    increment: Duration | None
    max: Duration | Literal["none"] | None


class Jitter(TypedDict, total=False):
    """How delays are spread."""

    kind: Literal["none", "full", "equal", "additive", "proportional"] | None
    factor: float | None


class Hint(TypedDict, total=False):
    """What is done with a server's hint on when to come back."""

    mode: Literal["floor", "replace", "ignore"] | None
    max: Duration | Literal["none"] | None
    over: Literal["stop", "clamp"] | None


class PolicyFields(TypedDict, total=False):
    """The fields of a policy. None is as good as not given."""

    backoff: Backoff | Literal["constant", "linear", "exponential"] | None
    jitter: Jitter | Literal["none", "full", "equal", "additive", "proportional"] | None
    attempts: int | Literal["forever"] | None
    deadline: Duration | Literal["none"] | None
    min_attempt: Duration | None
    on_deadline: Literal["stop", "clip"] | None
    attempt_timeout: Duration | Literal["none"] | None
    hint: Hint | Literal["floor", "replace", "ignore"] | None
